r"""What the controls send: repeatable, of the right look where that is wanted, and aimed where it is said."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_sandbox.client import Tool
from spade_sandbox.verify import actions
from spade_sandbox.verify.arguments import drawn, meaningless, several
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.order import other_orders, positions, without
from spade_sandbox.verify.solutions import boxed, payload

OPENING = r"Room 0 of 7. \boxed{left}, \boxed{right}, \boxed{go ROOM}, \boxed{number}."


def tool(**properties: Any) -> Tool:
    return Tool("t", "", {"type": "object", "properties": properties})


def test_commands_shown_are_drawn_and_their_places_filled() -> None:
    rng = actions.repeatable(1)
    sent = {payload(actions.random_action(OPENING, rng)) for _ in range(200)}
    assert {"left", "right"} <= sent
    assert any(action.startswith("go ") for action in sent)
    assert "go ROOM" not in sent


def test_constants_are_commands_without_places() -> None:
    assert actions.constants(OPENING)[:3] == (boxed("1"), boxed("left"), boxed("right"))
    assert boxed("go ROOM") not in actions.constants(OPENING)


@given(opening=st.text(max_size=200), seed=st.integers(0, 2**31))
def test_random_actions_repeat_and_never_fail(opening: str, seed: int) -> None:
    one, other = actions.repeatable(seed), actions.repeatable(seed)
    assert actions.random_action(opening, one) == actions.random_action(opening, other)


@pytest.mark.parametrize(
    ("action", "wrong"),
    [
        (r"\boxed{open 3}", r"\boxed{open 987654321}"),
        (r"\boxed{take key}", r"\boxed{take zzqx7}"),
        (r"\boxed{42}", r"\boxed{987654321}"),
        (r"\boxed{left}", r"\boxed{zzqx7}"),
    ],
)
def test_misdirected_action_keeps_all_but_its_target(action: str, wrong: str) -> None:
    assert actions.misdirected(action) == wrong


def test_texts_of_a_program_are_found_and_broken_programs_have_none() -> None:
    source = "x = 1\ndef f():\n    return 'Success! Found.' if x else 'no'\n"
    assert "Success! Found." in actions.literals(source)
    assert actions.literals("def (") == ""


def test_twins_look_alike_and_differ() -> None:
    assert actions.twin(r"\boxed{42}") == "\\\uff42\uff4f\uff58\uff45\uff44{\uff14\uff12}"


def test_likely_arguments_fit_the_schema_and_come_from_what_was_seen() -> None:
    schema = {"order": {"type": "string"}, "size": {"enum": ["s", "m"]}, "n": {"type": "integer"}}
    for seed in range(20):
        arguments = json.loads(drawn(tool(**schema), "Order W1234 holds 3.", actions.repeatable(seed)))
        assert arguments["size"] in ("s", "m")
        assert isinstance(arguments["n"], int)
        assert arguments["order"] in ("Order", "W1234", "3")


def test_only_tools_with_open_parameters_can_be_aimed_at_nothing() -> None:
    assert meaningless(tool()) is None
    assert meaningless(tool(mode={"enum": ["a", "b"]})) is None
    assert json.loads(meaningless(tool(name={"type": "string"})) or "") == {"name": actions.NONSENSE}


@pytest.mark.parametrize("parameters", [{}, {"properties": None}, {"properties": {"a": None}}, {"properties": []}])
def test_schemas_that_are_none_are_taken_as_they_are(parameters: dict[str, Any]) -> None:
    assert isinstance(json.loads(drawn(Tool("t", "", parameters), "", actions.repeatable(0))), dict)


def test_each_listed_choice_is_called_and_open_values_begin_with_those_of_the_instruction() -> None:
    rng = actions.repeatable(3)
    both = several(tool(confirm={"type": "boolean"}), "Delete all spam.", "", rng, 3)
    assert sorted(both) == ['{"confirm": false}', '{"confirm": true}']
    some = several(tool(mode={"enum": ["a", "b"]}, name={"type": "string"}), "Tell Ada.", "Bo Cy Di Ed", rng, 3)
    assert json.loads(some[0])["name"] in ("Tell", "Ada")
    assert {json.loads(text)["mode"] for text in some} == {"a", "b"}
    assert len(some) == 3
    assert several(tool(), "", "", rng, 3) == ["{}"]


@given(length=st.integers(0, 40))
def test_positions_lie_within_and_begin_with_the_last(length: int) -> None:
    chosen = positions(length)
    assert all(0 <= position < length for position in chosen)
    assert len(set(chosen)) == len(chosen)
    assert chosen[:1] == ((length - 1,) if length else ())


@given(names=st.lists(st.sampled_from("abc"), max_size=6))
def test_other_orders_hold_the_same_moves_in_another_order(names: list[str]) -> None:
    moves = tuple(Move(name) for name in names)
    for order in other_orders(moves, 1):
        assert order != moves
        assert sorted(map(str, order)) == sorted(map(str, moves))
    for position in range(len(moves)):
        assert len(without(moves, position)) == len(moves) - 1
