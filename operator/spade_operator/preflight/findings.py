"""What a check found: how much it weighs, what is the matter, and how to mend it.

A problem keeps the run from working whatever comes later, so it is not accepted meanwhile. A shortage may pass by
itself, because clusters grow and other work ends: it is a warning. What could not be looked at is said, and stops
nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from spade_contracts.labels import Role
from spade_contracts.resources import Reason

GIB, MIB = Decimal(2**30), Decimal(2**20)
IN_BYTES = ("memory", "storage", "hugepages-")
FIELDS = {Role.SANDBOX: "sandbox", Role.ENGINE: "engine", Role.LEARNER: "learner"}


class Level(StrEnum):
    """How much a finding weighs."""

    FINE = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    level: Level
    about: str
    """What was looked at, in a word or two."""
    message: str
    remedy: str = ""
    reason: Reason | None = None
    """Of the condition Accepted; problems have one."""

    @property
    def words(self) -> str:
        """What is the matter, and what to do."""
        return f"{self.message} {self.remedy}".rstrip()


def pod_field(role: Role) -> str:
    """Where the settings of a role's pods stand in a run's spec."""
    return f"spec.{FIELDS.get(role, 'workers')}.pod"


def shown(name: str, amount: Decimal) -> str:
    """An amount as people write it: 1.5Gi, 400m, 8."""
    if any(word in name for word in IN_BYTES):
        unit, suffix = (GIB, "Gi") if amount >= GIB else (MIB, "Mi")
        return f"{float(amount / unit):.3g}{suffix}" if amount < 1000 * unit else f"{int(amount / unit)}{suffix}"
    return f"{int(amount)}" if amount == int(amount) else f"{int(amount * 1000)}m"


def joined(words: Iterable[str], most: int = 4) -> str:
    """Some of the words, and how many more there are."""
    found = list(words)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
