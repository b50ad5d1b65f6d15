"""How much a hint lowers an environment's difficulty (method.md §5.4), and how well that is known (D4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.config.switches import MissingReturns, RegretEstimator, Switches
from spade_trainer.rewards.window import Window, mean, mean_or_zero


@dataclass(frozen=True)
class Regret:
    """Hinted minus unhinted mean return. May be negative."""

    value: float
    standard_error: float | None
    """Of the value; None where an arm has fewer than two plays, or only its mean is known."""


def hint_regret(window: Window, *, without_hint: float | None = None) -> float | None:
    """Mean hinted return minus mean unhinted return at the first rollout that has any. May be negative.

    The unhinted mean is 0 if there was no unhinted play. Without hinted plays the hinted mean is `without_hint`; the
    regret is None if that is None too.
    """
    hinted = window.hinted_mean if window.hinted_mean is not None else without_hint
    return None if hinted is None else hinted - window.first_return


def regret_of(window: Window, switches: Switches) -> Regret | None:
    """The hint regret that the blend pays, or None if it is not known.

    FirstOffset compares all hinted plays with all unhinted ones of the first rollout that has any: 16 with 8 in the
    reference, of unlike instances. Its standard error takes them as independent. Paired takes the mean difference
    over plays of one seed.
    """
    if switches.regret_estimator is RegretEstimator.PAIRED:
        return paired_regret(window.pairs)
    zero = switches.missing_returns is MissingReturns.ZERO
    value = hint_regret(window, without_hint=0.0 if zero else None)
    first = window.unhinted[0] if window.unhinted else ()
    if value is None:
        return None
    spread = (_variance_of_mean(window.hinted), _variance_of_mean(first))
    known = spread[0] is not None and spread[1] is not None
    return Regret(value, math.sqrt((spread[0] or 0.0) + (spread[1] or 0.0)) if known else None)


def paired_regret(pairs: Sequence[tuple[float, float]]) -> Regret | None:
    """Mean of hinted minus unhinted return over pairs of one seed; None without any.

    pairs: (without the hint, with it). The standard error is that of a mean of differences, so what a seed makes easy
    or hard for both arms is not in it.
    """
    if not pairs:
        return None
    differences = [hinted - plain for plain, hinted in pairs]
    variance = _variance_of_mean(differences)
    return Regret(mean(differences), None if variance is None else math.sqrt(variance))


def window_regret(window: Window, switches: Switches) -> float | None:
    """What the variant Regret pays for, before its floor at 0; None if it is not known.

    FirstOffset: mean hinted return minus the mean of all unhinted returns of the window, each 0 where there is none.
    Paired: as in the blend. Vector V12.
    """
    if switches.regret_estimator is RegretEstimator.PAIRED:
        paired = paired_regret(window.pairs)
        return None if paired is None else paired.value
    hinted = window.hinted_mean
    if hinted is None and switches.missing_returns is MissingReturns.LEFT_OUT:
        return None
    return (hinted or 0.0) - mean_or_zero(window.returns)


def _variance_of_mean(values: Sequence[float]) -> float | None:
    """Estimated variance of the mean of independent values; None for fewer than two."""
    if len(values) < 2:
        return None
    centre = mean(values)
    return sum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values)
