"""How far apart the returns of an environment are (method.md §5.4)."""

import math
from collections.abc import Sequence

from spade_trainer.rewards.window import mean

BEST_VARIANCE = 0.25
"""That of an even chance to win."""
WIDTH = 0.02


def variance_bonus(returns: Sequence[float]) -> float:
    """1 where the population variance of at least one return is 0.25, falling as a bell to both sides. Vector V5."""
    centre = mean(returns)
    variance = sum((value - centre) ** 2 for value in returns) / len(returns)
    return math.exp(-((variance - BEST_VARIANCE) ** 2) / WIDTH)
