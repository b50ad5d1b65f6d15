"""How far an environment is from an even chance (method.md §5.4)."""

EVEN = 0.5


def frontier(win_rate: float) -> float:
    """Squared distance of the win rate from one half."""
    return (win_rate - EVEN) ** 2
