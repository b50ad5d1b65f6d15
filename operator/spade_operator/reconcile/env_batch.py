"""An EnvBatch: its design Job, and what the designers' summary says of the cycle."""

from datetime import datetime

from spade_contracts.resources import BatchCondition, ConditionStatus, EnvBatchStatus, Reason
from spade_contracts.statuses import DesignSummary
from spade_operator.children.design import design_job
from spade_operator.children.names import design_job_name
from spade_operator.children.owner import Parent
from spade_operator.reconcile.canaries import unsound_gate
from spade_operator.reconcile.conditions import Mark, with_conditions
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import condition_true
from spade_operator.reconcile.spending import cost_text
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
from spade_operator.records import BatchRecord

BEFORE_THE_END = (BatchCondition.GENERATED, BatchCondition.VERIFIED, BatchCondition.COMPLETE)
NOTHING = "The batch came to nothing; the condition Failed says why."


AGAIN = (
    "A retry would meet them again: make a SpadeRun of another name with a model that writes such programs, or with "
    "another seed, more designer attempts or more tokens."
)
ANEW = "Raise spec.retry to have the cycle designed anew, with other documents and draws."


def finished(status: EnvBatchStatus) -> bool:
    """Whether nothing is left to do."""
    return any(condition_true(status.conditions, kind) for kind in (BatchCondition.COMPLETE, BatchCondition.FAILED))


def decide_batch(
    seen: Observed, batch: BatchRecord, now: datetime
) -> tuple[tuple[Action, ...], EnvBatchStatus, float | None]:
    """Actions, status and latest wake of one pass over an EnvBatch."""
    if finished(batch.status) or batch.meta.deleting:
        return (), batch.status, None
    parent = Parent("EnvBatch", batch.meta.name, batch.meta.uid)
    unit = Unit(
        owner_uid=batch.meta.uid,
        attempt=attempt_number(batch.status.job_attempt, seen.status.handled_retry),
        paused=paused(seen),
        may_start=may_start(seen),
        job_name=lambda attempt: design_job_name(batch.meta.name, attempt),
        job_manifests=lambda attempt: design_job(seen.parent, parent, batch.spec, seen.site, attempt),
        summary=DesignSummary,
    )
    progress = advance(seen, unit, now)
    return progress.actions, _status(batch, progress, now), progress.wake_after_seconds


def _status(batch: BatchRecord, progress: Progress[DesignSummary], now: datetime) -> EnvBatchStatus:
    before = batch.status
    if progress.result is not None and progress.pod is not None:
        return _result(batch, progress.result, *work_times(progress.pod), now)
    if progress.failure:
        failed: dict[BatchCondition, Mark] = dict.fromkeys(
            BEFORE_THE_END, (ConditionStatus.FALSE, Reason.JOB_FAILED, NOTHING)
        )
        failed[BatchCondition.FAILED] = (ConditionStatus.TRUE, Reason.JOB_FAILED, progress.failure)
        return with_conditions(before, failed, batch.meta.generation, now)
    return not_ended(before, progress, batch.meta.generation, now)


def _result(
    batch: BatchRecord, summary: DesignSummary, began: str | None, ended: str | None, now: datetime
) -> EnvBatchStatus:
    filled = batch.status.model_copy(
        update={
            "requested": summary.requested,
            "attempts": summary.attempts,
            "accepted": summary.accepted,
            "rejected": dict(summary.rejected),
            "without_solution": summary.without_solution,
            "canaries": dict(summary.canaries),
            "kept": summary.kept,
            "kept_from": summary.kept_from,
            "valid_per_attempt": f"{summary.accepted / summary.attempts:.3f}" if summary.attempts else None,
            "seconds": f"{summary.seconds:.1f}",
            "tokens": summary.tokens,
            "endpoint_requests": summary.endpoint_requests or None,
            "endpoint_cost": cost_text(summary.endpoint_cost) if summary.endpoint_requests else None,
            "storage_uri": summary.storage_uri,
            "started_at": began,
            "finished_at": ended,
        }
    )
    unsound = unsound_gate(summary.canaries, summary.let_through, summary.storage_uri)
    if unsound is not None:
        nothing: Mark = (ConditionStatus.FALSE, Reason.GATE_FALSE_ACCEPT, NOTHING)
        unsound |= {BatchCondition.GENERATED: nothing, BatchCondition.COMPLETE: nothing}
        return with_conditions(filled, unsound, batch.meta.generation, now)
    words = f"{summary.accepted} of {summary.requested} slots have an accepted program."
    marks = {
        BatchCondition.GENERATED: (ConditionStatus.TRUE, Reason.FINISHED, f"{summary.attempts} answers were judged."),
        BatchCondition.VERIFIED: (ConditionStatus.TRUE, Reason.FINISHED, words),
    }
    if summary.accepted or batch.spec.rollout is not None:
        # What a top-up fails to add is simply not played.
        marks[BatchCondition.COMPLETE] = (ConditionStatus.TRUE, Reason.FINISHED, words)
        marks[BatchCondition.FAILED] = (ConditionStatus.FALSE, Reason.FINISHED, words)
    elif summary.kept:
        text = (
            f"No program was accepted in {summary.attempts} attempts; {summary.kept} environments of cycle "
            f"{summary.kept_from} are played again. Nothing of this cycle's designer is trained."
        )
        marks[BatchCondition.COMPLETE] = (ConditionStatus.TRUE, Reason.ALL_REJECTED, text)
        marks[BatchCondition.FAILED] = (ConditionStatus.FALSE, Reason.ALL_REJECTED, text)
    else:
        main = max(summary.rejected, key=lambda key: summary.rejected[key], default="none")
        text = (
            f"No program was accepted in {summary.attempts} attempts; most were rejected as {main}. The verdicts are "
            f"in {summary.storage_uri}. {ANEW if summary.retry_designs_anew else AGAIN}"
        )
        marks[BatchCondition.COMPLETE] = (ConditionStatus.FALSE, Reason.ALL_REJECTED, NOTHING)
        marks[BatchCondition.FAILED] = (ConditionStatus.TRUE, Reason.ALL_REJECTED, text)
    return with_conditions(filled, marks, batch.meta.generation, now)
