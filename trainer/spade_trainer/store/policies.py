"""Policy versions in run storage: Hugging Face folders that are complete once `policy.json` is there."""

from pathlib import Path

from spade_contracts.errors import StorageConflict
from spade_contracts.manifests import PolicyManifest
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, local_path
from spade_trainer.store.staging import fetch, publish, sha256_of
from spade_trainer.store.tensors import digest_files

WEIGHTS = ".safetensors"


def policy_files(store: Store, version: int, *, weights: bool = True) -> Path:
    """The folder with a finished policy's files on this machine. Raises ManifestMissing before it is finished.

    weights: whether the tensors are wanted too; without them, a policy in S3 is copied in a moment.
    """
    files = manifests.read_policy(store, version).files
    wanted = {name: digest for name, digest in files.items() if weights or not name.endswith(WEIGHTS)}
    return fetch(store, layout.policy_folder(version), wanted)


def describe(folder: Path, version: int) -> PolicyManifest:
    """The manifest of a folder that holds a policy's files; an existing policy.json is not counted among them.

    Raises InvalidInput for broken safetensors.
    """
    files = sorted(file for file in folder.iterdir() if file.is_file() and not _ours(file.name))
    tensors = digest_files(file for file in files if file.suffix == WEIGHTS)
    return PolicyManifest(
        policy_version=version,
        files={file.name: sha256_of(file) for file in files},
        tensors=tensors.tensors,
        tensors_sha256=tensors.sha256,
        parameters=tensors.parameters,
    )


def finish(store: Store, version: int) -> PolicyManifest:
    """Describe the files in the local `policies/NNNN`, store them and write their manifest; a policy that is finished
    is left alone.

    Raises StorageConflict if the files are no longer those of the finished policy.
    """
    manifest = describe(local_path(store, layout.policy_folder(version)), version)
    written = manifests.find(store, manifests.policy_path(version), PolicyManifest)
    if written is not None and written != manifest:
        raise StorageConflict(f"policy {version} in {store.uri} is finished, but its files have changed since")
    if written is None:
        publish(store, layout.policy_folder(version))
    manifests.write(store, manifests.policy_path(version), manifest)
    return manifest


def _ours(name: str) -> bool:
    """Whether a name in a policy's folder is our manifest or an unfinished or hidden file."""
    return name == layout.POLICY or name.startswith(".") or name.startswith("timings-")
