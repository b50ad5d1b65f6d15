"""Conditions of Kueue's Workloads, in the words of the Kubernetes API."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from spade_operator.containers import Raw
from spade_operator.reconcile.steps import WorkloadMark

MAX_MESSAGE = 32768


def marked(before: Iterable[Raw], marks: Sequence[WorkloadMark], generation: int, now: datetime) -> list[Raw]:
    """The conditions with these in place; a time moves only with its status."""
    result = {condition["type"]: condition for condition in before}
    for mark in marks:
        status, known = "True" if mark.holds else "False", result.get(mark.type)
        moved = known is None or known["status"] != status
        result[mark.type] = {
            "type": mark.type,
            "status": status,
            "reason": mark.reason,
            "message": mark.message[:MAX_MESSAGE],
            "observedGeneration": generation,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ")
            if moved or known is None
            else known["lastTransitionTime"],
        }
    return list(result.values())
