"""What the API server refuses to make stands in a condition, in its own words; the pass is repeated with back-off.

An invalid object (400, 422) is a fault of the spec. A forbidden one (quota, rights, admission) may be allowed later.
"""

from datetime import datetime

from spade_contracts.resources import (
    ConditionStatus,
    EnvBatchStatus,
    Phase,
    Reason,
    RolloutCondition,
    RolloutJobStatus,
    RunCondition,
    SpadeRunStatus,
)
from spade_operator.kube import Refused
from spade_operator.reconcile.conditions import Mark, with_conditions
from spade_operator.reconcile.forbidden import explained, forbidden_reason
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.status import joined
from spade_operator.reconcile.steps import Step, is_false
from spade_operator.records import BatchRecord, RolloutRecord

INVALID_CODES = (400, 422)
IMMUTABLE = "field is immutable"
NAMESAKE = "An object of somebody else has this name already: rename or remove it, and the work goes on by itself."
CORRECT = (
    "Correct in the spec what it names: pod settings while the run is suspended (spec.suspend: Now) or has failed; what"
    " can never change wants a new run."
)


def _told(error: Refused, namespace: str) -> tuple[Reason, str]:
    if error.code in INVALID_CODES:
        remedy = NAMESAKE if IMMUTABLE in error.reason.lower() else CORRECT
        return Reason.INVALID_SPEC, f"{str(error).rstrip('. ')}. {remedy}"
    return forbidden_reason(error.reason), explained(str(error), namespace)


def run_refused(seen: Observed, error: Refused, now: datetime) -> SpadeRunStatus:
    """The status of a run one of whose children was refused."""
    kind = RunCondition.PROGRESSING if seen.holds(RunCondition.ACCEPTED) else RunCondition.ACCEPTED
    reason, message = _told(error, seen.run.meta.namespace)
    over = any(seen.holds(end) for end in (RunCondition.COMPLETE, RunCondition.FAILED, RunCondition.SUSPENDED))
    phase = Phase.PENDING if kind is RunCondition.ACCEPTED else Phase.STARTING
    step = Step(
        conditions=(is_false(kind, reason, message),),
        phase=None if over else phase,
        doing=f"held up by what the API server refuses ({reason})",
    )
    return joined(seen.status, [step], seen.run.meta.generation, now)


def unit_refused(
    record: BatchRecord | RolloutRecord, error: Refused, now: datetime
) -> EnvBatchStatus | RolloutJobStatus:
    """The status of an EnvBatch or RolloutJob whose Job was refused: failed if it is invalid, else waiting."""
    mark: dict[str, Mark] = {RolloutCondition.COMPLETE: (ConditionStatus.FALSE, *_told(error, record.meta.namespace))}
    if error.code in INVALID_CODES:
        mark = {
            RolloutCondition.COMPLETE: (ConditionStatus.FALSE, Reason.INVALID_SPEC, "The Job was refused."),
            RolloutCondition.FAILED: (ConditionStatus.TRUE, *_told(error, record.meta.namespace)),
        }
    if isinstance(record, BatchRecord):
        return with_conditions(record.status, mark, record.meta.generation, now)
    return with_conditions(record.status, mark, record.meta.generation, now)
