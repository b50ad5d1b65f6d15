"""A RolloutJob: its play Job, and what the players' summary says of the rollout."""

from datetime import datetime

from spade_contracts.resources import ConditionStatus, Reason, RolloutCondition, RolloutJobStatus
from spade_contracts.statuses import PlaySummary
from spade_operator.children.names import play_job_name
from spade_operator.children.owner import Parent
from spade_operator.children.play import play_job
from spade_operator.reconcile.conditions import Mark, with_conditions
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import condition_true
from spade_operator.reconcile.steps import Action
from spade_operator.reconcile.work import (
    Progress,
    Unit,
    advance,
    attempt_number,
    may_start,
    not_ended,
    paused,
    work_times,
)
from spade_operator.records import RolloutRecord

NOTHING = "The plays came to nothing; the condition Failed says why."


def finished(status: RolloutJobStatus) -> bool:
    """Whether nothing is left to do."""
    return any(condition_true(status.conditions, kind) for kind in RolloutCondition)


def decide_rollout(
    seen: Observed, rollout: RolloutRecord, now: datetime
) -> tuple[tuple[Action, ...], RolloutJobStatus, float | None]:
    """Actions, status and latest wake of one pass over a RolloutJob."""
    if finished(rollout.status) or rollout.meta.deleting:
        return (), rollout.status, None
    parent = Parent("RolloutJob", rollout.meta.name, rollout.meta.uid)
    unit = Unit(
        owner_uid=rollout.meta.uid,
        attempt=attempt_number(rollout.status.job_attempt, seen.status.handled_retry),
        paused=paused(seen),
        may_start=may_start(seen),
        job_name=lambda attempt: play_job_name(rollout.meta.name, attempt),
        job_manifests=lambda attempt: play_job(seen.parent, parent, rollout.spec, seen.site, attempt),
        summary=PlaySummary,
    )
    progress = advance(seen, unit, now)
    return progress.actions, _status(rollout, progress, now), progress.wake_after_seconds


def _status(rollout: RolloutRecord, progress: Progress[PlaySummary], now: datetime) -> RolloutJobStatus:
    before = rollout.status
    if progress.result is not None and progress.pod is not None:
        return _result(rollout, progress.result, *work_times(progress.pod), now)
    if progress.failure:
        marks: dict[RolloutCondition, Mark] = {
            RolloutCondition.COMPLETE: (ConditionStatus.FALSE, Reason.JOB_FAILED, NOTHING),
            RolloutCondition.FAILED: (ConditionStatus.TRUE, Reason.JOB_FAILED, progress.failure),
        }
        return with_conditions(before, marks, rollout.meta.generation, now)
    return not_ended(before, progress, rollout.meta.generation, now)


def _result(
    rollout: RolloutRecord, summary: PlaySummary, began: str | None, ended: str | None, now: datetime
) -> RolloutJobStatus:
    filled = rollout.status.model_copy(
        update={
            "planned": summary.planned,
            "outcomes": {str(outcome): number for outcome, number in summary.outcomes.items()},
            "hinted": summary.hinted,
            "hinted_outcomes": {str(outcome): number for outcome, number in summary.hinted_outcomes.items()},
            "learnable_fraction": _decimal(summary.learnable_fraction),
            "mean_return": _decimal(summary.mean_return),
            "hint_regret": _decimal(summary.hint_regret),
            "hint_regret_standard_error": _decimal(summary.hint_regret_standard_error),
            "prefix_checks": {str(check): number for check, number in summary.prefix_checks.items()},
            "verifier_failures": dict(summary.verifier_failures),
            "tokens": summary.tokens,
            "seconds": f"{summary.seconds:.1f}",
            "storage_uri": summary.storage_uri,
            "started_at": began,
            "finished_at": ended,
        }
    )
    words = f"{sum(summary.outcomes.values())} of {summary.planned} episodes are accounted for."
    marks = {
        RolloutCondition.COMPLETE: (ConditionStatus.TRUE, Reason.FINISHED, words),
        RolloutCondition.FAILED: (ConditionStatus.FALSE, Reason.FINISHED, words),
    }
    return with_conditions(filled, marks, rollout.meta.generation, now)


def _decimal(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"
