"""Families whose answer is a number or a word: their answer is what trying everything finds, and no other wins."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.trainer.design.families.loaded import environment, wins

from spade_contracts.config.families import Family


def quotient(made: Any) -> int:
    return next(n for n in itertools.count() if (n + 1) * made.divisor > made.dividend)


def product(made: Any) -> int:
    return sum(itertools.repeat(made.factors[0], made.factors[1]))


def coprime_pairs(made: Any) -> int:
    pairs = itertools.product(*(range(1, bound + 1) for bound in made.bounds))
    return sum(math.gcd(*pair) == 1 for pair in pairs)


def winner(made: Any) -> str:
    return "first" if moves_win(*made.pair) else "second"


def moves_win(one: int, other: int) -> bool:
    """Whether the player to move wins, by trying all moves."""
    small, large = sorted((one, other))
    results = [large - multiple * small for multiple in range(1, large // small + 1)]
    return 0 in results or any(not moves_win(small, left) for left in results)


def lamp(made: Any) -> str:
    """By the parity of the ways down to each first lamp: binomial coefficients."""
    count = len(made.lamps)
    terms = (math.comb(made.time, step) * made.lamps[(made.place + step) % count] for step in range(made.time + 1))
    return "ON" if sum(terms) % 2 else "OFF"


def sound_rectangles(made: Any) -> int:
    rows, columns = len(made.grid), len(made.grid[0])
    spans = [itertools.combinations(range(size + 1), 2) for size in (rows, columns)]
    return sum(
        all(made.grid[row][column] for row in range(top, bottom) for column in range(left, right))
        for (top, bottom), (left, right) in itertools.product(*map(list, spans))
    )


def walks(made: Any) -> int:
    near: dict[int, set[int]] = {vertex: set() for vertex in range(made.size)}
    for one, other in made.edges:
        near[one].add(other)
        near[other].add(one)

    def onwards(before: int, at: int, left: int) -> int:
        if left == 0:
            return int(at == made.size - 1)
        return sum(onwards(at, end, left - 1) for end in near[at] if end != before)

    return onwards(-1, 0, made.length) % 10000


def longest_after_reversal(made: Any) -> int:
    places = range(len(made.numbers))
    best = 0
    for size in range(len(made.numbers) + 1):
        for chosen in itertools.combinations(places, size):
            changed = list(made.numbers)
            for place, source in zip(chosen, reversed(chosen), strict=True):
                changed[place] = made.numbers[source]
            best = max(best, longest_non_decreasing(changed))
    return best


def longest_non_decreasing(numbers: list[int]) -> int:
    lengths: list[int] = []
    for place, number in enumerate(numbers):
        lengths.append(1 + max((lengths[p] for p in range(place) if numbers[p] <= number), default=0))
    return max(lengths)


def passes(made: Any) -> int:
    """Breadth first over all heights that are near enough to matter."""
    goal, start = (0,) * len(made.heights), tuple(made.heights)
    bound = max(map(abs, start)) + 2 * max(made.steps)
    stretches = [(left, right) for left in range(len(start)) for right in range(left, len(start))]
    seen, border = {start}, [start]
    for number in itertools.count():
        if goal in border:
            return number
        following = []
        for heights in border:
            for (left, right), step in itertools.product(stretches, made.steps):
                for change in (step, -step):
                    new = tuple(h + change if left <= p <= right else h for p, h in enumerate(heights))
                    if new not in seen and max(map(abs, new)) <= bound:
                        seen.add(new)
                        following.append(new)
        border = following
    raise AssertionError("unreachable")


ORACLES: dict[Family, tuple[Callable[[Any], object], tuple[int, ...]]] = {
    Family.DIVISION: (quotient, (0, 1, 2, 4)),
    Family.MULTIPLICATION: (product, (0, 2, 4)),
    Family.GCD_ONE_COUNTING: (coprime_pairs, (0, 1, 4, 8)),
    Family.EUCLID_GAME: (winner, (0, 1, 3)),
    Family.LAMP_CHANGING: (lamp, (0, 3, 10, 20)),
    Family.UNDAMAGED_SUBMATRIX_COUNTING: (sound_rectangles, (0, 1, 4, 8)),
    Family.PATH_NO_GOING_BACK_COUNTING: (walks, (0, 1, 2, 4)),
    Family.SUBSEQUENCE_REVERSAL_LNDS: (longest_after_reversal, (0, 2, 4)),
    Family.WYR_LEVELING_GROUND: (passes, (0,)),
}
CASES = [(family, level) for family, (_, levels) in ORACLES.items() for level in levels]
SEEDS = range(12)


@pytest.mark.parametrize(("family", "level"), CASES)
def test_the_answer_is_what_trying_everything_finds(family: Family, level: int) -> None:
    oracle, _ = ORACLES[family]
    for seed in SEEDS:
        made = environment(family, level, seed)
        assert str(made.answer()) == str(oracle(made)), made.reset(seed=seed)[0]


@pytest.mark.parametrize(("family", "level"), CASES)
def test_every_other_answer_loses(family: Family, level: int) -> None:
    for seed in SEEDS:
        made = environment(family, level, seed)
        right = str(made.answer())
        words = ("first", "second", "ON", "OFF")
        near = [str(int(right) + change) for change in (-2, -1, 1, 2)] if right.isdecimal() else words
        assert {answer for answer in (*near, right) if wins(made, answer)} == {right}


@pytest.mark.parametrize("seed", SEEDS)
def test_levelling_with_one_plot_counts_the_fewest_steps_to_its_height(seed: int) -> None:
    made = environment(Family.WYR_LEVELING_GROUND, 6, seed)
    one, other = made.steps
    for height in range(-40, 41):
        made.heights = [height]
        if height % math.gcd(one, other) == 0:
            counts = (
                abs(x) + abs((height - one * x) // other) for x in range(-100, 101) if (height - one * x) % other == 0
            )
            assert made.least() == min(counts)
