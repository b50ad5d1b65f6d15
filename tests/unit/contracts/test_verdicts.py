"""A verdict holds what can be replayed, within bounds, and its words are known to every counter."""

import math

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config.verification import OptionalStage
from spade_contracts.verdicts import (
    MAX_ANSWER_CHARACTERS,
    MAX_EVIDENCE_CHARACTERS,
    MAX_EXCHANGES,
    MAX_FACTS,
    MAX_TRACES,
    REASONS,
    Exchange,
    Operation,
    Reason,
    Stage,
    Trace,
    Verdict,
    accepted,
    lasting,
    rejected,
    shown,
)


def step(action: str = "", answer: str = "{}") -> Exchange:
    return Exchange(op=Operation.STEP, action=action, answer=answer)


def trace(*exchanges: Exchange) -> Trace:
    return Trace(max_turns=25, exchanges=exchanges)


def test_every_reason_belongs_to_a_stage_and_every_stage_but_acceptance_has_reasons() -> None:
    assert {reason for reasons in REASONS.values() for reason in reasons} == set(Reason)
    assert set(REASONS) == set(Stage) - {Stage.ACCEPTED}


def test_every_stage_that_can_be_left_out_is_a_stage() -> None:
    assert {option.value.lower() for option in OptionalStage} <= {stage.value for stage in Stage}


def test_verdict_is_the_same_after_a_journey_as_json() -> None:
    verdict = rejected(Stage.CONTROLS, Reason.WINS_BY_NULL, "why", (trace(step("x")),), {"M1": "no", "steps": 3.0})
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_only_a_verdict_without_reason_at_the_last_stage_accepts() -> None:
    assert accepted().accepted
    assert not Verdict(stage=Stage.ACCEPTED, reason=Reason.NO_VERDICT).accepted
    assert not Verdict(stage=Stage.JUDGE, reason=None).accepted


@given(text=st.text(max_size=50), times=st.integers(1, 200))
def test_shown_texts_fit_and_are_equal_only_if_the_texts_are(text: str, times: int) -> None:
    long = text * times
    assert len(shown(long)) <= MAX_ANSWER_CHARACTERS
    assert shown(long) == shown(long)
    assert shown(long) != shown(long + "x")


def test_evidence_that_is_too_long_keeps_its_beginnings() -> None:
    long = trace(*(step(str(number), "x" * MAX_ANSWER_CHARACTERS) for number in range(MAX_EXCHANGES)))
    verdict = rejected(Stage.ORDER, Reason.WINS_SHUFFLED, evidence=(long,) * (MAX_TRACES + 1))
    assert verdict.evidence[0].exchanges[0] == long.exchanges[0]
    for kept in verdict.evidence:
        assert kept.exchanges == long.exchanges[: len(kept.exchanges)]
    held = sum(one.characters for kept in verdict.evidence for one in kept.exchanges)
    assert held <= MAX_EVIDENCE_CHARACTERS


def test_facts_are_bounded_and_always_json() -> None:
    facts = {f"fact {number}": float(number) for number in range(2 * MAX_FACTS)}
    verdict = rejected(Stage.PARSE, Reason.SYNTAX, facts={"nan": math.nan, "text": "x" * 10_000, **facts})
    assert len(verdict.facts) == MAX_FACTS
    assert verdict.facts["nan"] == "nan"
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_lasting_facts_hold_no_timing() -> None:
    assert lasting({"steps": 3.0, "seconds": 1.5, "cpu_seconds": 0.2}) == {"steps": 3.0}
