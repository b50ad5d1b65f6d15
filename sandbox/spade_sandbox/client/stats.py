"""What a pool counts of itself: demand for autoscaling, figures for metrics."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from spade_contracts.errors import EnvironmentFault, SpadeError
from spade_contracts.protocol import PROGRAM_FAULTS
from spade_sandbox.client.errors import NoCapacity, ProtocolViolation, SandboxLost

OK, LOST, VIOLATION, NO_CAPACITY = "ok", "lost", "violation", "no_capacity"
OUTCOMES = (OK, *sorted(kind.value for kind in PROGRAM_FAULTS), LOST, VIOLATION, NO_CAPACITY)
"""How an operation or a session can end; `no_capacity` is of sessions only."""


@dataclass
class PoolStats:
    """Changing counts of one pool."""

    open: int = 0
    """Sessions that are live now."""
    wanted: int = 0
    """Sessions that wait for a pod now; `open + wanted` is the demand."""
    operations: Counter[str] = field(default_factory=Counter)
    """Operations of sessions (`open` included) by outcome."""
    sessions: Counter[str] = field(default_factory=Counter)
    """Sessions that have ended, by how. One that was cancelled while it waited for a pod is not counted."""
    evictions: Counter[str] = field(default_factory=Counter)
    """Pods given up: `silent` (probes unanswered), `losing` (sessions lost in a row), `violation`."""
    observe_step: Callable[[float], None] = lambda seconds: None
    """Called with the seconds of each answered step."""
    observe_session: Callable[[str], None] = lambda outcome: None
    """Called with the outcome of each session that has ended."""

    def count(self, outcome: str) -> None:
        """Count one operation."""
        self.operations[outcome] += 1

    def count_session(self, error: SpadeError | None) -> None:
        """Count one session by what ended it."""
        outcome = outcome_of(error)
        self.sessions[outcome] += 1
        self.observe_session(outcome)


def outcome_of(error: SpadeError | None) -> str:
    """The word for how an operation or session ended."""
    match error:
        case None:
            return OK
        case EnvironmentFault():
            return error.kind
        case ProtocolViolation():
            return VIOLATION
        case SandboxLost():
            return LOST
        case NoCapacity():
            return NO_CAPACITY
        case _:
            raise TypeError(f"{type(error).__name__} is no end of a session")
