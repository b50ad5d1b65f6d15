"""The cell's harness takes the right class and accepts exactly the contract's types (method.md §4.1)."""

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.protocol import ResetResult, StepResult
from spade_sandbox.pod.programs import games, loading
from spade_sandbox.pod.programs.values import InvalidReturn

CHARACTERS = 1000


class Scripted:
    """An environment that returns what it was given."""

    def __init__(self, returned: object) -> None:
        self.returned = returned

    def reset(self, seed: int | None = None) -> object:
        return self.returned

    def step(self, action: str) -> object:
        return self.returned


def stepped(*parts: object) -> dict[str, Any]:
    """What the harness makes of a step that returned these parts."""
    return games.step(Scripted(parts), "x", CHARACTERS)


def environment(source: str) -> Any:
    """The loaded environment of a small program."""
    return loading.load(source, 9)


def test_first_class_ending_in_env_is_the_environment() -> None:
    source = "class A: pass\n" + "".join(
        f"class {name}:\n    def __init__(self, max_turns): self.word = '{name}', max_turns\n"
        for name in ("Env", "ToolUseBaseEnv", "HelperEnv", "GameEnv")
    )
    assert environment(source).word == ("HelperEnv", 9)


def test_things_that_are_no_classes_are_passed_over() -> None:
    source = "notEnv = 5\ndef makeEnv(): pass\nclass GameEnv:\n    def __init__(self, max_turns): pass\n"
    assert type(environment(source)).__name__ == "GameEnv"


def test_program_without_an_environment_is_refused() -> None:
    with pytest.raises(InvalidReturn, match="ends in Env"):
        environment("class Game: pass\n")


def test_forgotten_imports_are_there() -> None:
    source = """
@dataclass
class State:
    words: List[str] = field(default_factory=list)
class GameEnv:
    def __init__(self, max_turns):
        self.all = (math.pi, random, re, json, deque([1]), Counter("a"), defaultdict(int), np.zeros(2), deepcopy([]))
        self.more = (string, statistics, heapq, functools, itertools, operator, collections, copy, Optional, State())
"""
    assert environment(source)


def test_constructor_draws_the_same_in_every_cell() -> None:
    source = "class GameEnv:\n    def __init__(self, max_turns): self.draw = random.random(), np.random.rand()\n"
    assert environment(source).draw == environment(source).draw


@pytest.mark.parametrize(
    ("constructor", "turns"),
    [
        ("def __init__(self, max_turns=12, **kwargs): self.max_turns = max_turns", 9),
        ("def __init__(self, max_turns=4, **kwargs): self.max_turns = max_turns", 4),
        ("def __init__(self, max_turns): self.max_turns = max_turns", 9),
        ("def __init__(self, *args, **kwargs): self.max_turns = kwargs.get('max_turns', 6)", 6),
        ("def __init__(self, seed=1, max_turns=20, difficulty='hard'): self.max_turns = max_turns", 9),
    ],
)
def test_turns_are_the_fewer_of_the_programs_own_and_those_asked_for(constructor: str, turns: int) -> None:
    assert environment(f"class GameEnv:\n    {constructor}\n").max_turns == turns


def test_constructor_without_max_turns_breaks_the_contract() -> None:
    with pytest.raises(TypeError, match="max_turns"):
        environment("class GameEnv:\n    def __init__(self): pass\n")


def test_program_may_derive_from_the_base_class_of_the_reference() -> None:
    source = """
class GameEnv(Env):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__()
        self.max_turns = max_turns
        self.reset()
    def reset(self, seed=None):
        super().reset(seed)
        self.secret = random.randint(0, 10**9)
        return f"Find it in {self.max_turns}.", {}
"""
    game = environment(source)
    assert game.max_turns == 9
    assert (game.reset(5), game.secret) == (game.reset(5), game.secret)


def test_environment_may_keep_the_constructor_of_its_base_class() -> None:
    assert environment("class GameEnv(Env): pass\n") is not None
    assert environment("class TaskEnv(ToolUseBaseEnv): pass\n").max_turns == 9


def test_step_with_the_contracts_types_passes() -> None:
    assert stepped("ok", 1, True, False, {}) == {
        "op": "step", "observation": "ok", "reward": 1.0, "terminated": True, "truncated": False, "info": {},
    }  # fmt: skip


class Word(str):
    """A string of its own kind."""


@pytest.mark.parametrize(
    "parts",
    [
        ("ok", 1.0, True, False),
        ("ok", 1.0, True, False, {}, None),
        (Word("ok"), 1.0, True, False, {}),
        (b"ok", 1.0, True, False, {}),
        ("x" * (CHARACTERS + 1), 1.0, True, False, {}),
        ("\ud800", 1.0, True, False, {}),
        ("ok", True, True, False, {}),
        ("ok", "1", True, False, {}),
        ("ok", None, True, False, {}),
        ("ok", float("nan"), True, False, {}),
        ("ok", float("-inf"), True, False, {}),
        ("ok", 10**400, True, False, {}),
        ("ok", numpy.float64(1), True, False, {}),
        ("ok", 1.0, 1, False, {}),
        ("ok", 1.0, True, None, {}),
        ("ok", 1.0, numpy.bool_(True), False, {}),
        ("ok", 1.0, True, False, None),
        ("ok", 1.0, True, False, [("a", 1)]),
    ],
)
def test_step_with_any_other_type_or_value_is_refused(parts: tuple[object, ...]) -> None:
    with pytest.raises(InvalidReturn):
        stepped(*parts)


def test_list_is_no_tuple() -> None:
    with pytest.raises(InvalidReturn, match="list"):
        games.step(Scripted(["ok", 1.0, True, False, {}]), "x", CHARACTERS)


def test_reset_may_return_a_bare_string() -> None:
    assert games.reset(Scripted("begin"), 1, CHARACTERS)["observation"] == "begin"
    assert games.reset(Scripted(("begin", {"a": 1})), 1, CHARACTERS)["info"] == {"a": 1}


@pytest.mark.parametrize("returned", ["", ("", {}), ("x",), ("x", {}, 1), None, ("x", None), ["x", {}], (1, {})])
def test_reset_with_anything_else_is_refused(returned: object) -> None:
    with pytest.raises(InvalidReturn):
        games.reset(Scripted(returned), 1, CHARACTERS)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=10,
)
mostly_right = st.tuples(
    st.text(), st.floats() | st.integers(), st.booleans(), st.booleans(), st.dictionaries(st.text(), anything)
)


@given(mostly_right | anything)
def test_step_gives_an_answer_of_the_protocol_or_an_invalid_return(returned: object) -> None:
    try:
        answer = games.step(Scripted(returned), "x", CHARACTERS)
    except InvalidReturn:
        return
    StepResult.model_validate(answer)


@given(st.tuples(st.text(), st.dictionaries(st.text(), anything)) | anything)
def test_reset_gives_an_answer_of_the_protocol_or_an_invalid_return(returned: object) -> None:
    try:
        answer = games.reset(Scripted(returned), 1, CHARACTERS)
    except InvalidReturn:
        return
    ResetResult.model_validate(answer)
