"""Copies a policy out of run storage, to a folder or to any file system that fsspec knows, and proves the copy.

Every byte that is read is checked against `policy.json`, and every file that was written is read again: what is
reported as exported is the policy. `policy.json` is written last, so an export that did not end does not look finished.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import fsspec

from spade_contracts.errors import InfrastructureFault, InvalidInput, ManifestMissing, StorageConflict
from spade_contracts.manifests import PolicyManifest
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, read_chunks
from spade_trainer.store.s3 import meaning

CHUNK_BYTES = 1 << 20
Read = Callable[[str], Iterable[bytes]]
"""From the name of a policy's file to its content."""


class Damaged(InfrastructureFault):
    """A file is not what the policy's manifest says, where it was read or where it was written."""


@dataclass(frozen=True)
class Exported:
    """What was copied where."""

    target: str
    policy_version: int
    files: int
    bytes: int


def stored_policy(store: Store, version: int | None) -> tuple[PolicyManifest, Read]:
    """A finished policy of a run, the newest for None. Raises ManifestMissing, which says what there is."""
    there = manifests.finished(store, layout.POLICIES, layout.POLICY)
    if not there or (version is not None and version not in there):
        raise ManifestMissing(missing(store.uri, version, there))
    manifest = manifests.read_policy(store, there[-1] if version is None else version)
    folder = layout.policy_folder(manifest.policy_version)

    def read(name: str) -> Iterator[bytes]:
        yield from read_chunks(store, f"{folder}/{name}")

    return manifest, read


def missing(where: str, version: int | None, there: Iterable[int]) -> str:
    """What is said when a policy is not there."""
    known = ", ".join(map(str, there))
    what = "no finished policy" if version is None else f"no finished policy version {version}"
    return f"{where} holds {what}. " + (f"There are {known}; name one of these." if known else "Is it a run's folder?")


def export(manifest: PolicyManifest, read: Read, target: str) -> Exported:
    """Copy a policy's files to a folder, and its manifest last. Doing it again copies only what is missing.

    Raises InvalidInput for a target that cannot be written to by this installation, StorageConflict if the target
    holds anything else, Damaged if bytes are not the policy's, OSError if the target's file system fails.
    """
    if outside := [name for name in manifest.files if "/" in name or name in ("", ".", "..", layout.POLICY)]:
        raise InvalidInput("policy.json", f"names the file {outside[0]!r}, which is no name of a policy's file")
    fs, root = _opened(target)
    present = {path.rstrip("/").rpartition("/")[2] for path in _listed(fs, root)}
    if strange := sorted(present - {*manifest.files, layout.POLICY}):
        raise StorageConflict(
            f"{target} holds {', '.join(strange[:3])}, which is no part of policy {manifest.policy_version}.",
            remedy="Name an empty folder.",
        )
    finished = f"{root}/{layout.POLICY}"
    content = manifests.canonical_json(manifest)
    if layout.POLICY in present and fs.cat_file(finished) != content:
        raise StorageConflict(f"{target} holds another policy; it was left as it is.", remedy="Name an empty folder.")
    fs.makedirs(root, exist_ok=True)
    total = 0
    for name, wanted in sorted(manifest.files.items()):
        path = f"{root}/{name}"
        if not (name in present and _digest(fs, path) == wanted):
            _copy(fs, path, read(name), wanted, name)
        total += int(fs.size(path) or 0)
    fs.pipe_file(finished, content)
    return Exported(target, manifest.policy_version, len(manifest.files), total)


def _opened(target: str) -> tuple[Any, str]:
    try:
        fs, root = fsspec.core.url_to_fs(target, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        remedy = "Install the package that it names, or export to a folder and copy that."
        raise InvalidInput("target", f"{target} cannot be opened here: {error}", remedy=remedy) from error
    except ValueError as error:
        raise InvalidInput("target", f"{target}: {error}", remedy="Write a folder or a URI of fsspec.") from error
    return fs, str(root).rstrip("/")


def _listed(fs: Any, root: str) -> list[str]:
    try:
        return [str(path) for path in fs.ls(root, detail=False)]
    except FileNotFoundError:
        return []
    except Exception as error:
        # The library of S3 has errors of its own, such as one for missing credentials.
        told = meaning(root, error) if "s3" in fs.protocol else error
        if told is error:
            raise
        raise told from error


def _copy(fs: Any, path: str, chunks: Iterable[bytes], wanted: str, name: str) -> None:
    read = hashlib.sha256()
    with fs.open(path, "wb") as file:
        for chunk in chunks:
            read.update(chunk)
            file.write(chunk)
    if read.hexdigest() != wanted:
        fs.rm_file(path)
        raise Damaged(f"{name} in run storage is not what policy.json says; nothing of it was kept.")
    if _digest(fs, path) != wanted:
        raise Damaged(f"{path} was written, and reads back as something else. Try again, or use another target.")


def _digest(fs: Any, path: str) -> str:
    digest = hashlib.sha256()
    with fs.open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
