"""What the designer of each environment of a cycle earns, by any variant (method.md §5.4)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from spade_contracts.config import RewardsConfig
from spade_contracts.config.rewards import NegativeBlends, RewardVariant
from spade_contracts.config.switches import EnvironmentFaultCredit, MissingReturns, StepTimeouts, Switches
from spade_trainer.rewards.blend import blend, solve_rate
from spade_trainer.rewards.frontier import frontier
from spade_trainer.rewards.learning_potential import FRESH, Tracker, tracker_of
from spade_trainer.rewards.micro_lp import late_minus_early, micro_lp
from spade_trainer.rewards.plateau import plateau
from spade_trainer.rewards.regret import Regret, regret_of, window_regret
from spade_trainer.rewards.variance import variance_bonus
from spade_trainer.rewards.window import Window, mean

MASKABLE = frozenset({RewardVariant.BLEND, RewardVariant.SOLVE_RATE})
"""Variants whose negative rewards may be masked; the others are never negative."""


class Cause(StrEnum):
    """Why a reward is what it is."""

    VARIANT = "Variant"
    """The variant's formula."""
    STEP_TIMEOUT = "StepTimeout"
    """The program exceeded its time in play."""
    FAULT = "Fault"
    """The program failed in play in another way."""
    NO_PLAYS = "NoPlays"
    """No play of it counts, so nothing is known."""


@dataclass(frozen=True)
class Signals:
    """All that is measured of one environment; a variant pays for some of it."""

    win_rate: float
    win_fraction: float
    plateau: float
    regret: Regret | None
    """What the blend pays for (switch regretEstimator); None if it is not known."""
    window_regret: float | None
    """What the variant Regret pays for, before its floor; None if it is not known."""
    micro_lp: float
    """By the setting's estimator, for the blend."""
    late_minus_early: float
    """What the variant MicroLp pays for, before its floor."""
    frontier: float
    learning_potential: float
    """Distance of the mean return from the slow average of the skill; 0 without plays."""
    variance_bonus: float
    """0 with fewer than two plays."""


@dataclass(frozen=True)
class Reward:
    """What the designer of one environment earns."""

    value: float | None
    """Before centring; None: nothing is known of the environment."""
    cause: Cause
    masked: bool
    """Negative by the blend's formula, and not trained for that."""
    signals: Signals

    @property
    def trained(self) -> bool:
        """Whether the designer's sample is trained."""
        return self.value is not None and not self.masked


def signals_of(window: Window, settings: RewardsConfig, switches: Switches, tracker: Tracker) -> Signals:
    """Everything that any variant pays for. tracker: of the environment's skill, this window included."""
    returns = window.returns
    return Signals(
        win_rate=window.win_rate,
        win_fraction=window.win_fraction,
        plateau=plateau(window.win_rate, settings.plateau),
        regret=regret_of(window, switches),
        window_regret=window_regret(window, switches),
        micro_lp=micro_lp(window.unhinted, settings.micro_lp),
        late_minus_early=late_minus_early(window.unhinted),
        frontier=frontier(window.win_rate),
        learning_potential=abs(mean(returns) - tracker.baseline) if returns else 0.0,
        variance_bonus=variance_bonus(returns) if len(returns) > 1 else 0.0,
    )


def blend_of(signals: Signals, settings: RewardsConfig) -> float:
    """What the variant Blend pays, whatever the settings' variant is."""
    regret = None if signals.regret is None else signals.regret.value
    return blend(signals.win_rate, regret, settings, micro_lp=signals.micro_lp)


def _learning_potential(signals: Signals, settings: RewardsConfig) -> float:
    bonus = signals.variance_bonus if settings.learning_potential.variance_bonus else 0.0
    return signals.learning_potential + bonus


VARIANTS: Mapping[RewardVariant, Callable[[Signals, RewardsConfig], float]] = {
    RewardVariant.BLEND: blend_of,
    RewardVariant.REGRET: lambda signals, _: max(0.0, signals.window_regret or 0.0),
    RewardVariant.LEARNING_POTENTIAL: _learning_potential,
    RewardVariant.MICRO_LP: lambda signals, _: max(0.0, signals.late_minus_early),
    RewardVariant.SOLVE_RATE: lambda signals, settings: solve_rate(signals.win_rate, settings, signals.micro_lp),
}


def reward_of(window: Window, settings: RewardsConfig, switches: Switches, tracker: Tracker = FRESH) -> Reward:
    """What the designer of an environment earns after its window.

    A program that failed in play costs the fault penalty in place of the variant's reward, where the switches say so:
    for its timeouts stepTimeouts (D11), for other faults environmentFaultCredit (D16). A penalty is never masked. An
    environment without plays earns None, or is scored as returns of 0 (switch missingReturns). Vectors V10, V12, V13.
    """
    signals = signals_of(window, settings, switches, tracker)
    cause = _cause(window, settings, switches)
    if cause is Cause.NO_PLAYS:
        return Reward(None, cause, False, signals)
    if cause is not Cause.VARIANT:
        return Reward(-settings.fault_penalty, cause, False, signals)
    value = VARIANTS[settings.variant](signals, settings)
    maskable = settings.variant in MASKABLE and settings.negative_blends is NegativeBlends.MASKED
    return Reward(value, cause, maskable and value < 0, signals)


def rewards_of(
    environments: Sequence[tuple[str, Window]],
    settings: RewardsConfig,
    switches: Switches,
    trackers: Mapping[str, Tracker],
) -> tuple[Reward, ...]:
    """The rewards of the environments of one cycle, in their order.

    environments: (skill, window). trackers: of each skill (`trackers_of`); only the variant LearningPotential looks at
    them, and a skill without one begins fresh.
    """
    return tuple(reward_of(window, settings, switches, trackers.get(skill, FRESH)) for skill, window in environments)


def trackers_of(
    environments: Sequence[tuple[str, Window]],
    settings: RewardsConfig,
    history: Mapping[str, Sequence[float]],
    *,
    with_present: bool = True,
) -> dict[str, Tracker]:
    """The tracker of each skill after the windows of its history and, before they are measured against it, these.

    history: mean return of each skill over the earlier windows, oldest first. with_present: whether these windows are
    taken in, as every run does. Vector V13.
    """
    present = skill_means(environments) if with_present else {}
    skills = [*history, *(skill for skill, _ in environments)]
    seen = {skill: [*history.get(skill, ()), *([present[skill]] if skill in present else [])] for skill in skills}
    return {skill: tracker_of(values, settings.learning_potential) for skill, values in seen.items()}


def skill_means(environments: Iterable[tuple[str, Window]]) -> dict[str, float]:
    """Mean of all returns of each skill that has any."""
    returns: dict[str, list[float]] = {}
    for skill, window in environments:
        returns.setdefault(skill, []).extend(window.returns)
    return {skill: mean(values) for skill, values in returns.items() if values}


def _cause(window: Window, settings: RewardsConfig, switches: Switches) -> Cause:
    """What decides the reward, the gravest first."""
    charged = switches.step_timeouts is StepTimeouts.CHARGED or settings.variant is RewardVariant.REGRET
    if window.step_timeouts and charged:
        return Cause.STEP_TIMEOUT
    if (
        switches.environment_fault_credit is EnvironmentFaultCredit.DESIGNER
        and window.environment_faults > window.step_timeouts
    ):
        return Cause.FAULT
    if not window.plays and switches.missing_returns is MissingReturns.LEFT_OUT:
        return Cause.NO_PLAYS
    return Cause.VARIANT
