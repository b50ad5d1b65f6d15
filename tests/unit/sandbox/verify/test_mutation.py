"""A mutant is the same program with one fault in its success predicate; many of them stand in one text."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_sandbox.verify.mutation import SWITCH, Operator, combined, mutants_of

PROGRAMS = Path(__file__).parents[3] / "data" / "programs"
GOOD = {path.stem: path.read_text() for path in sorted((PROGRAMS / "good").glob("*.py"))}
ALL = 200
VALUES = (-1, 0, 1, 2)

atoms = st.sampled_from(
    ["a < b", "a == 2", "b <= 1", "a != b", "a > 0", "a", "not b", "0 <= a < 2", "(a + b) == 1", "c()"]
)
predicates = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(lambda parts: f"({''.join(parts)})"),
        inner.map(lambda part: f"not ({part})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]} if a > b else {parts[1]})"),
        inner.map(lambda part: f"all({part} for a in (a, b))"),
    ),
    max_leaves=6,
)


def deciding(predicate: str) -> str:
    """A program that wins exactly if the predicate holds of `a` and `b`."""
    return f"""
class AEnv:
    def reset(self, seed=None):
        return "x", {{}}
    def step(self, action):
        a, b = action
        def c():
            return a * b == 2
        if {predicate}:
            return "won", 1.0, True, False, {{}}
        return "lost", 0.0, False, False, {{}}
"""


def behaviour(text: str, number: int) -> list[Any]:
    """What our own small programs above answer to every input."""
    module: dict[str, Any] = {SWITCH: number}
    exec(compile(text, "program.py", "exec"), module)
    environment = module["AEnv"]()
    answers: list[Any] = []
    for a in VALUES:
        for b in VALUES:
            try:
                answers.append(environment.step((a, b)))
            except Exception as error:
                answers.append(type(error))
    return answers


@settings(max_examples=40)
@given(predicates)
def test_combined_text_behaves_as_the_original_and_as_each_mutant_alone(predicate: str) -> None:
    source = deciding(predicate)
    mutants = mutants_of(source, 40)
    text = combined(source, mutants)
    assert mutants
    assert behaviour(text, 0) == behaviour(source, 0)
    for number, mutant in enumerate(mutants, start=1):
        assert behaviour(text, number) == behaviour(mutant.apply(source), 0), mutant.text(source)


@settings(max_examples=20)
@given(predicates, st.integers(min_value=1, max_value=60))
def test_a_smaller_limit_takes_the_first_of_the_same_mutants(predicate: str, limit: int) -> None:
    source = deciding(predicate)
    assert mutants_of(source, limit) == mutants_of(source, ALL)[:limit]


@pytest.mark.parametrize("name", GOOD)
def test_every_mutant_of_a_good_program_parses_and_differs_from_it_and_from_the_others(name: str) -> None:
    source = GOOD[name]
    trees = [ast.dump(ast.parse(mutant.apply(source))) for mutant in mutants_of(source, ALL)]
    assert len({ast.dump(ast.parse(source)), *trees}) == len(trees) + 1


def test_the_kinds_take_turns_so_that_a_small_limit_holds_each() -> None:
    assert {mutant.operator for mutant in mutants_of(GOOD["vault_walk"], 6)} == set(Operator) - {Operator.COMPUTE}


WEATHER = """
class WeatherEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        rng = random.Random(seed)
        self._state = {"data": {n: rng.randint(100, 999) for n in "ab"}}
        total = 0
        for value in self._state["data"].values():
            total += value * 2
        self._expected_answer = str(round(max(total, self._half()), 1))
        return "x", {}
    def _half(self):
        return min(self._state["data"].values()) / 4
"""


def test_how_an_expected_answer_is_found_is_changed_and_what_it_is_found_of_is_not() -> None:
    mutants = mutants_of(WEATHER, ALL)
    kinds = (Operator.COMPUTE, Operator.SKIP)
    texts = {mutant.text(WEATHER).split(": ", 2)[2] for mutant in mutants if mutant.operator in kinds}
    assert texts == {
        "str(round(max(total, self._half()), 1)) -> '0'",
        "max -> min",
        "1 -> 2",
        "value * 2 -> (value) + (2)",
        "2 -> 3",
        "min -> max",
        'min(self._state["data"].values()) / 4 -> (min(self._state["data"].values())) * (4)',
        "4 -> 5",
        "total += value * 2 -> pass",
    }


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("a < b", "(a) <= (b)"),
        ("a >= b", "(a) > (b)"),
        ("a == b", "(a) >= (b)"),
        ("a < b <= 2", "(a) < (b) < (2)"),
        ("a and b", "(b)"),
        ("a or b", "(a)"),
        ("a and b", "not (a)"),
        ("a == 2", "3"),
        ("a == 'in'", "'in_'"),
        ("a == b", "b"),
        ("all(x for x in a)", "any"),
        ("a", "True"),
        ("a", "False"),
    ],
)
def test_faults_are_those_that_people_make(predicate: str, expected: str) -> None:
    assert expected in {mutant.replacement for mutant in mutants_of(deciding(predicate), ALL)}


def test_texts_are_not_put_into_an_order() -> None:
    assert not {mutant.replacement for mutant in mutants_of(deciding("a == 'in'"), ALL)} & {
        "(a) <= ('in')",
        "(a) >= ('in')",
    }


def test_an_update_that_the_predicate_reads_is_skipped_wherever_an_if_can_stand() -> None:
    source = """
class AEnv:
    def reset(self, seed=None):
        self.x = self.y = self.z = 0
        return "x", {}
    def step(self, action):
        self.x += 1  # counted
        self.y, seen = 2, 3
        if action: self.z = 4; seen = 5
        while self.x < 9: self.x += action
        return "x", 1.0, self.x == 1 and self.y == 2 and self.z == 4, False, {}
"""
    skipped = [mutant for mutant in mutants_of(source, ALL) if mutant.operator is Operator.SKIP]
    assert [(mutant.line, mutant.replacement) for mutant in skipped] == [(7, "pass"), (8, "self.y")]
    assert behaviour(combined(source, skipped), 0) == behaviour(source, 0)


def test_pieces_of_f_strings_stay_as_they_are() -> None:
    source = deciding("f'{a < b}' == 'True'")
    assert all(
        "{a < b}" in mutant.apply(source) for mutant in mutants_of(source, ALL) if mutant.operator is Operator.NEGATE
    )
    assert not any(mutant.replacement == "(a) <= (b)" for mutant in mutants_of(source, ALL))


def test_newlines_of_other_systems_and_letters_of_other_languages_shift_nothing() -> None:
    source = deciding("a < b and action != 'größer'").replace("won", "gewonnen – ja")
    for text in (source, source.replace("\n", "\r\n"), source.replace("\n", "\r")):
        assert [mutant.text(text) for mutant in mutants_of(text, ALL)] == [
            m.text(source) for m in mutants_of(source, ALL)
        ]
        assert behaviour(combined(text, mutants_of(text, ALL)), 0) == behaviour(source, 0)


def test_a_mutant_is_told_in_one_line_with_its_place() -> None:
    source = deciding("a < b and (\n            a == 2)")
    texts = [mutant.text(source) for mutant in mutants_of(source, ALL)]
    assert all("\n" not in text for text in texts)
    assert "line 9: drop a part: a < b and ( a == 2) -> (a < b)" in texts


def test_a_program_without_a_predicate_has_no_mutants() -> None:
    assert mutants_of("class AEnv:\n    pass\n", ALL) == ()
    assert combined("x = 1\n", ()) == "x = 1\n"
