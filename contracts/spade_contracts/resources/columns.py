"""What `kubectl get` shows of a kind."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One printer column."""

    name: str
    json_path: str
    type: str = "string"
    description: str = ""
    wide: bool = False
    """Shown only with `-o wide`."""


AGE = Column("Age", ".metadata.creationTimestamp", "date", "Since the object was made")


def condition_path(condition: str) -> str:
    """JSON path of a condition's status."""
    return f'.status.conditions[?(@.type=="{condition}")].status'
