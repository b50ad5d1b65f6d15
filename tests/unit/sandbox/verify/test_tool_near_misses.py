"""Calls that nearly are the right one: which values are wrong for certain, and which calls say that they failed."""

import json
from typing import Any

import pytest

from spade_sandbox.client import Tool
from spade_sandbox.verify.actions import NONSENSE
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.tool_near_misses import failed, near_misses


def tool(**properties: Any) -> Tool:
    return Tool("t", "", {"type": "object", "properties": properties})


def tried(instruction: str, held: str = "", **arguments: Any) -> list[tuple[dict[str, Any], bool]]:
    """Arguments of the near misses, and whether they are wrong for certain."""
    found = near_misses(Move(name="t", arguments=json.dumps(arguments)), None, instruction, held)
    return [(json.loads(one.move.arguments), one.wrong) for one in found]


def test_values_that_the_instruction_names_are_replaced_by_others_of_the_state_or_by_nonsense() -> None:
    held = "dict{'W1234': 'sent', 'W9912': 'sent'}"
    assert tried("Cancel order W1234.", held, order="W1234", note="as asked") == [
        ({"order": "W9912", "note": "as asked"}, True),
        ({"order": NONSENSE, "note": "as asked"}, True),
    ]


def test_another_option_is_taken_where_there_are_options() -> None:
    move = Move(name="seal", arguments='{"colour": "red"}')
    found = near_misses(move, tool(colour={"enum": ["red", "blue"]}), "Seal it in red.", "")
    assert [json.loads(one.move.arguments) for one in found] == [{"colour": "blue"}]


@pytest.mark.parametrize("order", [("supplier", "amount"), ("amount", "supplier")])
def test_numbers_get_a_larger_and_a_smaller_value_wherever_they_stand(order: tuple[str, str]) -> None:
    values = {"supplier": "Benz", "amount": 245}
    found = tried("Pay Benz 245.", "'Cato', 'Benz'", **{name: values[name] for name in order})
    assert {arguments["amount"] for arguments, _ in found[:4]} >= {246, 245}
    assert {arguments["amount"] for arguments, _ in found} == {244, 245, 246}
    assert {arguments["supplier"] for arguments, _ in found} == {"Benz", "Cato", NONSENSE}
    assert [arguments["supplier"] == "Benz" for arguments, _ in found[:2]].count(True) == 1


@pytest.mark.parametrize("words", ["at least 5", "5 or more", "up to 5", "any 5", "about 5"])
def test_numbers_are_left_alone_where_the_instruction_is_not_exact(words: str) -> None:
    assert tried(f"Order {words} boxes.", "", boxes=5) == []


def test_a_number_within_another_word_or_number_is_not_named() -> None:
    assert tried("Cancel order W15 for 1.5 crowns.", "", boxes=1) == []
    assert tried("Pay 1,200 to Ada.", "", amount=1200)[0] == ({"amount": 1201}, True)


def test_a_number_of_the_state_is_meant_where_the_instruction_wants_it_exactly() -> None:
    assert tried("Pay exactly what the invoice says.", "dict{'due': 361}", amount=361)[0] == ({"amount": 362}, True)
    assert tried("Pay what you like.", "dict{'due': 361}", amount=361)[0] == ({"amount": 362}, False)


def test_other_records_of_the_state_are_wrong_only_if_the_instruction_names_one_but_nonsense_always_is() -> None:
    assert tried("Print it.", "dict{'P17': True, 'P44': False}", printer="P17") == [
        ({"printer": NONSENSE}, True),
        ({"printer": "P44"}, False),
    ]
    assert tried("Print it.", "dict{'mood': 'calm'}", text="calm") == [
        ({"text": "mood"}, False),
        ({"text": NONSENSE}, False),
    ]


@pytest.mark.parametrize(
    ("output", "right", "complains"),
    [
        ("The printer refuses.", "Printed.", True),
        ("Not sent.", "Sent.", True),
        ("Not printed.\n[New step] Bill it.", "Printed.\n[New step] Do not fail.", True),
        ("Printed.\n[New step] Cancel the failed job.", "Printed.", False),
        ("No error found.", "No error found.", False),
    ],
)
def test_a_call_failed_if_it_complains_and_the_right_one_does_not(output: str, right: str, complains: bool) -> None:
    assert failed(output, right) is complains
