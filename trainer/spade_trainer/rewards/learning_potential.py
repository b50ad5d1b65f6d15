"""Moving averages of a skill's mean return, and the distance from them (method.md §5.4).

They are no state: a tracker is a fold over the windows of earlier cycles.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from spade_contracts.config.rewards import LearningPotentialConfig


@dataclass(frozen=True)
class Tracker:
    """Both averages of one skill; None before the first window."""

    fast: float | None = None
    slow: float | None = None

    @property
    def baseline(self) -> float:
        """The slow average that returns are measured against; 0 before the first window."""
        return 0.0 if self.slow is None else self.slow


FRESH = Tracker()
"""A tracker before its first window."""


def updated(tracker: Tracker, mean_return: float, settings: LearningPotentialConfig) -> Tracker:
    """The tracker after one window. The first one sets both averages. Vector V9."""
    if tracker.fast is None or tracker.slow is None:
        return Tracker(mean_return, mean_return)
    return Tracker(
        (1 - settings.fast) * tracker.fast + settings.fast * mean_return,
        (1 - settings.slow) * tracker.slow + settings.slow * mean_return,
    )


def tracker_of(mean_returns: Iterable[float], settings: LearningPotentialConfig) -> Tracker:
    """The tracker after these windows, oldest first."""
    tracker = Tracker()
    for value in mean_returns:
        tracker = updated(tracker, value, settings)
    return tracker


def signed_potential(tracker: Tracker, settings: LearningPotentialConfig) -> float:
    """Fast minus slow average, over twice the difference of their weights; 0 before the first window. Vector V9."""
    if tracker.fast is None or tracker.slow is None:
        return 0.0
    return (tracker.fast - tracker.slow) / (2 * (settings.fast - settings.slow))
