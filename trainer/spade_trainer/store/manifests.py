"""Manifests: canonical bytes, exclusive creation, typed reading.

A unit of run storage is finished exactly when its manifest exists (design §8). Equal manifests have equal bytes:
keys are sorted, floats are written as the shortest text that reads back equal, and NaN is refused.
"""

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from spade_contracts.errors import InvalidInput
from spade_contracts.manifests import (
    BatchManifest,
    CheckpointManifest,
    PolicyManifest,
    RolloutManifest,
    RunManifest,
    StepManifest,
)
from spade_trainer.store import layout
from spade_trainer.store.objects import Store, create_same, exists, names, read_bytes

M = TypeVar("M", bound=BaseModel)


def canonical_json(model: BaseModel) -> bytes:
    """The one spelling of a model as JSON, with a line end. Raises ValueError for NaN and infinities."""
    content = model.model_dump(mode="json", by_alias=True)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"{text}\n".encode()


def read(store: Store, path: str, model: type[M]) -> M:
    """The manifest at a path. Raises ManifestMissing, or InvalidInput if it is not what this version writes."""
    content = read_bytes(store, path)
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{store.uri}/{path}", f"{where}: {first['msg']}") from error


def find(store: Store, path: str, model: type[M]) -> M | None:
    """The manifest at a path, or None while the unit is not finished."""
    return read(store, path, model) if exists(store, path) else None


def write(store: Store, path: str, manifest: BaseModel) -> None:
    """Create a manifest. The same manifest twice is fine; raises StorageConflict if another one is there."""
    create_same(store, path, canonical_json(manifest))


def run_path() -> str:
    """Path of run.json."""
    return layout.RUN


def batch_path(cycle: int, rollout: int | None = None) -> str:
    """Path of a cycle's manifest, or of that of its top-up for a rollout."""
    return f"{layout.design_folder(cycle, rollout)}/{layout.BATCH}"


def rollout_path(rollout: int) -> str:
    """Path of a rollout's manifest."""
    return f"{layout.rollout_folder(rollout)}/{layout.ROLLOUT}"


def step_path(rollout: int) -> str:
    """Path of the manifest of the step on a rollout."""
    return f"{layout.step_folder(rollout)}/{layout.STEP}"


def policy_path(version: int) -> str:
    """Path of a policy's manifest."""
    return f"{layout.policy_folder(version)}/{layout.POLICY}"


def checkpoint_path(version: int) -> str:
    """Path of a checkpoint's manifest."""
    return f"{layout.checkpoint_folder(version)}/{layout.CHECKPOINT}"


def read_run(store: Store) -> RunManifest:
    """run.json."""
    return read(store, run_path(), RunManifest)


def read_batch(store: Store, cycle: int) -> BatchManifest:
    """The environments of a cycle."""
    return read(store, batch_path(cycle), BatchManifest)


def read_rollout(store: Store, rollout: int) -> RolloutManifest:
    """The plays of a rollout."""
    return read(store, rollout_path(rollout), RolloutManifest)


def find_step(store: Store, rollout: int) -> StepManifest | None:
    """The recorded step on a rollout, or None before it was taken."""
    return find(store, step_path(rollout), StepManifest)


def read_policy(store: Store, version: int) -> PolicyManifest:
    """A policy's files and digests."""
    return read(store, policy_path(version), PolicyManifest)


def verification_path(digest: str) -> str:
    """Path of a verification's manifest."""
    return f"{layout.verification_folder(digest)}/{layout.VERIFICATION}"


def finished(store: Store, folder: str, manifest: str) -> tuple[int, ...]:
    """Numbers of the finished units below a folder such as `rollouts`, ascending."""
    numbers = (name for name in names(store, folder) if name.isdigit())
    return tuple(int(name) for name in numbers if exists(store, f"{folder}/{name}/{manifest}"))


def finished_checkpoints(store: Store) -> tuple[int, ...]:
    """Policy versions with a complete checkpoint, ascending."""
    return finished(store, layout.CHECKPOINTS, layout.CHECKPOINT)


def read_checkpoint(store: Store, version: int) -> CheckpointManifest:
    """A checkpoint's digest."""
    return read(store, checkpoint_path(version), CheckpointManifest)
