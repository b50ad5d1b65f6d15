"""What players gain within a window: micro learning potential (method.md §5.4)."""

from collections.abc import Sequence

import numpy as np

from spade_contracts.config.rewards import MicroLpConfig, MicroLpEstimator
from spade_trainer.rewards.window import mean_or_zero

Offsets = Sequence[Sequence[float]]
"""Returns by rollout of the window, oldest first; rollouts without any are left out and leave no gap."""


def micro_lp(offsets: Offsets, settings: MicroLpConfig) -> float:
    """The gain over the window by the setting's estimator, or 0 with fewer than two rollouts.

    Unsigned, a loss is 0. Vector V10 (g3, g4).
    """
    if len(offsets) < 2:
        return 0.0
    gain = slope(offsets) if settings.estimator is MicroLpEstimator.SLOPE else late_minus_early(offsets)
    return gain if settings.signed else max(0.0, gain)


def slope(offsets: Offsets) -> float:
    """Fitted end minus fitted start of a straight line through the mean returns of at least two rollouts.

    Squared errors are weighted by plays; a rollout without any is a mean of 0 with weight 1.
    """
    means = np.array([mean_or_zero(returns) for returns in offsets])
    weights = np.maximum([float(len(returns)) for returns in offsets], 1.0)
    places = np.arange(len(offsets), dtype=np.float64)
    centred = places - np.average(places, weights=weights)
    fitted = (weights * centred * (means - np.average(means, weights=weights))).sum() / (weights * centred**2).sum()
    return float(fitted * (len(offsets) - 1))


def late_minus_early(offsets: Offsets) -> float:
    """Mean return of the late half minus that of the early half, or 0 with fewer than two rollouts.

    Each half is the mean of its plays, and the middle rollout of an odd window is late.
    """
    if len(offsets) < 2:
        return 0.0
    middle = len(offsets) // 2
    early = [value for returns in offsets[:middle] for value in returns]
    late = [value for returns in offsets[middle:] for value in returns]
    return mean_or_zero(late) - mean_or_zero(early)
