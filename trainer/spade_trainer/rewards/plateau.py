"""How near an environment's win rate is to the wanted band (method.md §5.4)."""

from spade_contracts.config import PlateauConfig


def plateau(win_rate: float, band: PlateauConfig) -> float:
    """1 between low and high, falling linearly to 0 over ramp on both sides. Vectors V1, V2."""
    outside = max(band.low - win_rate, win_rate - band.high, 0.0)
    return max(0.0, 1.0 - outside / band.ramp)
