"""Every family asks one question of its level, pays its solution with 1 and all else with 0, and repeats by seed."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.design.families.loaded import boxed, environment, wins

from spade_contracts.config.families import ALL_FAMILIES, MAX_DIFFICULTY, Family
from spade_contracts.errors import InvalidInput
from spade_sandbox.verify.novelty import Library
from spade_sandbox.verify.parse import check_source
from spade_trainer.design.procedural import family_program

LEVELS = (0, 1, 2, 5, 10, 15, MAX_DIFFICULTY)
MALFORMED = (
    "",
    "   ",
    "zxqv",
    "1,,2",
    "1 2 x",
    "²",
    "½",
    "9" * 400,
    "None",
    "[1, 2]",
    "1e309",
    "0x10",
    "--1",
    "1.5",
    "nan",
)
SIZES: dict[Family, Callable[[Any], int]] = {
    Family.DIVISION: lambda made: len(str(made.dividend)),
    Family.EUCLID_GAME: lambda made: sum(made.pair),
    Family.GCD_ONE_COUNTING: lambda made: sum(made.bounds),
    Family.HAMILTONIAN_PATH: lambda made: made.size,
    Family.LAMP_CHANGING: lambda made: len(made.lamps) * made.time,
    Family.LARGEST_CONVEX_POLYGON: lambda made: len(made.points),
    Family.MULTIPLICATION: lambda made: len(str(made.factors[0])),
    Family.PCP_PERMUTATION: lambda made: len(made.pairs),
    Family.PATH_NO_GOING_BACK_COUNTING: lambda made: made.size + made.length,
    Family.SAT: lambda made: len(made.clauses),
    Family.SHORTEST_PATH: lambda made: made.size,
    Family.SORTING: lambda made: len(made.numbers),
    Family.SPIRAL_MATRIX: lambda made: len(made.rows) * len(made.rows[0]),
    Family.SUBSEQUENCE_REVERSAL_LNDS: lambda made: len(made.numbers),
    Family.UNDAMAGED_SUBMATRIX_COUNTING: lambda made: len(made.grid) * len(made.grid[0]),
    Family.WYR_LEVELING_GROUND: lambda made: len(made.heights),
}
"""What grows with the level."""
families = pytest.mark.parametrize("family", ALL_FAMILIES)


def test_there_are_sixteen() -> None:
    assert len(ALL_FAMILIES) == 16
    assert set(SIZES) == set(ALL_FAMILIES)


@families
def test_the_program_is_one_that_the_gate_reads(family: Family) -> None:
    source = family_program(family, 7)
    assert check_source(source, 100_000) == source
    assert "DIFFICULTY = 7\n" in source


@families
@pytest.mark.parametrize("level", LEVELS)
def test_the_solution_wins_at_every_level(family: Family, level: int) -> None:
    made = environment(family, level)
    for seed in range(12):
        opening, info = made.reset(seed=seed)
        assert 0 < len(opening) < 20_000
        assert info == {}
        assert made.step(made.solution())[1:] == (1.0, True, False, {})


@families
@pytest.mark.parametrize("answer", MALFORMED)
def test_malformed_answers_lose(family: Family, answer: str) -> None:
    for seed in range(4):
        assert not wins(environment(family, 5, seed), answer)


@families
@given(action=st.text(max_size=60) | st.text("0123456789 ,-{}\\boxed", max_size=40))
def test_no_text_breaks_it_and_none_without_a_box_wins(family: Family, action: str) -> None:
    made = environment(family, 2)
    _, reward, terminated, truncated, info = made.step(action)
    assert terminated
    assert (type(reward), truncated, info) == (float, False, {})
    if not action.strip().startswith("\\boxed{"):
        assert reward == 0.0


@families
def test_the_right_answer_among_other_words_loses(family: Family) -> None:
    made = environment(family, 5)
    solution = made.solution()
    for action in (f"It is {solution}", f"{solution} or {boxed('1')}", solution.removeprefix("\\boxed")):
        assert made.step(action)[1] == 0.0


@families
def test_one_problems_answer_seldom_wins_another(family: Family) -> None:
    made = environment(family, 10)
    answers = []
    for seed in range(20):
        made.reset(seed=seed)
        answers.append(made.solution())
    won = 0
    for seed in range(20):
        made.reset(seed=seed)
        won += sum(made.step(answer)[1] == 1.0 for place, answer in enumerate(answers) if place != seed)
    share = won / (20 * 19)
    # The answers of two families are one of two words.
    assert share < (0.7 if family in (Family.EUCLID_GAME, Family.LAMP_CHANGING) else 0.4)


@families
@pytest.mark.parametrize("level", LEVELS)
def test_the_seed_decides_the_problem(family: Family, level: int) -> None:
    one, other = environment(family, level), environment(family, level, seed=3)
    openings = []
    for seed in range(8):
        opening = one.reset(seed=seed)[0]
        assert other.reset(seed=seed)[0] == opening
        assert other.solution() == one.solution()
        openings.append(opening)
    assert len(set(openings)) > 4


@families
def test_the_level_makes_the_problem_larger(family: Family) -> None:
    def mean(level: int) -> float:
        made = environment(family, level)
        sizes = []
        for seed in range(60):
            made.reset(seed=seed)
            sizes.append(SIZES[family](made))
        return sum(sizes) / len(sizes)

    means = [mean(level) for level in (0, 5, 10, 15, 20)]
    assert all(smaller < larger for smaller, larger in itertools.pairwise(means))


@pytest.mark.parametrize("level", [-1, MAX_DIFFICULTY + 1])
def test_another_level_is_refused(level: int) -> None:
    with pytest.raises(InvalidInput, match="is no level"):
        family_program(Family.SAT, level)


def test_no_family_is_like_another_so_that_a_cycle_keeps_all() -> None:
    library = Library()
    for family in ALL_FAMILIES:
        match = library.nearest(family_program(family, 7), near=0.7)
        assert match is None or match.similarity < 0.7, (family, match)
        library.add(family.value, family_program(family, 7))
