"""Losses without progress are bounded for each role; past that the run fails with the cause until retry is raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.resources.run_parts import Restarts
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.conditions import MAX_MESSAGE
from spade_operator.reconcile.restarts import AFTERWARDS, READINESS, RETRY, failed, restarts
from spade_operator.reconcile.steps import FetchLog, Remove

FAILED = RunCondition.FAILED


@given(st.sampled_from(sorted(READINESS)), st.integers(0, 5), st.integers(0, 8))
def test_run_fails_exactly_when_a_role_was_lost_more_often_than_allowed(role: Role, allowed: int, lost: int) -> None:
    status = p.holding(restarts={str(role): Restarts(since_progress=lost, total=lost)})
    step = restarts(p.seen(p.run_record(status, **{str(role): {"restarts": allowed}})), p.NOW)
    assert (p.wanted(step, FAILED)[0] == "True") == (lost > allowed)
    assert step.blocks == (lost > allowed)


def test_losses_before_the_last_progress_do_not_count() -> None:
    status = p.holding(restarts={"learner": Restarts(since_progress=0, total=99)})
    assert not restarts(p.seen(p.run_record(status)), p.NOW).blocks


def test_failure_names_the_real_cause_and_frees_the_pods() -> None:
    cause = p.condition(RunCondition.LEARNER_READY, False, Reason.RESTARTING, "ended with exit code 137 (OOMKilled)")
    status = p.SpadeRunStatus(conditions=(cause,), restarts={"learner": Restarts(since_progress=9, total=9)})
    step = restarts(p.at_work(run=p.run_record(status)), p.NOW)
    reason, message = p.wanted(step, FAILED)[1:]
    assert reason == Reason.RESTART_BUDGET_SPENT
    assert "exit code 137 (OOMKilled)" in message
    assert "raise spec.retry" in message
    assert not p.actions_of(step, Remove), "the verdict is written before its cause goes"
    written = p.condition(FAILED, True, Reason(reason), message)
    step = restarts(p.at_work(run=p.run_record(status.model_copy(update={"conditions": (cause, written)}))), p.NOW)
    assert {p.ENGINE, p.LEARNER, p.SANDBOX} <= {action.record for action in p.actions_of(step, Remove)}


def test_failure_with_a_reason_of_a_newer_operator_stays_a_failure() -> None:
    written = p.condition(FAILED, True, Reason.POD_FAILED, "why").model_copy(update={"reason": "FromTheFuture"})
    step = restarts(p.at_work(run=p.run_record(p.SpadeRunStatus(conditions=(written,)))), p.NOW)
    assert step.blocks
    assert p.wanted(step, FAILED) == ("True", Reason.POD_FAILED, "why")


def test_sandbox_that_never_comes_up_spends_the_budget_too() -> None:
    crashing = p.pod(Role.SANDBOX, containers=(p.ended(1, "no user namespaces", restarts=4),))
    step = restarts(p.seen(p.run_record(sandbox={"restarts": 3}), pods=[crashing]), p.NOW)
    assert p.wanted(step, FAILED)[1] == Reason.RESTART_BUDGET_SPENT
    assert "no user namespaces" in p.wanted(step, FAILED)[2]


def test_sandbox_beyond_the_minimum_that_never_comes_up_spends_nothing() -> None:
    crashing = p.pod(Role.SANDBOX, "more", containers=(p.ended(1, restarts=400),))
    assert not restarts(p.seen(p.run_record(sandbox={"restarts": 3}), pods=[p.SANDBOX, crashing]), p.NOW).blocks
    assert restarts(
        p.seen(p.run_record(sandbox={"restarts": 3, "minPods": 2}), pods=[p.SANDBOX, crashing]), p.NOW
    ).blocks


@pytest.mark.parametrize("role", [Role.SANDBOX, Role.ENGINE])
def test_server_that_would_end_so_for_ever_fails_the_run_once_its_log_was_read(role: Role) -> None:
    waiting = ContainerRecord(str(role), 1, waiting_reason="CrashLoopBackOff", last_exit_code=2, last_reason="Error")
    pod = p.pod(role, containers=(waiting,))
    first = restarts(p.seen(pods=[pod]), p.NOW)
    assert [type(action) for action in first.actions] == [FetchLog]
    assert not first.blocks
    step = restarts(p.seen(pods=[pod], logs={(pod.meta.uid, str(role), 0): "no such tokens"}), p.NOW)
    assert p.wanted(step, FAILED)[:2] == ("True", Reason.POD_FAILED)
    assert "no such tokens" in p.wanted(step, FAILED)[2]


def test_exit_code_of_a_sandbox_that_ran_programs_fails_nothing() -> None:
    waiting = ContainerRecord("sandbox", 1, waiting_reason="CrashLoopBackOff", last_exit_code=2, last_reason="Error")
    used = p.pod(Role.SANDBOX, containers=(waiting,), admitted_boot="boot-0001")
    step = restarts(p.seen(pods=[used], logs={(used.meta.uid, "sandbox", 0): ""}), p.NOW)
    assert (step.blocks, step.actions) == (False, ())


def failed_run(retry: int, handled: int = 0) -> p.Observed:
    mark = p.condition(FAILED, True, Reason.JOB_FAILED, "the cause")
    status = p.SpadeRunStatus(
        conditions=(mark,), handled_retry=handled, restarts={"engine": Restarts(since_progress=4, total=6)}
    )
    return p.seen(p.run_record(status, retry=retry), batches=[p.batch(0, "Failed")], rollouts=[p.plays(0, "Complete")])


def test_failed_run_stays_failed_with_its_cause() -> None:
    step = restarts(failed_run(retry=0), p.NOW)
    assert p.wanted(step, FAILED) == ("True", Reason.JOB_FAILED, "the cause")
    assert (step.blocks, step.phase) == (True, Phase.FAILED)


def test_raised_retry_takes_the_run_up_once_with_full_budgets_and_without_what_failed() -> None:
    step = restarts(failed_run(retry=1), p.NOW)
    assert p.wanted(step, FAILED)[0] == "False"
    assert step.status["handled_retry"] == 1
    assert step.status["learner_attempt"] == 1
    assert step.status["restarts"] == {"engine": Restarts(since_progress=0, total=6)}
    assert [action.record.meta.name for action in p.actions_of(step, Remove)] == ["mini-c0000"]
    assert p.wanted(restarts(failed_run(retry=1, handled=1), p.NOW), FAILED)[0] == "True"


def test_retry_of_a_run_that_has_not_failed_is_only_noted() -> None:
    step = restarts(p.seen(p.run_record(retry=2)), p.NOW)
    assert (step.actions, step.status["handled_retry"]) == ((), 2)


def test_failed_run_claims_nothing_of_pods_that_are_gone_and_keeps_earlier_findings() -> None:
    holding = set(READINESS.values()) | {RunCondition.ISOLATED}
    mismatch = p.condition(RunCondition.WEIGHTS_VERIFIED, False, Reason.MISMATCH, "an engine computes otherwise")
    status = p.holding(*holding)
    status = status.model_copy(update={"conditions": (*status.conditions, mismatch)})
    step = failed(p.at_work(run=p.run_record(status)), Reason.JOB_FAILED, "No plays.")
    assert {p.wanted(step, kind)[:2] for kind in holding} == {("False", Reason.JOB_FAILED)}
    assert RunCondition.WEIGHTS_VERIFIED not in {condition.type for condition in step.conditions}


def test_retry_is_advised_only_where_it_can_help() -> None:
    seen = p.at_work()
    assert "spec.retry" in p.wanted(failed(seen, Reason.JOB_FAILED, "No plays."), FAILED)[2]
    assert "spec.retry" not in p.wanted(failed(seen, Reason.ALL_REJECTED, "No programs."), FAILED)[2]
    assert "takes the same step" in p.wanted(failed(seen, Reason.NON_FINITE, "The loss is nan."), FAILED)[2]


@given(st.text(max_size=4000), st.sampled_from(Reason))
def test_message_of_a_failure_fits_into_a_condition_with_what_to_do(message: str, reason: Reason) -> None:
    text = p.wanted(failed(p.at_work(), reason, message), FAILED)[2]
    assert len(text) <= MAX_MESSAGE
    assert text.endswith(AFTERWARDS.get(reason, RETRY))
