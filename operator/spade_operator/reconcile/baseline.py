"""What the learnable fraction of a run usually is, for the alert on its drop.

Rollouts that train other skills are other measurements, so each set of skills has a baseline of its own.
"""

from collections.abc import Mapping
from decimal import Decimal

from spade_contracts.config.environments import EnvironmentsConfig
from spade_contracts.resources.spade_run import LearnableBaseline

WARM_UP_ROLLOUTS = 4
"""A baseline is told when it is of so many."""
WINDOW_ROLLOUTS = 8
"""The mean of all rollouts up to here; from then on each new one weighs an eighth."""


def skill_set(environments: EnvironmentsConfig, cycle: int) -> str:
    """Which skills a cycle trains, as the number of the first one (method.md §1.4)."""
    count, known = environments.active_skills, len(environments.skills)
    return str(cycle * count % known if count < known else 0)


def baseline(baselines: Mapping[str, LearnableBaseline], skills: str) -> str | None:
    """The baseline for a rollout of these skills, not counting it; None during warm-up."""
    known = baselines.get(skills)
    return known.mean if known is not None and known.rollouts >= WARM_UP_ROLLOUTS else None


def with_rollout(
    baselines: Mapping[str, LearnableBaseline], skills: str, fraction: str | None
) -> dict[str, LearnableBaseline]:
    """The baselines with one more rollout; one in which nothing could be measured changes none."""
    if fraction is None:
        return dict(baselines)
    known = baselines.get(skills)
    if known is None:
        return {**baselines, skills: LearnableBaseline(mean=fraction, rollouts=1)}
    count = known.rollouts + 1
    mean = Decimal(known.mean) + (Decimal(fraction) - Decimal(known.mean)) / min(count, WINDOW_ROLLOUTS)
    return {**baselines, skills: LearnableBaseline(mean=f"{mean:.3f}", rollouts=count)}
