"""Messages survive their own encoding, and nothing else passes for one."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spade_contracts import protocol
from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import REQUEST, Answer, FaultKind, fault

numbers = st.integers(min_value=0, max_value=protocol.MAX_SEED)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
loads = st.builds(protocol.Load, sessions=st.integers(0, 1000), capacity=st.integers(0, 1000))
scalars = st.one_of(
    st.booleans(),
    st.integers(-protocol.MAX_SEED, protocol.MAX_SEED),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
infos = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20), scalars, max_size=protocol.MAX_INFO_ENTRIES
)
limits = st.builds(
    SandboxLimits,
    memory_bytes=st.integers(32 * 2**20, 16 * 2**30),
    cpu_seconds=st.integers(1, 86400),
    load_seconds=st.floats(0.001, 600),
)
finite = st.floats(allow_nan=False, allow_infinity=False)

requests = st.one_of(
    st.builds(protocol.Hello, id=numbers, version=st.integers(1, 1000), token=texts),
    st.builds(protocol.Put, id=numbers, sha256=digests, source=texts),
    st.builds(
        protocol.Open,
        id=numbers,
        sha256=digests,
        domain=st.sampled_from(Domain),
        max_turns=st.integers(1, 100_000),
        limits=limits,
    ),
    st.builds(protocol.Reset, id=numbers, session=numbers, seed=st.one_of(st.none(), numbers)),
    st.builds(protocol.Step, id=numbers, session=numbers, action=texts),
    st.builds(protocol.Tools, id=numbers, session=numbers),
    st.builds(protocol.Call, id=numbers, session=numbers, name=st.just("look"), arguments=st.just("{}")),
    st.builds(protocol.Solution, id=numbers, session=numbers),
    st.builds(protocol.Inspect, id=numbers, session=numbers),
    st.builds(protocol.Look, id=numbers),
    st.builds(protocol.Close, id=numbers, session=numbers),
)
tools = st.builds(
    protocol.ToolSchema,
    name=st.sampled_from(["look", "take"]),
    description=texts,
    parameters=st.dictionaries(texts, scalars, max_size=3).map(json.dumps),
)
results = st.one_of(
    st.builds(protocol.HelloResult, version=st.just(1), boot_id=st.just("0123456789abcdef"), load=loads),
    st.builds(protocol.PutResult),
    st.builds(protocol.OpenResult, session=numbers, load=loads),
    st.builds(protocol.ResetResult, observation=texts, info=infos),
    st.builds(
        protocol.StepResult,
        observation=texts,
        reward=finite,
        terminated=st.booleans(),
        truncated=st.booleans(),
        info=infos,
    ),
    st.builds(protocol.ToolsResult, tools=st.lists(tools, max_size=4).map(tuple)),
    st.builds(protocol.CallResult, output=texts, returncode=st.integers(0, 255)),
    st.builds(protocol.SolutionResult, text=texts),
    st.builds(
        protocol.InspectResult,
        values=st.dictionaries(st.sampled_from("abc"), texts),
        instruction=st.integers(0, 9),
        instructions=st.lists(texts, max_size=3).map(tuple),
        criteria=st.lists(st.sampled_from(protocol.Criterion), max_size=3).map(tuple),
    ),
    st.builds(protocol.LookResult, load=loads),
    st.builds(protocol.CloseResult, load=loads),
)
answers = st.one_of(
    st.builds(Answer, id=numbers, ok=results),
    st.builds(fault, numbers, st.sampled_from(FaultKind), texts),
)
STEP = {
    "id": 1,
    "ok": {"op": "step", "observation": "x", "reward": 0.5, "terminated": False, "truncated": False, "info": {}},
    "error": None,
}  # fmt: skip


@given(requests)
def test_request_survives_its_encoding(request: protocol.Request) -> None:
    assert REQUEST.validate_json(request.model_dump_json()) == request


@given(answers)
def test_answer_survives_its_encoding(answer: Answer) -> None:
    assert Answer.model_validate_json(answer.model_dump_json()) == answer


@given(
    st.one_of(
        st.binary(), texts, st.recursive(scalars, lambda x: st.lists(x) | st.dictionaries(texts, x)).map(json.dumps)
    )
)
def test_whatever_is_no_message_is_refused_and_nothing_else_is_raised(data: str | bytes) -> None:
    for parse in (REQUEST.validate_json, Answer.model_validate_json):
        with pytest.raises(ValidationError):
            parse(data)


def changed(**fields: object) -> str:
    """The step answer with other fields in its result."""
    return json.dumps({**STEP, "ok": {**STEP["ok"], **fields}})


@pytest.mark.parametrize(
    "fields",
    [
        {"reward": "1.0"},
        {"reward": True},
        {"reward": None},
        {"reward": math.nan},
        {"reward": math.inf},
        {"reward": 10**400},
        {"observation": 5},
        {"observation": None},
        {"observation": "x" * (protocol.MAX_TEXT_CHARACTERS + 1)},
        {"terminated": 1},
        {"terminated": "true"},
        {"truncated": None},
        {"info": []},
        {"info": {"nested": {}}},
        {"info": {"list": [1]}},
        {"info": {"large": 10**400}},
        {"info": {"k" * 100: 1}},
        {"info": {str(i): i for i in range(protocol.MAX_INFO_ENTRIES + 1)}},
        {"info": {"text": "x" * (protocol.MAX_INFO_TEXT_CHARACTERS + 1)}},
        {"surplus": 1},
        {"op": "reset"},
        {"op": "other"},
    ],
)
def test_step_answer_with_one_wrong_field_is_refused(fields: dict[str, object]) -> None:
    assert Answer.model_validate_json(json.dumps(STEP))
    with pytest.raises(ValidationError):
        Answer.model_validate_json(changed(**fields))


@pytest.mark.parametrize("change", [{"ok": None}, {"error": {"kind": "crash", "message": ""}}, {"id": "1"}, {"id": -1}])
def test_answer_holds_an_id_and_exactly_one_of_ok_and_error(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps({**STEP, **change}))


@pytest.mark.parametrize(
    "parameters", ["", "[]", "5", '{"a": NaN}', '{"a": ', '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 90_000]
)
def test_tool_parameters_that_are_no_shallow_json_object_are_refused(parameters: str) -> None:
    tool = {"name": "look", "description": "", "parameters": "{}"}
    protocol.ToolsResult.model_validate_json(json.dumps({"tools": [tool]}))
    with pytest.raises(ValidationError):
        protocol.ToolsResult.model_validate_json(json.dumps({"tools": [{**tool, "parameters": parameters}]}))


def test_deeply_nested_json_is_refused() -> None:
    for text in ("[" * 100_000, '{"id":' * 100_000):
        with pytest.raises(ValidationError):
            Answer.model_validate_json(text)


def test_largest_text_fits_into_a_message_however_it_is_escaped() -> None:
    result = protocol.SolutionResult(text="\x01" * protocol.MAX_TEXT_CHARACTERS)
    assert len(Answer(id=1, ok=result).model_dump_json()) < protocol.MAX_MESSAGE_BYTES


@given(texts, st.integers(1, 50))
def test_fault_messages_are_cut_to_what_a_message_holds(text: str, times: int) -> None:
    answer = fault(1, FaultKind.CRASH, text * times)
    assert answer.error is not None
    assert len(answer.error.message) <= protocol.MAX_ERROR_CHARACTERS
