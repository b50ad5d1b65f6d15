"""Which change of a condition is worth an Event, and what the Event says. It follows from the status before and after.

Events tell transitions, never progress: what every rollout does anyway is in status and metrics, and costs no write.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from spade_contracts.resources import BatchCondition, Condition, ConditionStatus, Reason, RunCondition
from spade_operator.reconcile.conditions import AT_REST, ON_THE_WAY
from spade_operator.records import BatchRecord, Kind, Meta, RolloutRecord, RunRecord

MAX_NOTE_BYTES = 1024
"""What the API server takes."""
MAX_PER_PASS = 8
DRIFT_REPAIRED = "DriftRepaired"
"""Reason and action of the Event for a child that somebody else changed or deleted."""

PARTS = frozenset({
    RunCondition.ACCEPTED, RunCondition.ISOLATED, RunCondition.SANDBOXES_READY, RunCondition.ENGINES_READY,
    RunCondition.LEARNER_READY,
})  # fmt: skip
"""What work needs: each loss and each return is told."""

REFUSALS = frozenset({Reason.QUOTA_EXCEEDED, Reason.REFUSED})
"""What keeps a Job of an EnvBatch from being made; of other conditions these are told as any trouble."""


class EventType(StrEnum):
    """Types that Kubernetes knows."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class Regarding:
    """The object that an Event is about."""

    kind: Kind
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True)
class News:
    """One Event to be posted."""

    regarding: Regarding
    type: EventType
    action: str
    """Type of the condition."""
    reason: str
    note: str
    version: str
    """Resource version of the object that it was read from: later news have a higher one."""
    order: int = 0
    """Among news of one version."""


def event_type(kind: str, status: ConditionStatus, reason: str, *, lost: bool = False) -> EventType | None:
    """How a condition that came to this is told; None: not at all. `lost`: it was True before."""
    holds = status is ConditionStatus.TRUE
    refused = kind == RunCondition.COMPLETE and not holds and reason in REFUSALS
    if refused or (kind == RunCondition.FAILED and holds):
        return EventType.WARNING
    if kind in (RunCondition.FAILED, RunCondition.COMPLETE, RunCondition.SUSPENDED):
        return EventType.NORMAL if holds or lost else None
    if kind == RunCondition.SCALING_LIMITED:
        return EventType.WARNING if holds else EventType.NORMAL if lost and reason not in AT_REST else None
    if kind == RunCondition.WEIGHTS_VERIFIED:
        return EventType.WARNING if reason == Reason.MISMATCH else None
    if holds:
        return EventType.NORMAL if kind in PARTS else None
    return EventType.WARNING if _is_trouble(kind, reason, lost=lost) else None


def _is_trouble(kind: str, reason: str, *, lost: bool) -> bool:
    """Whether a condition that does not hold tells of a fault, or of a part that was there and is not."""
    if kind in PARTS:
        return reason not in AT_REST and (lost or reason not in ON_THE_WAY)
    return kind in (RunCondition.PROGRESSING, BatchCondition.VERIFIED) and reason not in AT_REST | ON_THE_WAY


def news(
    record: RunRecord | BatchRecord | RolloutRecord, after: Sequence[Condition], written: Meta
) -> tuple[News, ...]:
    """What is to be told of a status that was written over the record's; `written` is the object's answer.

    A change of the message alone is none. An object that came to its end tells that and nothing else. Of what a run
    makes for itself only failures are told: its ends are the run's progress.
    """
    before = {condition.type: condition for condition in record.status.conditions}
    told: list[News] = []
    for condition in after:
        known = before.get(condition.type)
        if known is not None and (known.status, known.reason) == (condition.status, condition.reason):
            continue
        lost = known is not None and known.status is ConditionStatus.TRUE
        kind = event_type(condition.type, condition.status, condition.reason, lost=lost)
        if kind is not None:
            note = condition.message or f"{condition.type} is {condition.status}."
            told.append(_news(written, kind, condition.type, condition.reason, note))
    ends = {c.type for c in after if c.status is ConditionStatus.TRUE} & {RunCondition.COMPLETE, RunCondition.FAILED}
    if ends:
        told = [one for one in told if one.action in ends]
    if isinstance(record, RolloutRecord) or (isinstance(record, BatchRecord) and not record.alone):
        told = [one for one in told if one.action == RunCondition.FAILED]
    return tuple(replace(one, order=order) for order, one in enumerate(told[:MAX_PER_PASS]))


def _news(meta: Meta, kind: EventType, action: str, reason: str, note: str) -> News:
    about = Regarding(meta.kind, meta.namespace, meta.name, meta.uid)
    return News(about, kind, action, reason, cut(note), meta.resource_version)


def cut(note: str) -> str:
    """The note as far as the API server takes it."""
    return note.encode()[:MAX_NOTE_BYTES].decode(errors="ignore")
