"""A rollout in a few figures, from its manifest alone (design §9, method.md §11)."""

import math

from spade_contracts.config.switches import Switches
from spade_contracts.manifests import RolloutManifest
from spade_trainer.rewards.learnable import difficulty
from spade_trainer.rewards.regret import Regret, regret_of
from spade_trainer.rewards.window import mean, window_of


def learnable_fraction(manifest: RolloutManifest) -> float | None:
    """Share of environments whose mean unhinted return lies in [0.2, 0.8]; None if none has one."""
    shares = difficulty([mean(entry.unhinted) for entry in manifest.environments if entry.unhinted])
    return None if shares is None else shares.learnable


def mean_return(manifest: RolloutManifest) -> float | None:
    """Mean of all unhinted returns; None without any."""
    returns = [value for entry in manifest.environments for value in entry.unhinted]
    return mean(returns) if returns else None


def mean_hint_regret(manifest: RolloutManifest, switches: Switches) -> Regret | None:
    """Mean hint regret of the environments with plays of both arms, by the estimator that is paid; None without any.

    Its standard error takes environments as independent and is that of the mean over those whose own is known; None
    where none is.
    """
    both = [entry.id for entry in manifest.environments if entry.hinted and entry.unhinted]
    regrets = [regret_of(window_of(environment, [manifest]), switches) for environment in both]
    known = [regret for regret in regrets if regret is not None]
    if not known:
        return None
    errors = [regret.standard_error for regret in known if regret.standard_error is not None]
    return Regret(
        mean([regret.value for regret in known]),
        math.sqrt(sum(error**2 for error in errors)) / len(errors) if errors else None,
    )
