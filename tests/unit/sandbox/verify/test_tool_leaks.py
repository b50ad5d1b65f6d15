"""What M14 reads of a list of tools, and which unlisted tools M8 calls."""

import json

import pytest

from spade_sandbox.client import Tool
from spade_sandbox.verify.actions import NONSENSE
from spade_sandbox.verify.tool_leaks import described, without_lists
from spade_sandbox.verify.unlisted_tools import unlisted_calls

SOURCE = """
class ShopEnv(ToolUseBaseEnv):
    def tool_sell(self, item): ...
    def tool_finish(self, why, loud=True, *, code, at=None): ...
    def tool_(self): ...
    def helper(self): ...
def tool_outside(): ...
"""


def test_descriptions_and_single_values_of_schemas_are_read_and_names_are_not() -> None:
    schema = {
        "type": "object",
        "required": ["shelf"],
        "properties": {"shelf": {"type": "string", "description": "a shelf", "default": "S7", "enum": ["S9"]}},
    }
    assert described([Tool("count", "Boxes, 2317 in all.", schema)]).split("\n") == [
        "Boxes, 2317 in all.",
        "a shelf",
        "S7",
        '["S9"]',
    ]


def test_options_of_a_schema_are_no_leak() -> None:
    assert (
        described([Tool("count", "", {"properties": {"shelf": {"enum": ["S1", "S2"], "examples": ["a", "b"]}}})]) == ""
    )


def test_a_schema_without_end_is_read_to_a_depth() -> None:
    schema: dict[str, object] = {"description": "deep"}
    for _ in range(50):
        schema = {"items": schema}
    assert described([Tool("t", "near", schema)]) == "near"


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("No such shelf: red, blue, green", (), ("red", "blue", "green")),
        ("There are S17 and S42 and S99 here", ("here",), ("S17", "S42", "S99")),
        ("Together 2317 boxes, of S17", ("2317", "S17"), ()),
        ("- red\n- blue\n- green", (), ("red", "blue")),
    ],
)
def test_enumerations_are_left_out_of_texts(text: str, kept: tuple[str, ...], gone: tuple[str, ...]) -> None:
    words = without_lists(text)
    assert all(word in words for word in kept)
    assert not any(word in words for word in gone)


def test_methods_that_are_not_listed_are_called_with_what_they_need() -> None:
    calls = unlisted_calls(SOURCE, frozenset({"sell"}))
    assert [(one.name, json.loads(one.arguments)) for one in calls] == [("finish", {"why": NONSENSE, "code": NONSENSE})]
