"""Giving a run's pods back: its Deployments and Jobs go, and its pods with a short grace. Storage stays."""

from spade_contracts.labels import Role
from spade_operator.reconcile.steps import Action, Remove
from spade_operator.records import Kind, PodRecord, Record

GRACE_SECONDS = 5
COMPUTE = (Kind.DEPLOYMENT, Kind.JOB, Kind.POD)


def removals(leftovers: tuple[Record, ...]) -> tuple[Action, ...]:
    """Deletes for everything that a deleted run left behind, so that its namesake starts on clean ground."""
    others = (record for record in leftovers if record.meta.kind not in COMPUTE and not record.meta.deleting)
    return (*releases(leftovers), *(Remove(record) for record in others))


def releases(records: tuple[Record, ...], *, keep_worker_jobs: bool = False) -> tuple[Action, ...]:
    """Deletes for all compute among the records that is not going already.

    A pod that goes with a longer grace than ours is told to hurry. `keep_worker_jobs`: EnvBatches and RolloutJobs
    end their own Jobs, so that the next attempt gets another number.
    """
    actions: list[Action] = []
    for record in sorted(records, key=lambda r: COMPUTE.index(r.meta.kind) if r.meta.kind in COMPUTE else 9):
        meta = record.meta
        if meta.kind is Kind.JOB and meta.role is Role.WORKER and keep_worker_jobs:
            continue
        if meta.kind in (Kind.DEPLOYMENT, Kind.JOB) and not meta.deleting:
            actions.append(Remove(record))
        if isinstance(record, PodRecord) and (not meta.deleting or (meta.grace_seconds or 0) > GRACE_SECONDS):
            actions.append(Remove(record, GRACE_SECONDS))
    return tuple(actions)


def remaining(records: tuple[Record, ...]) -> int:
    """Pods that are still there."""
    return sum(1 for record in records if record.meta.kind is Kind.POD)
