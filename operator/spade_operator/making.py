"""Pods that have a node and wait for a container that the kubelet has not made.

Only a pod's events say what the kubelet lacks, and the operator may not read those; so it goes by the time.
"""

from collections.abc import Iterable
from datetime import datetime

from spade_operator.records import PodRecord

MAKING_REASONS = frozenset({"ContainerCreating", "PodInitializing"})
MAKING_SECONDS = 30.0
"""How long it may take before people are told."""


def making_seconds(pod: PodRecord, now: datetime) -> float:
    """For how long a pod waits so, by its age; 0 if it does not."""
    made = pod.meta.created_at
    waits = any(c.waiting_reason in MAKING_REASONS and c.restarts == 0 for c in pod.containers)
    return max(0.0, (now - made).total_seconds()) if waits and pod.node and pod.live and made is not None else 0.0


def told_after(pods: Iterable[PodRecord], now: datetime) -> float | None:
    """In how many seconds the first of the pods waits for too long, because no event comes of that; None: none does."""
    left = (MAKING_SECONDS - seconds for pod in pods if 0.0 < (seconds := making_seconds(pod, now)) < MAKING_SECONDS)
    return min(left, default=None)
