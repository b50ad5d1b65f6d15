"""What is said of an object for which nothing may be done: one condition, and nothing else is written.

A whole status could lose fields that only one of two editions knows, or that cannot be read.
"""

from datetime import datetime

from spade_contracts.resources import BatchCondition, Condition, ConditionStatus, Reason, RunCondition
from spade_operator.keys import is_finished
from spade_operator.reconcile.conditions import set_conditions
from spade_operator.records import BatchRecord, RolloutRecord, RunRecord

AnyRecord = RunRecord | BatchRecord | RolloutRecord


def held(record: AnyRecord, difference: str, now: datetime) -> Condition | None:
    """That the API server's definitions are of another edition than the operator. None when the condition stands
    already, or when the object has ended and waits for nothing.
    """
    if is_finished(record):
        return None
    return _told(record, Reason.EDITION_DIFFERS, difference, now)


def unread(record: AnyRecord, now: datetime) -> Condition | None:
    """That the status cannot be read. None when the condition stands already."""
    meta = record.meta
    words = (
        f"{record.unreadable}. Nothing is done until this is corrected, because the status says where the work stands: "
        f"kubectl -n {meta.namespace} edit {str(meta.kind).lower()} {meta.name} --subresource=status"
    )
    return _told(record, Reason.STATUS_UNREADABLE, words, now)


def without_run(record: BatchRecord | RolloutRecord, *, there: bool, now: datetime) -> Condition | None:
    """That no run works on an object that names one; `there`: a run of that name is. None when the condition stands
    already.
    """
    run = f"SpadeRun {record.meta.namespace}/{record.spec.run}"
    found = f"{run} did not make this object" if there else f"there is no {run}"
    words = (
        f"{found[0].upper()}{found[1:]}, so nothing is done for it: the operator makes every {record.meta.kind} of a "
        f"run itself. Delete this one"
    )
    if isinstance(record, BatchRecord):
        words += "; to have existing programs verified, make one with spec.source and without spec.run"
    return _told(record, Reason.RUN_NOT_FOUND, f"{words}.", now)


def _told(record: AnyRecord, reason: Reason, words: str, now: datetime) -> Condition | None:
    kind = RunCondition.PROGRESSING if isinstance(record, RunRecord) else BatchCondition.COMPLETE
    before = record.status.conditions
    mark = (ConditionStatus.FALSE, reason, words)
    wanted = set_conditions(before, {kind: mark}, record.meta.generation, now)[kind]
    return None if wanted in before else wanted
