"""Checkpoints in run storage: Megatron's torch_dist files with the optimiser, and a manifest written last."""

import json
import os
from typing import Any

import torch.distributed as dist
from megatron.core import dist_checkpointing

from spade_contracts.manifests import CheckpointManifest
from spade_trainer.learner.cpu_remedies import optimizer_section
from spade_trainer.learner.masters import parameter_sha256, require_masters_match
from spade_trainer.learner.training import Trainee
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, exists, local_path, read_bytes, remove, replace
from spade_trainer.store.staging import fetched_by_lists, forget, publish

SHARDING = {"distrib_optim_sharding_type": "fully_reshardable", "chained_optim_avoid_prefix": True}
"""The optimiser's state lies by parameter, so that a checkpoint can be read in another layout."""
LISTS = "files-"
"""Beginning of the names of a checkpoint's lists in S3: one a node, the digests of what its ranks wrote."""


def save(
    store: Store, trained: Trainee, policy_version: int, digest: str, *, old_probe: tuple[float, ...] | None
) -> None:
    """Write the checkpoint of a policy version that has none. Called on all ranks.

    digest: SHA-256 of the masters. old_probe: the probe's log-probabilities under the version before, which a learner
    that starts from this checkpoint could not compute.
    """
    name = layout.checkpoint_folder(policy_version)
    folder = local_path(store, name)
    if dist.get_rank() == 0:
        remove(store, name)  # an earlier attempt's half
    dist.barrier()
    if dist.get_rank() == 0 or (store.files.staged and _first_of_node()):
        forget(store, name)
        folder.mkdir(parents=True)
    dist.barrier()
    with optimizer_section():
        dist_checkpointing.save(_state(trained, loading=False), str(folder))
    dist.barrier()
    if store.files.staged and _first_of_node():
        digests = publish(store, name)
        replace(store, f"{name}/{LISTS}{os.environ.get('GROUP_RANK', '0')}.json", json.dumps(digests).encode())
        forget(store, name)
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
    folder = fetched_by_lists(store, layout.checkpoint_folder(policy_version), LISTS)
    with optimizer_section():
        state = dist_checkpointing.load(_state(trained, loading=True), str(folder))
        trained.network.module.load_state_dict(state["model"])
        trained.optimizer.load_state_dict(state["optimizer"])
    require_masters_match(trained, f"checkpoint {policy_version}")
    dist.barrier()
    if _first_of_node():
        forget(store, layout.checkpoint_folder(policy_version))
    return parameter_sha256(trained)


def read_probe(store: Store, policy_version: int) -> tuple[float, ...] | None:
    """The old probe that `save` was given; None if it was given none, or left none."""
    path = _probe_path(policy_version)
    values = json.loads(read_bytes(store, path)) if exists(store, path) else None
    return None if values is None else tuple(float(value) for value in values)


def _first_of_node() -> bool:
    """Whether this rank speaks for its node, whose ranks share copies of what lies in S3."""
    return int(os.environ.get("LOCAL_RANK", dist.get_rank())) == 0


def _probe_path(policy_version: int) -> str:
    return f"{layout.checkpoint_folder(policy_version)}/probe.json"


def _state(trained: Trainee, *, loading: bool) -> dict[str, Any]:
    """Megatron's sharded description of weights and optimiser."""
    model = trained.network.module.sharded_state_dict(metadata=SHARDING)
    return {
        "model": model,
        "optimizer": trained.optimizer.sharded_state_dict(model, is_loading=loading, metadata=SHARDING),
    }
