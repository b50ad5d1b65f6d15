"""Which policies and checkpoints may go, and their removal (design §8).

Kept are: policy 0 (the reference of the KL penalty and the start of every replay), the latest finished policies, and
the latest finished checkpoints. Everything else of a run is kept: manifests and Parquet files are its results.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_trainer.store import layout
from spade_trainer.store.manifests import checkpoint_path, finished, finished_checkpoints, policy_path
from spade_trainer.store.objects import Store, remove


@dataclass(frozen=True)
class Prunable:
    """Versions whose files may be deleted."""

    policies: tuple[int, ...]
    checkpoints: tuple[int, ...]


def prunable(
    policies: Sequence[int], checkpoints: Sequence[int], *, keep_policies: int, keep_checkpoints: int
) -> Prunable:
    """What may go of the finished versions given. At least one of each is kept, and always policy 0."""
    latest_policies = set(sorted(policies)[-max(1, keep_policies) :]) | {0}
    latest_checkpoints = set(sorted(checkpoints)[-max(1, keep_checkpoints) :])
    return Prunable(
        policies=tuple(sorted(set(policies) - latest_policies)),
        checkpoints=tuple(sorted(set(checkpoints) - latest_checkpoints)),
    )


def prune(store: Store, *, keep_policies: int, keep_checkpoints: int) -> Prunable:
    """Delete what may go and say what it was. Manifests go first, so that no half-deleted version looks finished."""
    going = prunable(
        finished(store, layout.POLICIES, layout.POLICY),
        finished_checkpoints(store),
        keep_policies=keep_policies,
        keep_checkpoints=keep_checkpoints,
    )
    for version in going.policies:
        remove(store, policy_path(version))
        remove(store, layout.policy_folder(version))
    for version in going.checkpoints:
        remove(store, checkpoint_path(version))
        remove(store, layout.checkpoint_folder(version))
    return going
