"""Suspending gives every pod back: at once, or when the rollout in work is done. Storage makes both safe."""

from datetime import datetime

from spade_contracts.resources import Phase, Reason, RunCondition, Suspend
from spade_contracts.statuses import LearnerState
from spade_operator.children.names import learner_job_name
from spade_operator.reconcile.last_words import RUN_PARTS, resumed, told
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import Stage, begun, position
from spade_operator.reconcile.release import releases, remaining
from spade_operator.reconcile.steps import Step, Wanted, is_false, is_true


def at_boundary(seen: Observed) -> bool:
    """Whether no work of the rollout in work has begun, and no checkpoint is being written."""
    place = position(seen)
    learner = seen.learner()
    writing = learner is not None and learner[1].state is LearnerState.EXPORTING
    return place.stage in (Stage.DESIGN, Stage.PLAY) and not begun(seen, place) and not writing


def suspended_now(seen: Observed) -> bool:
    """Whether the run must hold no pod now."""
    wanted = seen.spec.suspend
    return wanted is Suspend.NOW or (wanted is Suspend.AT_BOUNDARY and at_boundary(seen))


def suspend(seen: Observed, now: datetime) -> Step:
    """Free every pod while the run is suspended; on resume the later policies make what is missing."""
    if seen.spec.suspend is Suspend.NEVER:
        return Step(conditions=(is_false(RunCondition.SUSPENDED, Reason.RUNNING), *resumed(seen, RUN_PARTS)))
    if not suspended_now(seen):
        waiting = "The run gives its pods back after the rollout in work."
        return Step(conditions=(is_false(RunCondition.SUSPENDED, Reason.SUSPENDING, waiting),))
    left = remaining(seen.pods)
    if left:
        condition = is_false(RunCondition.SUSPENDED, Reason.SUSPENDING, "Pods are being given back.")
    else:
        condition = is_true(RunCondition.SUSPENDED, Reason.SUSPENDED_BY_USER, "Set spec.suspend: Never to go on.")
    return pods_back(seen, condition, Reason.SUSPENDED_BY_USER, "The run is suspended", "suspended")


def pods_back(seen: Observed, suspended: Wanted, reason: Reason, why: str, doing: str) -> Step:
    """Give every pod back, and say nothing of them any more but the reason and why."""
    trained = f"{seen.status.rollout} of {seen.spec.rollouts} rollouts are trained."
    accepted = seen.condition(RunCondition.ACCEPTED)
    unprepared = accepted is not None and accepted.reason in (Reason.PREPARING, Reason.KUEUE_MISSING)
    had_learner = learner_job_name(seen.run.meta.name, seen.status.learner_attempt) in seen.jobs
    idle = (*told(seen, RUN_PARTS), RunCondition.PROGRESSING, *((RunCondition.ACCEPTED,) if unprepared else ()))
    return Step(
        actions=releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values()), keep_worker_jobs=True),
        conditions=(
            suspended,
            *(is_false(kind, reason, f"{why}; its pods are given back.") for kind in idle),
            is_false(RunCondition.COMPLETE, reason, f"{why}; {trained}"),
            is_false(RunCondition.FAILED, reason),
        ),
        status={
            "admitted": {},
            "engine_restarts_seen": {},
            "quiet_since": None,
            "stage_started": {},
            # A Job of the old name may take a while to go; the next group must not wait for it.
            "learner_attempt": seen.status.learner_attempt + (1 if had_learner else 0),
        },
        phase=Phase.SUSPENDED,
        doing=doing,
        blocks=True,
    )
