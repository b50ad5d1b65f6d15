"""Bytes in run storage: reading, atomic writing, and creation that never replaces.

A URI decides the file system. Folders (`file:`) are complete; another fsspec file system needs only an exclusive
create (`pipe_file(mode="create")`, which s3fs maps to If-None-Match), and is refused until it is tested.
"""

import errno
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import fsspec

from spade_contracts.errors import InvalidInput, ManifestMissing, StorageConflict

TESTED_SCHEMES = ("file",)


@dataclass(frozen=True)
class Store:
    """A run's folder on some file system. Paths given to the functions below are relative to it."""

    uri: str
    fs: Any
    """fsspec file system, with listing caches off."""
    root: str
    """The folder in the file system's own notation, without a trailing slash."""


def open_store(uri: str) -> Store:
    """The store at a URI such as `file:///storage/default/mini`; nothing is created or checked yet.

    Raises InvalidInput for a scheme that is not supported.
    """
    parts = urlsplit(uri)
    scheme = parts.scheme or "file"
    if scheme not in TESTED_SCHEMES:
        raise InvalidInput(
            "storage.uri", f"{scheme}: is not supported by this version", remedy="Use a mounted volume (file:///path)."
        )
    if parts.netloc or not parts.path.startswith("/"):
        raise InvalidInput("storage.uri", f"{uri} is no absolute path", remedy="Write file:/// and the folder's path.")
    fs = fsspec.filesystem("file", use_listings_cache=False, skip_instance_cache=True)
    return Store(uri=uri, fs=fs, root=unquote(parts.path).rstrip("/"))


def absolute(store: Store, path: str) -> str:
    """The path in the file system's own notation."""
    return f"{store.root}/{path}" if path else store.root


def uri_of(store: Store, path: str) -> str:
    """The path as a URI, for people and for other processes."""
    return f"{store.uri.rstrip('/')}/{path}"


def local_path(store: Store, path: str) -> Path:
    """The path on this machine, for libraries that want files (torch_dist, vLLM)."""
    return Path(absolute(store, path))


def exists(store: Store, path: str) -> bool:
    """Whether something is stored there."""
    return bool(store.fs.exists(absolute(store, path)))


def read_bytes(store: Store, path: str) -> bytes:
    """The whole content. Raises ManifestMissing if there is none."""
    try:
        return bytes(store.fs.cat_file(absolute(store, path)))
    except FileNotFoundError as error:
        raise ManifestMissing(f"{store.uri}/{path} does not exist") from error


def names(store: Store, folder: str) -> tuple[str, ...]:
    """Names directly in a folder, sorted; unfinished files are left out. A missing folder is empty."""
    try:
        found = store.fs.ls(absolute(store, folder), detail=False)
    except FileNotFoundError:
        return ()
    listed = (str(path).rstrip("/").rpartition("/")[2] for path in found)
    return tuple(sorted(name for name in listed if not name.startswith(".")))


def create(store: Store, path: str, content: bytes) -> bool:
    """Store content under a new name, whole or not at all; False if the name was taken (nothing is replaced then)."""
    target = local_path(store, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_temporary(target, content)
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise InvalidInput(
                "storage.uri", f"{store.uri} has no hard links", remedy="Use a volume with a POSIX file system."
            ) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return True


def create_same(store: Store, path: str, content: bytes) -> None:
    """Store content under a name that always means these bytes; equal bytes there already are as good.

    Raises StorageConflict if the name holds other bytes.
    """
    if not create(store, path, content) and read_bytes(store, path) != content:
        raise StorageConflict(
            f"{store.uri}/{path} already exists with other content; it was left as it is.",
            remedy="Give this run its own storage folder, or remove the old one.",
        )


def replace(store: Store, path: str, content: bytes) -> None:
    """Store content under a name, whole, in place of what was there. For files that no manifest names."""
    target = local_path(store, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _write_temporary(target, content).replace(target)
    _sync_folder(target.parent)


def remove(store: Store, path: str) -> None:
    """Delete a file or folder with all that is in it; nothing there is fine."""
    full = absolute(store, path)
    try:
        store.fs.rm(full, recursive=True)
    except FileNotFoundError:
        return


def _write_temporary(target: Path, content: bytes) -> Path:
    """The content, flushed to disk, under a hidden name beside the target."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
