"""How many environments can teach (method.md §11, design §9)."""

from collections.abc import Sequence
from dataclasses import dataclass

EASY_ABOVE = 0.8
HARD_BELOW = 0.2


@dataclass(frozen=True)
class Difficulty:
    """Shares of a rollout's environments; they sum to 1."""

    easy: float
    learnable: float
    hard: float


def difficulty(mean_returns: Sequence[float]) -> Difficulty | None:
    """Shares of environments by their mean unhinted return: hard < 0.2 <= learnable <= 0.8 < easy; None without any.

    Source: method.md §11; vector V24.
    """
    if not mean_returns:
        return None
    easy = sum(value > EASY_ABOVE for value in mean_returns) / len(mean_returns)
    hard = sum(value < HARD_BELOW for value in mean_returns) / len(mean_returns)
    learnable = sum(HARD_BELOW <= value <= EASY_ABOVE for value in mean_returns) / len(mean_returns)
    return Difficulty(easy=easy, learnable=learnable, hard=hard)
