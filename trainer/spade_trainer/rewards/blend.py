"""The designer's reward by the variants Blend and SolveRate (method.md §5.4)."""

from spade_contracts.config import RewardsConfig
from spade_trainer.rewards.frontier import frontier
from spade_trainer.rewards.plateau import plateau


def blend(win_rate: float, regret: float | None, settings: RewardsConfig, micro_lp: float = 0.0) -> float:
    """Weighted sum of regret, micro learning potential, plateau and, taken off, frontier; each by its scale.

    regret: hinted minus unhinted mean return; None: not known, which earns nothing. Vector V10.
    """
    return (
        settings.regret_weight * normalised_regret(regret, settings)
        + settings.micro_lp.weight * micro_lp / settings.micro_lp.scale
        + settings.plateau_weight * plateau(win_rate, settings.plateau)
        - settings.frontier.weight * frontier(win_rate) / settings.frontier.scale
    )


def normalised_regret(regret: float | None, settings: RewardsConfig) -> float:
    """The regret in units of the full one; with the floor between 0 and 1. None is 0."""
    if regret is None:
        return 0.0
    units = regret / settings.regret_scale
    return max(0.0, min(1.0, units)) if settings.regret_floor else units


def solve_rate(win_rate: float, settings: RewardsConfig, micro_lp: float = 0.0) -> float:
    """The blend that pays for the plateau alone and not for the regret (method.md §5.4, §10)."""
    return blend(
        win_rate, None, settings.model_copy(update={"plateau_weight": 1.0, "regret_weight": 0.0}), micro_lp=micro_lp
    )
