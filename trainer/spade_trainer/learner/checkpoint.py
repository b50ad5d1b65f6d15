"""Checkpoints in run storage: Megatron's torch_dist files with the optimiser, and a manifest written last."""

import json
from typing import Any

import torch.distributed as dist
from megatron.core import dist_checkpointing

from spade_contracts.manifests import CheckpointManifest
from spade_trainer.learner.cpu_remedies import optimizer_section
from spade_trainer.learner.masters import parameter_sha256, require_masters_match
from spade_trainer.learner.training import Trainee
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, exists, local_path, read_bytes, remove, replace

SHARDING = {"distrib_optim_sharding_type": "fully_reshardable", "chained_optim_avoid_prefix": True}
"""The optimiser's state lies by parameter, so that a checkpoint can be read in another layout."""


def save(
    store: Store, trained: Trainee, policy_version: int, digest: str, *, old_probe: tuple[float, ...] | None
) -> None:
    """Write the checkpoint of a policy version that has none. Called on all ranks.

    digest: SHA-256 of the masters. old_probe: the probe's log-probabilities under the version before, which a learner
    that starts from this checkpoint could not compute.
    """
    folder = local_path(store, layout.checkpoint_folder(policy_version))
    if dist.get_rank() == 0:
        remove(store, layout.checkpoint_folder(policy_version))  # an earlier attempt's half
        folder.mkdir(parents=True)
    dist.barrier()
    with optimizer_section():
        dist_checkpointing.save(_state(trained, loading=False), str(folder))
    dist.barrier()
    if dist.get_rank() == 0:
        replace(store, _probe_path(policy_version), json.dumps(old_probe).encode())
        manifests.write(
            store,
            manifests.checkpoint_path(policy_version),
            CheckpointManifest(
                policy_version=policy_version, parameter_sha256=digest, world_size=dist.get_world_size()
            ),
        )
    dist.barrier()


def load(store: Store, trained: Trainee, policy_version: int) -> str:
    """Load a finished checkpoint; returns the digest of what was loaded. Called on all ranks.

    Raises MastersDiffer if masters and weights do not belong together.
    """
    folder = local_path(store, layout.checkpoint_folder(policy_version))
    with optimizer_section():
        state = dist_checkpointing.load(_state(trained, loading=True), str(folder))
        trained.network.module.load_state_dict(state["model"])
        trained.optimizer.load_state_dict(state["optimizer"])
    require_masters_match(trained, f"checkpoint {policy_version}")
    return parameter_sha256(trained)


def read_probe(store: Store, policy_version: int) -> tuple[float, ...] | None:
    """The old probe that `save` was given; None if it was given none, or left none."""
    path = _probe_path(policy_version)
    values = json.loads(read_bytes(store, path)) if exists(store, path) else None
    return None if values is None else tuple(float(value) for value in values)


def _probe_path(policy_version: int) -> str:
    return f"{layout.checkpoint_folder(policy_version)}/probe.json"


def _state(trained: Trainee, *, loading: bool) -> dict[str, Any]:
    """Megatron's sharded description of weights and optimiser."""
    model = trained.network.module.sharded_state_dict(metadata=SHARDING)
    return {
        "model": model,
        "optimizer": trained.optimizer.sharded_state_dict(model, is_loading=loading, metadata=SHARDING),
    }
