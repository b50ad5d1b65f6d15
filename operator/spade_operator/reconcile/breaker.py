"""A pool whose new pods fail to start grows by one trial pod at a time, until that has come up.

Pods that fit on no node are no failing starts: they cost nothing, and a cluster autoscaler goes by them.
"""

from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_operator.reconcile.causes import cause_of, is_counted, trouble
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.records import PodRecord

FAILING_STARTS = 3
"""Pods that fail at once before the pool stops growing."""
REMEMBERED_SECONDS = 600.0
"""For so long a pod that failed as a whole is counted; its Deployment makes others in its place."""


def held_by_starts(seen: AnyPicture, now: datetime) -> str:
    """Why the pool must not grow by more than a trial pod; empty if it may.

    Once begun it lasts until every pod that the Deployment wants has come up, the trial among them.
    """
    before, pool = seen.condition(RunCondition.SCALING_LIMITED), seen.deployments.get(Role.SANDBOX)
    holding = before is not None and before.status == "True" and before.reason == Reason.STARTS_FAIL
    failing = failing_starts(seen, now)
    if len(failing) < FAILING_STARTS and (not holding or pool is None or _admitted(seen) >= pool.replicas):
        return ""
    if before is not None and holding and not failing:
        return before.message
    return f"New sandbox pods do not start, so the pool grows by one at a time until one does. {failing[0]}"


def with_trial(seen: AnyPicture) -> int:
    """Size of a pool with one trial pod; never below the minimum."""
    return max(_admitted(seen) + 1, seen.owner.sandbox.min_pods)


def failing_starts(seen: AnyPicture, now: datetime) -> list[str]:
    """Why pods that never came up do not: a text for each of them."""
    new = [p for p in seen.pods if p.meta.role is Role.SANDBOX and not p.admitted_boot and not p.meta.deleting]
    return [words for pod in new if (words := _why(seen, pod, now))]


def _admitted(seen: AnyPicture) -> int:
    return sum(1 for pod in seen.pods_of(Role.SANDBOX) if pod.admitted_boot)


def _why(seen: AnyPicture, pod: PodRecord, now: datetime) -> str:
    cause, found = cause_of(pod, seen.logs), trouble(pod, now)
    if pod.phase == "Failed":
        made = pod.meta.created_at
        young = made is not None and (now - made).total_seconds() <= REMEMBERED_SECONDS
        return cause.words if cause is not None and young and is_counted(pod) else ""
    if found is not None and found[0] is Reason.UNSCHEDULABLE:
        return ""
    return cause.words if cause is not None else found[1] if found is not None else ""
