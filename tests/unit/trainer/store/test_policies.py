"""A policy is described by digests that any reader computes alike, and old versions can be pruned safely."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from spade_contracts.errors import InvalidInput, ManifestMissing, StorageConflict
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import create, open_store
from spade_trainer.store.policies import finish, policy_files
from spade_trainer.store.retention import prunable, prune
from spade_trainer.store.tensors import digest_files, update

TENSORS = {
    "model.norm.weight": np.arange(4, dtype=np.float32),
    "lm_head.weight": np.arange(6, dtype=np.float16).reshape(2, 3),
    "bias": np.array(7, dtype=np.float32),
}


def expected() -> str:
    digest = hashlib.sha256()
    for name, dtype in (("bias", "F32"), ("lm_head.weight", "F16"), ("model.norm.weight", "F32")):
        update(digest, name, dtype, TENSORS[name].shape, TENSORS[name].tobytes())
    return digest.hexdigest()


def test_the_digest_does_not_depend_on_how_tensors_are_spread_over_files(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "all.safetensors")
    for number, (name, tensor) in enumerate(TENSORS.items()):
        save_file({name: tensor}, tmp_path / f"part{number}.safetensors", metadata={"format": "pt"})
    whole = digest_files([tmp_path / "all.safetensors"])
    parts = digest_files(sorted(tmp_path.glob("part*.safetensors")))
    assert whole == parts
    assert whole.sha256 == expected()
    assert (whole.tensors, whole.parameters) == (3, 11)


@pytest.mark.parametrize("change", ["value", "shape", "name"])
def test_the_digest_sees_every_change(tmp_path: Path, change: str) -> None:
    tensors = {name: tensor.copy() for name, tensor in TENSORS.items()}
    if change == "value":
        tensors["model.norm.weight"][3] = np.nextafter(np.float32(3), np.float32(4))
    elif change == "shape":
        tensors["lm_head.weight"] = tensors["lm_head.weight"].reshape(3, 2)
    else:
        tensors["model.norm.weights"] = tensors.pop("model.norm.weight")
    save_file(tensors, tmp_path / "changed.safetensors")
    assert digest_files([tmp_path / "changed.safetensors"]).sha256 != expected()


def test_a_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "all.safetensors")
    content = (tmp_path / "all.safetensors").read_bytes()
    for length in (4, 40, len(content) - 1):
        (tmp_path / "cut.safetensors").write_bytes(content[:length])
        with pytest.raises(InvalidInput):
            digest_files([tmp_path / "cut.safetensors"])


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    for number in range(2):
        save_file({"bias": TENSORS["bias"]}, tmp_path / f"{number}.safetensors")
    with pytest.raises(InvalidInput, match="bias"):
        digest_files(sorted(tmp_path.iterdir()))


def test_a_policy_is_finished_once_and_changed_files_are_a_conflict(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    folder = tmp_path / layout.policy_folder(0)
    folder.mkdir(parents=True)
    save_file(TENSORS, folder / "model.safetensors")
    with pytest.raises(ManifestMissing):
        policy_files(store, 0)
    manifest = finish(store, 0)
    assert finish(store, 0) == manifest == manifests.read_policy(store, 0)
    assert policy_files(store, 0) == folder
    (folder / "config.json").write_text("{}")
    with pytest.raises(StorageConflict):
        finish(store, 0)


VERSIONS = st.sets(st.integers(0, 30))


@given(VERSIONS, VERSIONS, st.integers(1, 5), st.integers(1, 5))
def test_the_start_and_the_latest_versions_are_never_pruned(
    policies: set[int], checkpoints: set[int], keep_policies: int, keep_checkpoints: int
) -> None:
    going = prunable(
        sorted(policies), sorted(checkpoints), keep_policies=keep_policies, keep_checkpoints=keep_checkpoints
    )
    assert 0 not in going.policies
    assert policies - set(going.policies) >= set(sorted(policies)[-keep_policies:])
    assert checkpoints - set(going.checkpoints) == set(sorted(checkpoints)[-keep_checkpoints:])


def test_pruning_deletes_folders_and_leaves_unfinished_ones(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    for version in range(4):
        create(store, manifests.policy_path(version), b"{}")
        create(store, f"{layout.policy_folder(version)}/model.safetensors", b"x")
    create(store, f"{layout.policy_folder(4)}/model.safetensors", b"half")
    assert prune(store, keep_policies=1, keep_checkpoints=1).policies == (1, 2)
    assert sorted(path.name for path in (tmp_path / "policies").iterdir()) == ["0000", "0003", "0004"]
