"""What a session answers is the answer of the protocol, although its result is not validated a second time."""

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.protocol import MAX_SEED, Answer, CallResult, Result, StepResult
from spade_sandbox.pod.sessions import result_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
SCALARS = st.booleans() | st.integers(-MAX_SEED, MAX_SEED) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
RESULTS = st.builds(
    StepResult,
    observation=TEXTS,
    reward=st.floats(allow_nan=False, allow_infinity=False),
    terminated=st.booleans(),
    truncated=st.booleans(),
    info=st.dictionaries(TEXTS, SCALARS, max_size=5),
) | st.builds(CallResult, output=TEXTS, returncode=st.integers(0, 255))


@given(st.integers(0, MAX_SEED), RESULTS)
def test_text_of_a_result_is_that_of_the_answer_that_holds_it(request_id: int, result: Result) -> None:
    assert result_text(request_id, result) == Answer(id=request_id, ok=result).model_dump_json().encode()
