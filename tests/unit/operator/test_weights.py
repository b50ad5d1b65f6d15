"""Engines count as serving a version only when the learner's proof is of their present boot; until then it is told."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import EngineState, LearnerState, ProofResult
from spade_operator.reconcile.position import unproven_engines, verified
from spade_operator.reconcile.steps import SetTarget
from spade_operator.reconcile.weights import TELL_AGAIN_SECONDS, weights

VERIFIED = RunCondition.WEIGHTS_VERIFIED
PLAYED = [p.plays(0, "Complete")]


@given(
    said=st.sampled_from([None, 0, 1]), proven=st.sampled_from([None, 0, 1]), same_boot=st.booleans(),
    canary=st.booleans(), state=st.sampled_from(EngineState), result=st.sampled_from(ProofResult),
)  # fmt: skip
def test_engine_is_verified_only_by_its_own_word_and_the_learners_proof_of_the_same_boot(
    said: int | None, proven: int | None, same_boot: bool, canary: bool, state: EngineState, result: ProofResult
) -> None:
    engine = p.engine_says(said, canary_passed=canary, state=state)
    boot = "engine-boot" if same_boot else "another-boot"
    proofs = () if proven is None else (p.proof(p.ENGINE.meta.name, proven, boot, result),)
    seen = p.at_work(pods={p.ENGINE: engine, p.LEARNER: p.learner_says(1, *proofs)})
    shown = proven == 1 and same_boot and result in (ProofResult.VERIFIED, ProofResult.INDISTINGUISHABLE)
    assert verified(seen, 1) == (said == 1 and canary and state is EngineState.SERVING and shown)


def test_wanted_engine_that_is_missing_counts_as_unproven() -> None:
    seen = p.at_work(run=p.run_record(p.holding(*p.AT_WORK, policy_version=0), engine={"replicas": 2}))
    assert unproven_engines(seen, 0) == ("engine 0 of 2",)


def test_proven_version_is_written_and_nobody_is_told() -> None:
    step = weights(p.at_work(), p.NOW)
    assert step.actions == ()
    assert step.status["policy_version"] == 0
    assert p.wanted(step, VERIFIED)[0] == "True"


def test_played_rollout_makes_the_next_version_the_target_of_all_engines() -> None:
    step = weights(p.at_work(rollouts=PLAYED), p.NOW)
    (told,) = p.actions_of(step, SetTarget)
    assert (told.pod, told.target.policy_version, told.target.last_policy_version) == (p.LEARNER, 1, 4)
    assert [(e.name, e.host) for e in told.target.engines] == [(p.ENGINE.meta.name, p.ENGINE.ip)]
    assert step.conditions == (), "the engines still serve what they are proven at"


def test_acknowledged_target_is_not_repeated_before_some_time_has_passed() -> None:
    known = p.told(1)
    assert weights(p.at_work(rollouts=PLAYED, told=known), p.NOW).actions == ()
    late = dataclasses.replace(known, at=p.ago(TELL_AGAIN_SECONDS))
    assert p.actions_of(weights(p.at_work(rollouts=PLAYED, told=late), p.NOW), SetTarget)


def test_restarted_learner_or_engine_makes_the_target_be_told_again() -> None:
    learner = p.learner_says(0, boot_id="new-boot")
    engine = p.engine_says(None, boot_id="new-boot")
    assert p.actions_of(weights(p.at_work(pods={p.LEARNER: learner}), p.NOW), SetTarget)
    assert p.actions_of(weights(p.at_work(pods={p.ENGINE: engine}), p.NOW), SetTarget)


def test_mismatch_is_shown_and_counted_once() -> None:
    wrong = p.learner_says(1, p.proof(p.ENGINE.meta.name, 1, result=ProofResult.MISMATCH), state=LearnerState.PROVING)
    pods = {p.ENGINE: p.engine_says(None), p.LEARNER: wrong}
    step = weights(p.at_work(rollouts=PLAYED, pods=pods), p.NOW)
    assert p.wanted(step, VERIFIED)[:2] == ("False", Reason.MISMATCH)
    assert step.status["proofs"] == {"mismatch": 1}
    before = p.SpadeRunStatus(conditions=(p.condition(VERIFIED, False, Reason.MISMATCH),), proofs={"mismatch": 1})
    again = weights(p.at_work(run=p.run_record(before), rollouts=PLAYED, pods=pods), p.NOW)
    assert "proofs" not in again.status


def test_status_follows_run_storage_when_the_learner_found_more_steps_there() -> None:
    step = weights(p.at_work(pods={p.LEARNER: p.learner_says(3)}), p.NOW)
    assert (step.status["rollout"], step.status["cycle"], step.blocks) == (3, 1, True)
    past_the_end = weights(p.at_work(pods={p.LEARNER: p.learner_says(9)}), p.NOW)
    assert past_the_end.status["rollout"] == 9


def test_silent_learner_is_told_nothing() -> None:
    seen = p.at_work(rollouts=PLAYED, pods={p.LEARNER: None})
    assert weights(seen, p.NOW).actions == ()
    assert seen.pods_of(Role.LEARNER)
