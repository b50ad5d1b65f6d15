"""A suspended run holds no pod; at a boundary it is suspended between two rollouts, never in one."""

from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.statuses import LearnerState
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.steps import Remove
from spade_operator.reconcile.suspend import suspend

SUSPENDED = RunCondition.SUSPENDED


def at_work(when: str, version: int = 0, **parts: object) -> Observed:
    status = p.holding(*p.AT_WORK, rollout=version, cycle=version // 2, policy_version=version)
    return p.at_work(version, run=p.run_record(status, suspend=when), **parts)


def test_run_that_is_not_to_be_suspended_is_left_alone() -> None:
    step = suspend(at_work("Never"), p.NOW)
    assert (step.actions, step.blocks, p.wanted(step, SUSPENDED)[0]) == ((), False, "False")


def test_all_pods_go_at_once_and_the_condition_is_true_when_none_is_left() -> None:
    worker = p.pod(Role.WORKER, phase="Succeeded")
    step = suspend(at_work("Now", pods={worker: None}), p.NOW)
    removed = [action.record for action in p.actions_of(step, Remove)]
    assert {record for record in removed if record.meta.kind == "Pod"} == {
        p.SANDBOX,
        p.BEACON,
        p.ENGINE,
        p.LEARNER,
        worker,
    }
    assert p.wanted(step, SUSPENDED)[:2] == ("False", Reason.SUSPENDING)
    assert step.blocks
    empty = p.seen(p.run_record(p.holding(*p.AT_WORK), suspend="Now"))
    assert p.wanted(suspend(empty, p.NOW), SUSPENDED)[:2] == ("True", Reason.SUSPENDED_BY_USER)
    assert suspend(empty, p.NOW).phase is Phase.SUSPENDED


def test_next_learner_has_another_name_so_that_the_old_job_may_take_its_time() -> None:
    assert suspend(at_work("Now"), p.NOW).status["learner_attempt"] == 1
    assert suspend(at_work("Now", jobs=[]), p.NOW).status["learner_attempt"] == 0


def test_worker_jobs_are_ended_by_their_own_units() -> None:
    jobs = [p.job("mini-r0000-play-a0", Role.WORKER), p.job("mini-learner-a0", Role.LEARNER)]
    removed = {a.record.meta.name for a in p.actions_of(suspend(at_work("Now", jobs=jobs), p.NOW), Remove)}
    assert "mini-learner-a0" in removed
    assert "mini-r0000-play-a0" not in removed


def test_boundary_is_between_rollouts() -> None:
    assert suspend(at_work("AtBoundary", 1), p.NOW).blocks
    for begun in ({"batches": [p.batch(0)]}, {"rollouts": [p.plays(0)]}, {"rollouts": [p.plays(0, "Complete")]}):
        step = suspend(at_work("AtBoundary", **begun), p.NOW)
        assert not step.blocks
        assert p.wanted(step, SUSPENDED)[1] == Reason.SUSPENDING


def test_boundary_waits_for_a_checkpoint_that_is_being_written() -> None:
    writing = p.learner_says(1, state=LearnerState.EXPORTING)
    assert not suspend(at_work("AtBoundary", 1, pods={p.LEARNER: writing}), p.NOW).blocks
