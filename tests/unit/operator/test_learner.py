"""The learner is one group: a lost pod replaces all, under the next name, and only when the old group is gone."""

from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import LearnerState
from spade_operator.reconcile.learner import learner
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
