"""The success predicate of a program is found from its text: what decides a win, and what play changes of it."""

import ast
from pathlib import Path
from textwrap import dedent, indent

import pytest

from spade_sandbox.verify.predicate import MAX_TESTS, find_predicate

PROGRAMS = Path(__file__).parents[3] / "data" / "programs"


def game(step: str, *, reset: str = "pass", more: str = "", module: str = "") -> str:
    """A game from the bodies of its methods."""
    parts = (
        dedent(module),
        "class AEnv:",
        "    def reset(self, seed=None):",
        indent(dedent(reset), " " * 8),
        "        return 'x', {}",
        "    def step(self, action):",
        indent(dedent(step), " " * 8),
        indent(dedent(more), " " * 4),
    )
    return "\n".join(parts) + "\n"


def asked_by(source: str) -> list[str]:
    return [ast.unparse(test) for test in find_predicate(ast.parse(source)).tests]


def updates_of(source: str) -> list[str]:
    return [ast.unparse(update) for update in find_predicate(ast.parse(source)).updates]


def test_condition_of_a_winning_result_is_found_and_that_of_a_losing_one_is_not() -> None:
    source = game("""
        if action == self.goal:
            return 'won', 1.0, True, False, {}
        if self.turns > 5:
            return 'lost', 0.0, True, False, {}
        return 'on', 0.1, False, False, {}
    """)
    assert asked_by(source) == ["action == self.goal"]


def test_flags_are_followed_to_the_conditions_under_which_they_are_set() -> None:
    source = game("""
        reward, done = 0.0, False
        if action == 'open' and self.key:
            reward, done = 1.0, True
        return 'x', reward, done, False, {}
    """)
    assert asked_by(source) == ["done", "action == 'open' and self.key"]


def test_truth_values_are_followed_through_locals_conversions_and_conditional_expressions() -> None:
    source = game("""
        right = action == self.word
        return 'x', float(right) if self.open else 0.0, bool(right), False, {}
    """)
    assert set(asked_by(source)) == {"bool(right)", "action == self.word", "self.open"}


def test_methods_properties_functions_and_parameters_are_followed() -> None:
    source = game(
        """
        solved = self.solved
        return self.finish(solved, 'x')
        """,
        more="""
        @property
        def solved(self):
            return all(part.at == part.home for part in self.parts)
        def finish(self, won, text):
            return text, 1.0 if won else 0.0, won, False, {}
        """,
    )
    assert "part.at == part.home" in asked_by(source)
    assert "all((part.at == part.home for part in self.parts))" in asked_by(source)


def test_a_predicate_that_leaves_a_loop_early_is_found() -> None:
    source = game(
        "won = self.full()\nreturn 'x', 1.0 if won else 0.0, won, False, {}",
        more="""
        def full(self):
            for cell in self.cells:
                if cell == 0:
                    return False
            return True
        """,
    )
    assert "cell == 0" in asked_by(source)


def test_criteria_are_found_as_lambdas_and_as_methods() -> None:
    source = """
class TaskEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self._message_criteria = [lambda s: 'a' in s['read'], self._paid]
        return 'x', {}
    def _paid(self, state):
        return state['due'] == 0
    def tool_pay(self, amount):
        self._state['due'] -= amount
        return 'paid'
"""
    assert asked_by(source) == ["'a' in s['read']", "state['due'] == 0"]
    assert updates_of(source) == ["self._state['due'] -= amount"]


def test_own_answer_checks_and_the_way_to_the_expected_answer_are_found() -> None:
    source = """
class TaskEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        due = [b for b in self.bills if not b.paid and b.sum > 3]
        self._expected_answer = str(sum(b.sum for b in due))
        return 'x', {}
    def _check_answer(self, answer):
        return answer.strip() == self._expected_answer
"""
    assert asked_by(source) == ["answer.strip() == self._expected_answer", "not b.paid and b.sum > 3"]


def test_updates_are_those_in_play_of_what_the_tests_read() -> None:
    source = game(
        """
        self.turns += 1
        if action == 'take':
            self.bag.things.append('key')
        self.spot.here, self.seen = 3, 4
        return 'x', 1.0, 'key' in self.bag.things and self.spot.here == 3, False, {}
        """,
        reset="self.bag.things, self.spot.here = [], 0",
    )
    assert updates_of(source) == ["self.bag.things.append('key')", "self.spot.here, self.seen = (3, 4)"]


def test_the_conditions_of_updates_come_last() -> None:
    source = game("""
        if action == 'up' and self.here < 9:
            self.here += 1
        if self.here == 7:
            return 'won', 1.0, True, False, {}
        return 'on', 0.0, False, False, {}
    """)
    assert asked_by(source) == ["self.here == 7", "action == 'up' and self.here < 9"]


@pytest.mark.parametrize("name", [path.stem for path in sorted((PROGRAMS / "good").glob("*.py"))])
def test_known_good_programs_have_a_predicate(name: str) -> None:
    assert asked_by((PROGRAMS / "good" / f"{name}.py").read_text())


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert asked_by("x = 1") == []
    assert asked_by(game("return 'x', 0.0, False, False, {}")) == []


@pytest.mark.parametrize(
    "step",
    [
        "w = self.f(w)\nreturn 'x', w, w, False, {}",
        "return 'x', 1.0, " + "not " * 300 + "action, False, {}",
        "w = " + " and ".join(f"self.a{i}" for i in range(2000)) + "\nreturn 'x', 1.0, w, False, {}",
        "".join(f"if action == {i}: return 'x', 1.0, True, False, {{}}\n" for i in range(1000)) + "return 1",
        "w = w or v\nv = w\nreturn 'x', v, w, False, {}",
    ],
    ids=["recursive", "deep", "wide", "long", "circular"],
)
def test_a_text_made_to_be_searched_without_end_is_not(step: str) -> None:
    source = game(
        step, more="def f(self, x):\n    return self.f(x) or self.g(x)\ndef g(self, x):\n    return self.f(x)\n"
    )
    assert len(asked_by(source)) <= MAX_TESTS
