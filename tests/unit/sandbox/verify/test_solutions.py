r"""Solutions are read exactly in the form asked for, and other forms as far as they go, but never with an error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config.environments import Domain
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.solutions import boxed, payload, readings

CALL = '<tool_call>{"name": "book", "arguments": {"day": 3, "rooms": {"single": 1}}}</tool_call>'
MOVE = Move(name="book", arguments='{"day":3,"rooms":{"single":1}}')


def games(text: str) -> list[tuple[str, list[str]]]:
    return [(one.form, [move.action for move in one.moves]) for one in readings(text, Domain.GAMES)]


def test_one_box_a_line_is_exact_and_stands_alone() -> None:
    assert games("\\boxed{go 1}\n\n  \\boxed{take {a}}\n") == [("exact", [r"\boxed{go 1}", r"\boxed{take {a}}"])]


def test_boxes_within_prose_are_taken_in_their_order() -> None:
    assert games("First \\boxed{a}, and then \\boxed{b}.") == [("boxed", [r"\boxed{a}", r"\boxed{b}"])]


@pytest.mark.parametrize(
    ("text", "payloads"),
    [
        ("3 1 2", ["3", "1", "2"]),
        ("left, right; take", ["left", "right", "take"]),
        ("1. go north\n2. take lamp", ["go north", "take lamp"]),
        ('["a b", "c"]', ["a b", "c"]),
        ("['x', 7]", ["x", "7"]),
        ("open -> close", ["open", "close"]),
        ("42", ["42"]),
    ],
)
def test_other_forms_become_boxed_actions(text: str, payloads: list[str]) -> None:
    form, actions = games(text)[0]
    assert form != "exact"
    assert [payload(action) for action in actions] == payloads


@pytest.mark.parametrize("text", ["", " \n "])
def test_nothing_is_no_solution(text: str) -> None:
    assert readings(text, Domain.GAMES) == ()
    assert readings(text, Domain.TOOLS) == ()


def test_calls_and_an_answer_a_line_are_exact() -> None:
    (reading,) = readings(f"{CALL}\n{CALL}\n<answer>done</answer>", Domain.TOOLS)
    assert reading.exact
    assert reading.moves == (MOVE, MOVE, Move("<answer>done</answer>"))


def test_calls_without_an_answer_end_with_done() -> None:
    (reading,) = readings(f"Call {CALL} first.", Domain.TOOLS)
    assert not reading.exact
    assert reading.moves == (MOVE, Move("<answer>done</answer>"))


@pytest.mark.parametrize(
    "text",
    [
        "book(day=3, rooms={'single': 1})",
        '[{"name": "book", "arguments": {"day": 3, "rooms": {"single": 1}}}]',
        "[('book', {'day': 3, 'rooms': {'single': 1}})]",
    ],
)
def test_calls_in_the_manner_of_python_are_read(text: str) -> None:
    move, ending = readings(text, Domain.TOOLS)[0].moves
    assert (move.name, json.loads(move.arguments)) == (MOVE.name, json.loads(MOVE.arguments))
    assert ending.action == "<answer>done</answer>"


def test_a_bare_answer_is_an_answer() -> None:
    assert readings("1204.50", Domain.TOOLS)[0].moves == (Move("<answer>1204.50</answer>"),)


@given(text=st.text(max_size=300), domain=st.sampled_from(Domain))
def test_any_text_can_be_read(text: str, domain: Domain) -> None:
    for reading in readings(text, domain):
        assert reading.moves


@given(contents=st.lists(st.from_regex(r"[a-z0-9 ]{1,12}", fullmatch=True), min_size=1, max_size=8))
def test_what_is_written_as_asked_is_read_as_written(contents: list[str]) -> None:
    (reading,) = readings("\n".join(boxed(content) for content in contents), Domain.GAMES)
    assert reading.exact
    assert [payload(move.action) for move in reading.moves] == [content.strip() for content in contents]
