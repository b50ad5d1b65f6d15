"""Demand for sandboxes: what the workers of a family have open or wait for, never what a sandbox says of itself."""

from collections.abc import Callable, Iterable

from spade_contracts.labels import Role
from spade_contracts.statuses import WorkerStatus
from spade_operator.facts import Poll
from spade_operator.records import PodRecord, Record

SILENT_AFTER_FAILURES = 5
"""Polls in a row that must fail before a pod's last answer counts no longer."""


def demand(family: Iterable[Record], poll_of: Callable[[str], Poll | None]) -> int:
    """Sessions that the live workers hold or wait for, by their latest answers."""
    workers = (r for r in family if isinstance(r, PodRecord) and r.meta.role is Role.WORKER and r.live)
    polls = (poll_of(worker.meta.uid) for worker in workers)
    answers = (poll.status for poll in polls if poll is not None and poll.failures < SILENT_AFTER_FAILURES)
    return sum(a.sessions_open + a.sessions_wanted for a in answers if isinstance(a, WorkerStatus))
