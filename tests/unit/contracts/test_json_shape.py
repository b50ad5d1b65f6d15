"""How many values JSON text holds is told without building them, and without being misled by its strings."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_contracts.json_shape import has_more_values
from spade_contracts.protocol import (
    MAX_INSTRUCTIONS,
    MAX_TOOLS,
    MAX_VALUES,
    Answer,
    Criterion,
    InspectResult,
    SolutionResult,
    ToolSchema,
    ToolsResult,
)

values = st.recursive(
    st.one_of(st.none(), st.integers(), st.text('ab,[{\\"é', max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(st.text('a,"\\[', max_size=4), inner)),
    max_leaves=30,
)


def count(value: Any) -> int:
    """Values in a value, itself included."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


@given(values, st.booleans())
@settings(max_examples=50)
def test_count_is_between_the_values_and_twice_as_many(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    number = count(value)
    assert not has_more_values(text, 2 * number)
    if number > 3:
        assert has_more_values(text, (number - 1) // 2 - 1)


def test_text_full_of_separators_is_one_value() -> None:
    answer = Answer(id=1, ok=SolutionResult(text=',[{"\\' * 100_000))
    assert not has_more_values(answer.model_dump_json().encode())


def test_largest_answers_of_the_protocol_are_within_the_limit() -> None:
    inspection = InspectResult(
        values={str(n): "x" for n in range(MAX_VALUES)},
        instruction=0,
        instructions=("x",) * MAX_INSTRUCTIONS,
        criteria=(Criterion.TRUE,) * MAX_INSTRUCTIONS,
    )
    tools = ToolsResult(tools=(ToolSchema(name="t", description="", parameters='{"a": [1, 2]}'),) * MAX_TOOLS)
    for result in (inspection, tools):
        assert not has_more_values(Answer(id=1, ok=result).model_dump_json().encode())
