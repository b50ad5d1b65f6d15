"""Families whose answer is an order or a choice: exactly those win that are best, or fit, among all there are."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from tests.unit.trainer.design.families.loaded import environment, wins

from spade_contracts.config.families import Family

SEEDS = range(10)


def best(candidates: Iterable[Sequence[int]], cost: Callable[[Sequence[int]], float]) -> set[tuple[int, ...]]:
    """All candidates of the least cost."""
    costs = {tuple(one): cost(one) for one in candidates}
    least = min(costs.values())
    return {one for one, found in costs.items() if found == least}


def weight(made: Any, walk: Sequence[int]) -> float:
    steps = itertools.pairwise(walk)
    return sum(made.weights.get(step, float("inf")) for step in steps)


def fitting_orders(made: Any) -> tuple[set[tuple[int, ...]], list[tuple[int, ...]]]:
    orders = list(itertools.permutations(range(len(made.pairs))))
    upper, lower = ({o: "".join(made.pairs[card][row] for card in o) for o in orders} for row in (0, 1))
    return {order for order in orders if upper[order] == lower[order]}, orders


def satisfying_values(made: Any) -> tuple[set[tuple[int, ...]], list[tuple[int, ...]]]:
    every = list(itertools.product((0, 1), repeat=len(made.hidden)))
    fit = {v for v in every if all(any(v[place] == wanted for place, wanted in c) for c in made.clauses)}
    return fit, every


def least_paths(made: Any) -> tuple[set[tuple[int, ...]], list[tuple[int, ...]]]:
    inner = range(1, made.size - 1)
    chosen = (middle for size in range(made.size - 1) for middle in itertools.permutations(inner, size))
    paths = [(0, *middle, made.size - 1) for middle in chosen]
    return best(paths, lambda path: weight(made, path)), paths


def least_walks(made: Any) -> tuple[set[tuple[int, ...]], list[tuple[int, ...]]]:
    """Walks of up to two vertices more than there are; the answer may be longer, but then none of these is as light."""
    lengths = range(made.size, made.size + 3)
    walks = [w for n in lengths for w in itertools.product(range(made.size), repeat=n) if len(set(w)) == made.size]
    right = weight(made, made.best)
    assert right <= min(weight(made, walk) for walk in walks)
    return {walk for walk in walks if weight(made, walk) == right}, walks


def largest_polygons(made: Any) -> tuple[set[tuple[int, ...]], list[tuple[int, ...]]]:
    """Choices of which every four points are corners of a convex quadrilateral, which is the same as being convex."""
    points = dict(enumerate(made.points, start=1))
    sizes = range(3, len(points) + 1)
    choices = [chosen for size in sizes for chosen in itertools.combinations(points, size)]
    inside = {four for four in itertools.combinations(points, 4) if not quadrilateral([points[n] for n in four])}
    fit = [c for c in choices if inside.isdisjoint(itertools.combinations(c, 4))]
    return best(fit, lambda chosen: -len(chosen)), choices


def quadrilateral(points: Sequence[tuple[int, int]]) -> bool:
    """Whether none of four points lies in the triangle of the others."""
    return not any(in_triangle(p, [q for q in points if q != p]) for p in points)


def in_triangle(point: tuple[int, int], corners: Sequence[tuple[int, int]]) -> bool:
    (px, py) = point
    turns = [
        (bx - ax) * (py - ay) - (by - ay) * (px - ax) > 0
        for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True)
    ]
    return len(set(turns)) == 1


Oracle = Callable[[Any], tuple[set[tuple[int, ...]], list[tuple[int, ...]]]]
ORACLES: dict[Family, tuple[Oracle, tuple[int, ...]]] = {
    Family.PCP_PERMUTATION: (fitting_orders, (0, 3)),
    Family.SAT: (satisfying_values, (0, 4)),
    Family.SHORTEST_PATH: (least_paths, (0, 1, 3)),
    Family.HAMILTONIAN_PATH: (least_walks, (0, 3)),
    Family.LARGEST_CONVEX_POLYGON: (largest_polygons, (0, 3)),
}
"""Family → what finds all right answers and all candidates, and the levels at which that is possible."""


@pytest.mark.parametrize(("family", "level"), [(family, n) for family, (_, ns) in ORACLES.items() for n in ns])
def test_exactly_the_right_answers_win(family: Family, level: int) -> None:
    for seed in SEEDS:
        made = environment(family, level, seed)
        right, candidates = ORACLES[family][0](made)
        assert {one for one in candidates if wins(made, " ".join(map(str, one)))} == right
        assert wins(made, made.answer())


@pytest.mark.parametrize("family", [*ORACLES, Family.SORTING, Family.SPIRAL_MATRIX])
def test_a_part_of_the_answer_a_longer_one_and_commas(family: Family) -> None:
    for seed in SEEDS:
        made = environment(family, 6, seed)
        parts = str(made.answer()).split()
        assert wins(made, ", ".join(parts))
        assert not wins(made, " ".join(parts[:-1]))
        assert not wins(made, " ".join([*parts, "987654321"]))
        assert not wins(made, "")


@pytest.mark.parametrize("level", [0, 4, 20])
def test_sorting_wants_every_number_in_order(level: int) -> None:
    for seed in SEEDS:
        made = environment(Family.SORTING, level, seed)
        ordered = sorted(made.numbers)
        assert wins(made, " ".join(map(str, ordered)))
        assert not wins(made, " ".join(map(str, made.numbers)))
        assert not wins(made, " ".join(map(str, ordered[::-1])))
        assert not wins(made, " ".join(map(str, sorted(set(ordered))[:-1])))


@pytest.mark.parametrize("level", [0, 1, 6, 20])
def test_the_spiral_turns_right_at_walls_and_visited_entries(level: int) -> None:
    for seed in SEEDS:
        made = environment(Family.SPIRAL_MATRIX, level, seed)
        assert str(made.answer()) == " ".join(map(str, walked(made.rows)))
        assert not wins(made, " ".join(str(entry) for row in made.rows for entry in row))


def walked(rows: Sequence[Sequence[int]]) -> list[int]:
    """One entry after another: ahead while there is one that was not visited, else to the right."""
    row, column, down, right, passed = 0, 0, 0, 1, [(0, 0)]
    inside = {(r, c) for r in range(len(rows)) for c in range(len(rows[0]))}
    while len(passed) < len(inside):
        if (row + down, column + right) not in inside - set(passed):
            down, right = right, -down
        row, column = row + down, column + right
        passed.append((row, column))
    return [rows[r][c] for r, c in passed]
