"""What a pool counts of itself: demand for autoscaling, figures for metrics."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class PoolStats:
    """Changing counts of one pool."""

    open: int = 0
    """Sessions that are live now."""
    wanted: int = 0
    """Sessions that wait for a pod now; `open + wanted` is the demand."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Operations by outcome: `ok`, a program's fault kind, or `lost`."""
    observe_step: Callable[[float], None] = lambda seconds: None
    """Called with the seconds of each answered step."""

    def count(self, outcome: str) -> None:
        """Count one operation."""
        self.outcomes[outcome] += 1
