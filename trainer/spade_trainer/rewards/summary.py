"""A rollout in a few figures, from its manifest alone (design §9, method.md §11)."""

from spade_contracts.manifests import RolloutManifest
from spade_trainer.rewards.learnable import difficulty
from spade_trainer.rewards.regret import hint_regret
from spade_trainer.rewards.window import mean, window_of


def learnable_fraction(manifest: RolloutManifest) -> float | None:
    """Share of environments whose mean unhinted return lies in [0.2, 0.8]; None if none has one."""
    shares = difficulty([mean(entry.unhinted) for entry in manifest.environments if entry.unhinted])
    return None if shares is None else shares.learnable


def mean_return(manifest: RolloutManifest) -> float | None:
    """Mean of all unhinted returns; None without any."""
    returns = [value for entry in manifest.environments for value in entry.unhinted]
    return mean(returns) if returns else None


def mean_hint_regret(manifest: RolloutManifest) -> float | None:
    """Mean hint regret of the environments with plays of both arms; None without any."""
    both = [entry.id for entry in manifest.environments if entry.hinted and entry.unhinted]
    regrets = [hint_regret(window_of(environment, [manifest])) for environment in both]
    known = [regret for regret in regrets if regret is not None]
    return mean(known) if known else None
