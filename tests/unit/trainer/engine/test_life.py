"""Whatever happens to an engine's weights, it serves exactly what was admitted since they were last touched."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.engine_api import AdmitRequest
from spade_contracts.statuses import EngineState
from spade_trainer.engine import life as lives
from spade_trainer.engine.refusals import Code, Refused

BOOT = "this-boot"
Event = Callable[[lives.Life], lives.Life]

TOUCHES: st.SearchStrategy[Event] = st.one_of(
    st.just(lives.updating),
    st.builds(
        lambda version, genuine: lambda life: lives.loaded(life, version, genuine=genuine),
        st.integers(0, 2),
        st.booleans(),
    ),
    st.builds(lambda factor: lambda life: lives.scaled(life, factor), st.sampled_from((1.0, 1.5))),
    st.just(lambda life: lives.failed(life, "broken")),
    st.just(lives.asleep),
    st.just(lives.awake),
)
VERDICTS = st.builds(
    AdmitRequest,
    boot_id=st.sampled_from((BOOT, "earlier-boot")),
    policy_version=st.integers(0, 2),
    canary_passed=st.booleans(),
)


def serves(life: lives.Life, version: int) -> bool:
    try:
        lives.check_serving(life, version)
    except Refused:
        return False
    return True


@given(st.lists(st.one_of(TOUCHES, VERDICTS), max_size=12))
def test_only_an_admitted_version_serves_and_only_until_weights_are_touched(events: list[Event | AdmitRequest]) -> None:
    life = lives.booted(lives.Life(), 0)
    admitted: int | None = None
    for event in events:
        if isinstance(event, AdmitRequest):
            try:
                life = lives.admitted(life, BOOT, event)
            except Refused:
                pass
            else:
                admitted = event.policy_version
                assert (event.boot_id, admitted, life.canary_factor, life.genuine) == (BOOT, life.loaded, 1.0, True)
        else:
            life, admitted = event(life), None
        assert [version for version in range(3) if serves(life, version)] == ([] if admitted is None else [admitted])
        assert life.verified == admitted
        assert (life.state is EngineState.SERVING) == (admitted is not None)


@pytest.mark.parametrize(
    ("life", "code"),
    [
        (lives.Life(), Code.NOT_SERVING),
        (lives.updating(lives.Life()), Code.UPDATING),
        (lives.asleep(lives.booted(lives.Life(), 0)), Code.ASLEEP),
        (lives.failed(lives.Life(), "broken"), Code.FAILED),
        (lives.booted(lives.Life(), 0), Code.NOT_SERVING),
    ],
)
def test_generation_is_refused_with_the_reason(life: lives.Life, code: Code) -> None:
    with pytest.raises(Refused) as refusal:
        lives.check_serving(life, 0)
    assert refusal.value.code is code


def test_engine_without_weights_is_none_the_better_for_its_sleep() -> None:
    assert lives.awake(lives.asleep(lives.failed(lives.Life(), "broken"))).state is EngineState.FAILED


def test_the_first_verdict_needs_a_passed_canary_and_later_ones_do_not() -> None:
    life = lives.booted(lives.Life(), 0)
    verdict = AdmitRequest(boot_id=BOOT, policy_version=0, canary_passed=False)
    with pytest.raises(Refused):
        lives.admitted(life, BOOT, verdict)
    life = lives.admitted(life, BOOT, verdict.model_copy(update={"canary_passed": True}))
    again = lives.admitted(lives.loaded(life, 0, genuine=True), BOOT, verdict)
    assert again.state is EngineState.SERVING


def test_refusals_that_may_pass_are_temporary_and_others_permanent() -> None:
    assert not Refused(Code.UPDATING, "").permanent
    assert Refused(Code.BAD_REQUEST, "").permanent
