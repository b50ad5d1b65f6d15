"""Tool calls in a reply: the reference's reading (V28), and the strict one that keeps what the player wrote (D8)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.tool_calls import ToolCall, ToolCallParsing, final_answer, parse_tool_calls

STRICT, LENIENT = ToolCallParsing.STRICT, ToolCallParsing.LENIENT


def block(arguments: str) -> str:
    return f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>'


def arguments(text: str, parsing: ToolCallParsing) -> list[object]:
    return [call.values() for call in parse_tool_calls(text, parsing)]


@pytest.mark.switch("toolCalls")
@pytest.mark.parametrize(
    ("text", "lenient", "strict"),
    [
        (block('{"a":1}'), [{"a": 1}], [{"a": 1}]),
        (block('{"a":{"b":1}}'), [{}], [{"a": {"b": 1}}]),
        (block('{"a":[1,{"b":2}]}'), [{"a": [1, {"b": 2}]}], [{"a": [1, {"b": 2}]}]),
        (block("{bad}"), [{}], []),
        ('<tool_call>{"name": "f"}</tool_call>', [{}], [{}]),
        ("<tool_call>f(1)</tool_call>", [], []),
    ],
)
def test_vector_v28(text: str, lenient: list[object], strict: list[object]) -> None:
    assert arguments(text, LENIENT) == lenient
    assert arguments(text, STRICT) == strict


@pytest.mark.parametrize("parsing", ToolCallParsing)
def test_xml_form_is_read_in_both(parsing: ToolCallParsing) -> None:
    inside = "<function=buy>\n<parameter=id>\nA-7\n</parameter>\n<parameter=n>2</parameter>\n</function>"
    assert parse_tool_calls(f"<tool_call>\n{inside}\n</tool_call>", parsing) == (ToolCall("buy", '{"id":"A-7","n":2}'),)


@pytest.mark.parametrize("parsing", ToolCallParsing)
def test_calls_come_in_the_order_of_their_blocks(parsing: ToolCallParsing) -> None:
    text = f'first {block("{}")} then <tool_call>\n{{"name": "g", "arguments": {{"x": "é"}}}}\n</tool_call>'
    assert parse_tool_calls(text, parsing) == (ToolCall("f", "{}"), ToolCall("g", '{"x":"é"}'))


@pytest.mark.parametrize(
    "inside",
    ['{"name": "", "arguments": {}}', '{"name": 5}', '{"name": "f", "arguments": [1]}', '{"arguments": {}}', '["f"]'],
)
def test_strict_reading_refuses_blocks_that_are_no_call(inside: str) -> None:
    assert parse_tool_calls(f"<tool_call>{inside}</tool_call>", STRICT) == ()


json_objects = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
).map(lambda value: {"value": value})


@given(json_objects)
def test_strict_reading_keeps_every_argument(wanted: dict[str, object]) -> None:
    text = block(json.dumps(wanted).replace("<", "\\u003c"))
    assert arguments(text, STRICT) == [wanted]


@given(st.text('<>tool_call/{}[]":, namergusf\\1\n'), st.sampled_from(ToolCallParsing))
def test_no_text_breaks_the_parser(text: str, parsing: ToolCallParsing) -> None:
    for call in parse_tool_calls(f"<tool_call>{text}</tool_call>", parsing):
        assert type(call.values()) is dict


def test_nesting_beyond_the_parsers_depth_is_no_call() -> None:
    assert parse_tool_calls(block('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"), STRICT) == ()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I think <answer> 42 </answer>.", "42"),
        ("<answer>a</answer><answer>b</answer>", "a"),
        ("<answer>\nmany\nlines\n</answer>", "many\nlines"),
        ("<answer></answer>", ""),
        ("<answer>open", None),
        ("42", None),
    ],
)
def test_final_answer_is_the_first_closed_block(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer
