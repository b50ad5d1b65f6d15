"""The learner is one group: a lost pod replaces all, under the next name, and only when the old group is gone."""

import dataclasses

import pytest
from tests.support import pictures as p

from spade_contracts.exit_codes import ExitCode
from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.statuses import LearnerState
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.failure_rules import PACE_SECONDS, FailureCause
from spade_operator.reconcile.learner import LEAVING_SECONDS, learner
from spade_operator.reconcile.steps import Create, FetchLog, Remove

READY = RunCondition.LEARNER_READY
JOB = p.job("mini-learner-a0", Role.LEARNER)


def test_group_is_made_under_the_name_of_its_attempt() -> None:
    run = p.run_record(p.holding(learner_attempt=3))
    (made,) = p.actions_of(learner(p.seen(run), p.NOW), Create)
    assert made.manifest["metadata"]["name"] == "mini-learner-a3"


def test_lost_pod_replaces_the_group_and_is_counted_once_with_its_cause() -> None:
    dead = p.learner_pod(phase="Failed", containers=(p.ended(137, reason="OOMKilled"),))
    log = {(dead.meta.uid, "main", 0): "last words"}
    step = learner(p.seen(pods=[dead], jobs=[JOB], logs=log), p.NOW)
    assert {action.record for action in p.actions_of(step, Remove)} == {JOB, dead}
    assert (step.status["learner_attempt"], step.restarts) == (1, {Role.LEARNER: 1})
    message = p.wanted(step, READY)[2]
    assert "exit code 137 (OOMKilled)" in message
    assert "last words" in message


def test_learner_that_found_storage_full_is_replaced_uncounted_and_told() -> None:
    last = p.ended(ExitCode.STORAGE_FULL, "run storage file:///s is full (0 bytes are free)")
    dead = p.learner_pod(phase="Failed", containers=(last,))
    step = learner(p.seen(pods=[dead], jobs=[JOB]), p.NOW)
    assert (step.restarts, step.disruptions) == ({}, {Role.LEARNER: 1})
    status, reason, message = p.wanted(step, READY)
    assert (status, reason) == ("False", Reason.STORAGE_FULL)
    assert "file:///s is full" in message
    run = p.run_record(p.SpadeRunStatus(conditions=(p.condition(READY, False, reason, message),), learner_attempt=1))
    assert p.wanted(learner(p.seen(run), p.NOW), READY) == ("False", reason, message)


def test_log_is_read_before_the_pod_goes() -> None:
    dead = p.learner_pod(phase="Failed", containers=(p.ended(1),))
    step = learner(p.seen(pods=[dead], jobs=[JOB]), p.NOW)
    assert step.actions == (FetchLog(dead, "main", 0, False),)
    assert step.restarts == {}


def test_next_group_waits_until_the_last_one_is_gone() -> None:
    run = p.run_record(p.holding(learner_attempt=1))
    step = learner(p.seen(run, pods=[p.learner_pod(0)], jobs=[JOB]), p.NOW)
    assert not p.actions_of(step, Create)
    assert {action.record.meta.name for action in p.actions_of(step, Remove)} == {
        "mini-learner-a0",
        "mini-learner-a0-0",
    }
    going = p.learner_pod(0, deleting=True, grace_seconds=5)
    assert learner(p.seen(run, pods=[going]), p.NOW).actions == ()
    assert p.actions_of(learner(p.seen(run), p.NOW), Create)


def test_replaying_learner_is_not_ready_and_says_so() -> None:
    seen = p.seen(pods={p.LEARNER: p.learner_says(None, state=LearnerState.REPLAYING)}, jobs=[JOB])
    assert "replays" in p.wanted(learner(seen, p.NOW), READY)[2]


def test_learner_that_cannot_be_helped_by_another_attempt_fails_the_run() -> None:
    for reason in (Reason.REPLAY_DIVERGED, Reason.NON_FINITE):
        said = p.learner_says(2, state=LearnerState.FAILED, failure=reason, error="the gradient is not finite")
        step = learner(p.seen(pods={p.LEARNER: said}, jobs=[JOB]), p.NOW)
        assert p.wanted(step, RunCondition.FAILED)[:2] == ("True", reason)
        assert "the gradient is not finite" in p.wanted(step, RunCondition.FAILED)[2]
        assert step.blocks
    passing = p.learner_says(2, state=LearnerState.FAILED, error="a connection broke")
    assert not learner(p.seen(pods={p.LEARNER: passing}, jobs=[JOB]), p.NOW).blocks


def test_cause_of_the_last_loss_stands_until_the_group_is_up() -> None:
    before = p.condition(READY, False, Reason.RESTARTING, "exit code 9")
    run = p.run_record(p.SpadeRunStatus(conditions=(before,), learner_attempt=1))
    assert p.wanted(learner(p.seen(run), p.NOW), READY) == ("False", Reason.RESTARTING, "exit code 9")
    up = p.seen(run, pods={p.learner_pod(1): p.learner_says(0)}, jobs=[p.job("mini-learner-a1", Role.LEARNER)])
    assert p.wanted(learner(up, p.NOW), READY)[0] == "True"


def test_pod_that_fits_on_no_node_is_told() -> None:
    stuck = p.learner_pod(phase="Pending", unschedulable="0/1 nodes: insufficient memory")
    step = learner(p.seen(pods=[stuck], jobs=[JOB]), p.NOW)
    assert p.wanted(step, READY)[1] == Reason.UNSCHEDULABLE


def test_group_that_ended_without_a_failed_pod_is_told_of_in_words() -> None:
    left = p.learner_pod(phase="Succeeded", containers=(p.ended(0),))
    going = p.learner_pod(deleting=True)
    backoff = "BackoffLimitExceeded: limit reached"
    for pods, ending, words in (
        ([], {"complete": True}, "a pod of the Job mini-learner-a0 was deleted"),
        ([], {"failed": True, "failure": ": "}, "a pod of the Job mini-learner-a0 was deleted"),
        ([going], {"failed": True, "failure": backoff}, f"a pod of the Job mini-learner-a0 was deleted ({backoff})"),
        ([left], {"complete": True}, "the Job mini-learner-a0 ended: its processes left before the run was complete"),
        ([left], {"failed": True, "failure": backoff}, f"the Job mini-learner-a0 ended: {backoff}"),
    ):
        step = learner(p.seen(pods=pods, jobs=[p.job("mini-learner-a0", Role.LEARNER, **ending)]), p.NOW)
        assert p.wanted(step, READY) == ("False", Reason.RESTARTING, words)
        assert step.restarts == {Role.LEARNER: 1}


def test_group_whose_job_had_a_deadline_is_told_that_it_is_none_of_ours() -> None:
    job = p.job("mini-learner-a0", Role.LEARNER, failed=True, failure="DeadlineExceeded: Job was active too long")
    step = learner(p.seen(pods=[p.learner_pod(phase="Running")], jobs=[job]), p.NOW)
    assert "find what set activeDeadlineSeconds" in p.wanted(step, READY)[2]
    assert step.status["restarts"]["learner"].last_cause == FailureCause.DEADLINE_EXCEEDED


OOM = ContainerRecord("learner", exit_code=137, ended_reason="OOMKilled", memory_limit="1Gi")


def after_a_loss(cause: FailureCause, limit: str | None) -> p.RunRecord:
    known = Restarts(since_progress=1, total=1, last_cause=str(cause), memory_limit=limit)
    return p.run_record(p.holding(restarts={"learner": known}))


def test_learner_that_runs_out_of_memory_twice_at_the_same_limit_fails_with_a_larger_one() -> None:
    dead = p.learner_pod(phase="Failed", containers=(OOM,))
    logs = {(dead.meta.uid, "learner", 0): ""}
    first = learner(p.seen(pods=[dead], jobs=[JOB], logs=logs), p.NOW)
    assert first.restarts == {Role.LEARNER: 1}
    known = first.status["restarts"]["learner"]
    assert (known.last_cause, known.memory_limit) == (FailureCause.OUT_OF_MEMORY, "1Gi")
    again = learner(p.seen(after_a_loss(FailureCause.OUT_OF_MEMORY, "1Gi"), pods=[dead], jobs=[JOB], logs=logs), p.NOW)
    status, reason, message = p.wanted(again, RunCondition.FAILED)
    assert (status, reason) == ("True", Reason.OUT_OF_MEMORY)
    assert "spec.learner.pod.resources.limits.memory above 1Gi, to 1536Mi" in message
    for other in (
        after_a_loss(FailureCause.OUT_OF_MEMORY, "512Mi"),
        after_a_loss(FailureCause.EXIT_CODE, None),
    ):
        assert not learner(p.seen(other, pods=[dead], jobs=[JOB], logs=logs), p.NOW).blocks


def test_learner_that_says_that_another_try_is_of_no_use_fails_the_run_at_once() -> None:
    dead = p.learner_pod(phase="Failed", containers=(p.ended(2, "MASTER_ADDR is missing"),))
    step = learner(p.seen(pods=[dead], jobs=[JOB]), p.NOW)
    assert p.wanted(step, RunCondition.FAILED)[:2] == ("True", Reason.POD_FAILED)
    assert "MASTER_ADDR is missing" in p.wanted(step, RunCondition.FAILED)[2]


@pytest.mark.parametrize("reason", ["PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI"])
def test_group_that_the_infrastructure_took_a_pod_of_is_replaced_at_no_cost(reason: str) -> None:
    taken = p.learner_pod(deleting=True, disruption=reason, node="node-7")
    step = learner(p.seen(pods=[taken], jobs=[JOB]), p.NOW)
    assert step.status["learner_attempt"] == 1
    assert (step.restarts, step.disruptions) == ({}, {Role.LEARNER: 1})
    assert "node-7" in p.wanted(step, READY)[2]


def test_group_that_costs_nothing_is_not_replaced_in_haste() -> None:
    taken = p.learner_pod(phase="Failed", disruption="PreemptionByScheduler")
    peer = p.pod(Role.LEARNER, "peer", job=JOB.meta.name, index=1)
    young = p.job(JOB.meta.name, Role.LEARNER, created_at=p.ago(PACE_SECONDS - 10))
    step = learner(p.seen(pods=[taken, peer], jobs=[young]), p.NOW)
    assert [action.record for action in p.actions_of(step, Remove)] == [peer]
    assert step.wake_after_seconds == pytest.approx(10)
    assert (step.restarts, step.disruptions, "learner_attempt" in step.status) == ({}, {}, False)


def test_group_whose_pod_went_with_its_node_in_one_stroke_costs_nothing() -> None:
    taken = p.learner_pod(phase="Failed", disruption="DeletionByPodGC")
    seen = dataclasses.replace(p.seen(jobs=[p.job(JOB.meta.name, Role.LEARNER, failed=True)]), taken=(taken,))
    step = learner(seen, p.NOW)
    assert (step.restarts, step.disruptions) == ({}, {Role.LEARNER: 1})


def test_peer_that_ended_because_another_pod_was_taken_is_not_the_cause() -> None:
    ended = p.learner_pod(phase="Failed", containers=(p.ended(1, "connection reset by peer"),))
    taken = p.pod(Role.LEARNER, "taken", job=JOB.meta.name, index=1, phase="Failed", disruption="DeletionByPodGC")
    step = learner(p.seen(pods=[ended, taken], jobs=[JOB]), p.NOW)
    assert step.disruptions == {Role.LEARNER: 1}
    assert "pod taken lost its node" in p.wanted(step, READY)[2]


@pytest.mark.parametrize(("origin", "follower"), [((1, 10), (137, 9)), ((137, 10), (1, 10))])
def test_pod_that_went_first_is_the_cause_and_within_a_second_the_one_that_was_killed(
    origin: tuple[int, int], follower: tuple[int, int]
) -> None:
    """Each pod: exit code, and seconds since it ended."""
    pods = [
        p.pod(
            Role.LEARNER, name, job=JOB.meta.name, phase="Failed",
            containers=(ContainerRecord("learner", exit_code=code, finished_at=p.ago(seconds)),),
        )
        for name, (code, seconds) in (("a-follower", follower), ("the-origin", origin))
    ]  # fmt: skip
    logs = {(pod.meta.uid, "learner", 0): "" for pod in pods}
    step = learner(p.seen(pods=pods, jobs=[JOB], logs=logs), p.NOW)
    assert "pod the-origin ended" in p.wanted(step, READY)[2]


def test_pod_on_a_silent_node_that_holds_the_next_group_up_is_named() -> None:
    run = p.run_record(p.holding(learner_attempt=1))
    for late, reason in ((10, Reason.STARTING), (LEAVING_SECONDS + 1, Reason.WAITING)):
        silent = p.learner_pod(0, deleting=True, grace_seconds=5, leaves_at=p.ago(late), node="node-7")
        step = learner(p.seen(run, pods=[silent]), p.NOW)
        assert not p.actions_of(step, Create)
        assert p.wanted(step, READY)[1] == reason
    assert "kubectl delete node node-7" in p.wanted(step, READY)[2]
