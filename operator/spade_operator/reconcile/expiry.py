"""A finished object with `ttlSecondsAfterFinished` is deleted when its time is over; what it came to is in storage."""

from datetime import datetime

from spade_contracts.resources import BatchCondition, ConditionStatus, RunCondition
from spade_operator.reconcile.observe import Observed, ObservedPool
from spade_operator.reconcile.steps import Remove, Step
from spade_operator.records import BatchRecord, RunRecord


def run_expiry(seen: Observed, now: datetime) -> Step:
    """Of a run that is Complete or Failed, and that nobody wants to go on."""
    return _expiry(seen.run, None if goes_on(seen) else seen.spec.ttl_seconds_after_finished, now)


def goes_on(seen: Observed) -> bool:
    """Whether a run that is Complete or Failed is wanted again."""
    spec, status = seen.spec, seen.status
    return (seen.holds(RunCondition.COMPLETE) and spec.rollouts > status.rollout) or (
        seen.holds(RunCondition.FAILED) and spec.retry > status.handled_retry
    )


def ended(seen: Observed) -> bool:
    """Whether a run is Complete or Failed, and nobody wants it to go on."""
    return (seen.holds(RunCondition.COMPLETE) or seen.holds(RunCondition.FAILED)) and not goes_on(seen)


def pool_expiry(seen: ObservedPool, now: datetime) -> Step:
    """The same of a stand-alone EnvBatch."""
    spec = seen.head.spec
    goes_on = seen.holds(BatchCondition.FAILED) and (spec.retry or 0) > seen.head.status.handled_retry
    return _expiry(seen.head, None if goes_on else spec.ttl_seconds_after_finished, now)


def _expiry(record: RunRecord | BatchRecord, seconds: int | None, now: datetime) -> Step:
    ends = [
        condition.last_transition_time
        for condition in record.status.conditions
        if condition.type in (RunCondition.COMPLETE, RunCondition.FAILED) and condition.status is ConditionStatus.TRUE
    ]
    if seconds is None or not ends:
        return Step()
    left = seconds - (now - max(ends)).total_seconds()
    if left > 0:
        return Step(wake_after_seconds=left)
    # Whoever changes the object in the same moment, to have it go on, comes first.
    return Step((Remove(record, unchanged=True),), blocks=True)
