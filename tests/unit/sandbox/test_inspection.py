"""An inspection shows hidden state as text that is the same in every process, and criteria on the present state."""

import json
import random
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.protocol import MAX_VALUE_CHARACTERS, InspectResult
from spade_sandbox.pod.programs import inspection
from spade_sandbox.pod.programs.bases import ToolUseBaseEnv


def seen(environment: object) -> InspectResult:
    answer = inspection.look(environment, 1000)
    return InspectResult.model_validate_json(json.dumps(answer))


def shown(value: object) -> str:
    return seen(SimpleNamespace(value=value)).values["value"]


@dataclass
class Room:
    name: str
    doors: list[Any] = field(default_factory=list)


class Colour(Enum):
    RED = 1


def test_values_of_every_kind_have_a_text() -> None:
    assert shown(Room("hall", [1, 2.5])) == "Room(name='hall', doors=list[1, 2.5])"
    assert shown({"b", "a"}) == "set{'a', 'b'}"
    assert shown(OrderedDict(a=None)) == "OrderedDict{'a': None}"
    assert shown(deque([True])) == "deque[True]"
    assert shown(Colour.RED) == "Colour.RED"
    assert shown(numpy.array([[1, 2]])) == "ndarray(list[list[1, 2]])"
    assert shown(random.Random(1)) == shown(random.Random(1)) != shown(random.Random(2))
    assert shown("é\ud800") == "'\\xe9\\ud800'"
    assert shown(10**5000).startswith("0x")


def test_no_address_is_shown() -> None:
    for value in (object(), lambda: 1, Room, (i for i in ()), seen, "".join):
        assert "0x" not in shown(value)


def test_cycles_and_endless_depth_are_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert shown(loop) == "list[…]"
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert "…" in shown(deep)


def test_long_value_is_cut_and_still_told_from_another() -> None:
    one, other = "x" * 10_000, "x" * 9_999 + "y"
    assert len(shown(one)) <= MAX_VALUE_CHARACTERS
    assert shown(one) != shown(other)


def test_large_state_is_shown_in_bounds() -> None:
    environment = SimpleNamespace(**{f"name{i}": list(range(1000)) for i in range(1000)})
    assert len(seen(environment).values) == inspection.MAX_VALUES


def test_slots_are_attributes_too() -> None:
    class Small:
        __slots__ = ("left", "right")

        def __init__(self) -> None:
            self.left = 3

    assert seen(Small()).values == {"left": "3"}


def test_tool_program_shows_its_state_and_its_criteria() -> None:
    environment = ToolUseBaseEnv()
    environment._state = {"sold": 0, 5: "five"}
    environment._user_messages = ["Sell.", "Wait.", "Rest.", "Err."]
    environment._message_criteria = [
        lambda state: state["sold"] == 0,
        lambda: environment._state["sold"] > 0,
        lambda state=None: True,
        lambda state: state["missing"],
    ]
    result = seen(environment)
    assert result.values == {"sold": "0", "5": "'five'"}
    assert (result.instruction, result.instructions) == (0, ("Sell.", "Wait.", "Rest.", "Err."))
    assert result.criteria == ("true", "false", "true", "raises")


def test_looking_changes_nothing() -> None:
    environment = ToolUseBaseEnv()
    environment._state = {"rooms": [1, 2, 3]}
    environment._message_criteria = [lambda state: state["rooms"].pop()]
    assert seen(environment) == seen(environment)
    assert environment._state == {"rooms": [1, 2, 3]}


def test_odd_machinery_is_no_fault() -> None:
    odd = SimpleNamespace(_user_messages=[1, "x" * 5000], _current_msg=-3, _message_criteria="none")
    result = seen(odd)
    assert (result.instruction, result.instructions, result.criteria) == (0, ("x" * 1000,), ())


hashable = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
anything = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(hashable, inner)
        | st.sets(hashable)
        | st.builds(Room, st.text(), st.lists(inner))
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), anything))
def test_any_state_gives_an_answer_of_the_protocol(state: dict[str, Any]) -> None:
    environment = SimpleNamespace()
    environment.__dict__.update(state)
    assert seen(environment) == seen(environment)
