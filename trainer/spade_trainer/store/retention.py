"""Which policies, checkpoints and episodes may go, and their removal (design §8).

Kept are: policy 0 (the reference of the KL penalty and the start of every replay), the latest finished policies, the
latest finished checkpoints, and the episodes of the latest rollouts and of all that a replay from the oldest kept
checkpoint takes again. Everything else of a run is kept. Manifests are its results and hold all returns, so delayed
rewards of designers need no episodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_trainer.store import layout
from spade_trainer.store.manifests import checkpoint_path, finished, finished_checkpoints, policy_path
from spade_trainer.store.objects import Store, names, remove


@dataclass(frozen=True)
class Prunable:
    """Versions whose files may be deleted."""

    policies: tuple[int, ...]
    checkpoints: tuple[int, ...]
    episodes: tuple[int, ...] = ()
    """Rollouts."""


def prunable(
    policies: Sequence[int],
    checkpoints: Sequence[int],
    rollouts: Sequence[int] = (),
    *,
    keep_policies: int,
    keep_checkpoints: int,
    keep_episodes: int | None = None,
) -> Prunable:
    """What may go of the finished versions and rollouts given. At least one of each is kept, and always policy 0.

    The step on rollout r makes version r + 1: a replay that starts at checkpoint c takes the rollouts from c on.
    """
    latest_policies = set(sorted(policies)[-max(1, keep_policies) :]) | {0}
    latest_checkpoints = sorted(checkpoints)[-max(1, keep_checkpoints) :]
    replayed_from = latest_checkpoints[0] if latest_checkpoints else 0
    old = sorted(rollouts)[: -max(1, keep_episodes)] if keep_episodes is not None else []
    return Prunable(
        policies=tuple(sorted(set(policies) - latest_policies)),
        checkpoints=tuple(sorted(set(checkpoints) - set(latest_checkpoints))),
        episodes=tuple(rollout for rollout in old if rollout < replayed_from),
    )


def prune(store: Store, *, keep_policies: int, keep_checkpoints: int, keep_episodes: int | None = None) -> Prunable:
    """Delete what may go and say what it was.

    Manifests of policies and checkpoints go first, so that no half-deleted version looks finished; those of rollouts
    stay.
    """
    going = prunable(
        finished(store, layout.POLICIES, layout.POLICY),
        finished_checkpoints(store),
        finished(store, layout.ROLLOUTS, layout.ROLLOUT) if keep_episodes is not None else (),
        keep_policies=keep_policies,
        keep_checkpoints=keep_checkpoints,
        keep_episodes=keep_episodes,
    )
    for version in going.policies:
        remove(store, policy_path(version))
        remove(store, layout.policy_folder(version))
    for version in going.checkpoints:
        remove(store, checkpoint_path(version))
        remove(store, layout.checkpoint_folder(version))
    for rollout in going.episodes:
        folder = layout.rollout_folder(rollout)
        for name in names(store, folder):
            if layout.is_episodes_part(name):
                remove(store, f"{folder}/{name}")
    return going
