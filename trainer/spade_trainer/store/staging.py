"""Copies on this machine of what lies in S3, for libraries that want files. On a folder there is nothing to copy.

A copy is proven by SHA-256 before its name appears. Processes of one machine share it: the first brings it, the others
wait for that.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spade_trainer.store.files import StorageUnreachable
from spade_trainer.store.objects import Store, absolute, local_path, names

CHUNK_BYTES = 1 << 20


def fetch(store: Store, folder: str, files: Mapping[str, str]) -> Path:
    """The local folder with these files (name → SHA-256) of a stored one; what is there already is not read again.

    Raises StorageUnreachable for a file that is not what its digest says, or is not there.
    """
    local = local_path(store, folder)
    if not store.files.staged:
        return local
    local.mkdir(parents=True, exist_ok=True)
    with _alone(local):
        known = _known(local)
        for name, digest in sorted(files.items()):
            if known.get(name) != digest or not (local / name).exists():
                _bring(store, f"{folder}/{name}", local / name, digest)
                known[name] = digest
        _record(local).write_text(json.dumps(known), encoding="utf-8")
    return local


def publish(store: Store, folder: str) -> dict[str, str]:
    """Store what was written into the local folder; returns name → SHA-256. Empty where the local folder is the store.

    Unfinished files (`*.tmp`) stay here; hidden ones go along, because torch_dist's metadata is one.
    """
    if not store.files.staged:
        return {}
    local = local_path(store, folder)
    found = {}
    for file in sorted(file for file in local.iterdir() if file.is_file() and file.suffix != ".tmp"):
        store.files.upload(file, absolute(store, f"{folder}/{file.name}"))
        found[file.name] = sha256_of(file)
    return found


def forget(store: Store, folder: str) -> None:
    """Delete the copy of a folder. Nothing is deleted from the store."""
    if store.files.staged:
        local = local_path(store, folder)
        shutil.rmtree(local, ignore_errors=True)
        _record(local).unlink(missing_ok=True)


def forget_others(store: Store, folder: str, kept: Collection[str]) -> None:
    """Delete the copies of all folders in one but these."""
    if store.files.staged and local_path(store, folder).is_dir():
        for one in local_path(store, folder).iterdir():
            if one.is_dir() and one.name not in kept:
                forget(store, f"{folder}/{one.name}")


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def fetched_by_lists(store: Store, folder: str, prefix: str) -> Path:
    """The local folder with all files that the lists in it name: `PREFIX*.json`, each name → SHA-256."""
    lists = [name for name in names(store, folder) if name.startswith(prefix) and name.endswith(".json")]
    files: dict[str, str] = {}
    for name in lists if store.files.staged else ():
        files |= json.loads(store.files.read(absolute(store, f"{folder}/{name}")))
    return fetch(store, folder, files)


def _bring(store: Store, path: str, target: Path, digest: str) -> None:
    """Copy one file and prove the copy."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        store.files.download(absolute(store, path), temporary)
        if sha256_of(temporary) != digest:
            raise StorageUnreachable(f"{store.uri}/{path} is not what its manifest says, or was not read whole.")
        temporary.replace(target)
    except FileNotFoundError as error:
        raise StorageUnreachable(f"{store.uri}/{path} does not exist, although a manifest names it.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _record(local: Path) -> Path:
    """Where it is kept which files of a copy are proven: beside the folder, which libraries want for themselves."""
    return local.with_name(f".{local.name}.proven.json")


def _known(local: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(_record(local).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


@contextmanager
def _alone(local: Path) -> Iterator[None]:
    """No other process of this machine works on the copy meanwhile."""
    with local.with_name(f".{local.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
