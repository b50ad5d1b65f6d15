"""The designer's reward for one environment (method.md §5.4, variant `blend`)."""

from spade_contracts.config import RewardsConfig
from spade_contracts.config.switches import EnvironmentFaultCredit
from spade_trainer.rewards.plateau import plateau
from spade_trainer.rewards.regret import hint_regret
from spade_trainer.rewards.window import Window

FAULT_REWARD = -0.5
"""Reward of a program that failed in play: what the reference's regret variant pays for a step timeout (§5.4, V12)."""


def blend(win_rate: float, regret: float | None, settings: RewardsConfig) -> float:
    """Weighted plateau of the win rate plus weighted regret; the regret is full at `regret_scale` and never below 0.

    regret: hinted minus unhinted mean return; None: no hint, which earns nothing. Vector V10.
    """
    normalised = 0.0 if regret is None else max(0.0, min(1.0, regret / settings.regret_scale))
    return settings.regret_weight * normalised + settings.plateau_weight * plateau(win_rate, settings.plateau)


def reward_of(window: Window, settings: RewardsConfig, credit: EnvironmentFaultCredit) -> float | None:
    """The reward of an environment after its window, or None if nothing can be said of it.

    Where the designer pays for faults (Corrected, D11 and D16), a program that failed in any play earns FAULT_REWARD
    in place of the blend, and one whose plays were all lost to infrastructure earns None: it is not trained. Where the
    player pays (Paper), faults are not seen here, and missing plays or hints count as returns of 0 (V10 g5, g7).
    """
    if credit is EnvironmentFaultCredit.PLAYER:
        return blend(window.win_rate, hint_regret(window, without_hint=0.0), settings)
    if window.environment_faults:
        return FAULT_REWARD
    if not window.plays:
        return None
    return blend(window.win_rate, hint_regret(window), settings)
