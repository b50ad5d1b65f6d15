"""Bytes in run storage: reading, atomic writing, and creation that never replaces.

A URI decides the file system: a folder (`file:`, store/folder.py) or S3 (`s3:`, store/s3.py). Another one needs an
exclusive create, and is refused until it is tested.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from spade_contracts.errors import InvalidInput, ManifestMissing, StorageConflict
from spade_contracts.tasks import STAGING
from spade_trainer.store.files import Files
from spade_trainer.store.folder import FolderFiles
from spade_trainer.store.s3 import open_s3


@dataclass(frozen=True)
class Store:
    """A run's folder on some file system. Paths given to the functions below are relative to it."""

    uri: str
    files: Files
    root: str
    """The folder in the file system's own notation, without a trailing slash."""
    local: Path
    """Where its files are on this machine: the folder itself, or the place of their copies."""


def open_store(uri: str) -> Store:
    """The store at a URI such as `file:///storage/default/mini`; nothing is created or checked yet.

    Raises InvalidInput for a scheme that is not supported.
    """
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        return _s3_store(uri, parts)
    if parts.scheme not in ("", "file"):
        raise InvalidInput(
            "storage.uri",
            f"{parts.scheme}: is not supported by this version",
            remedy="Use a mounted volume (file:///path) or S3 (s3://bucket/prefix).",
        )
    if parts.netloc or not parts.path.startswith("/"):
        raise InvalidInput("storage.uri", f"{uri} is no absolute path", remedy="Write file:/// and the folder's path.")
    root = unquote(parts.path).rstrip("/")
    return Store(uri=uri, files=FolderFiles(), root=root, local=Path(root))


def _s3_store(uri: str, parts: SplitResult) -> Store:
    root = f"{parts.netloc}{parts.path}".rstrip("/")
    if not parts.netloc or "//" in root or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidInput("storage.uri", f"{uri} names no place in a bucket", remedy="Write s3://BUCKET/PREFIX.")
    staging = Path(os.environ.get(STAGING) or Path(tempfile.gettempdir()) / "spade-staging")
    return Store(uri=uri, files=open_s3(), root=root, local=staging / hashlib.sha256(root.encode()).hexdigest()[:16])


def absolute(store: Store, path: str) -> str:
    """The path in the file system's own notation."""
    return f"{store.root}/{path}" if path else store.root


def uri_of(store: Store, path: str) -> str:
    """The path as a URI, for people and for other processes."""
    return f"{store.uri.rstrip('/')}/{path}"


def local_path(store: Store, path: str) -> Path:
    """The path on this machine, for libraries that want files (torch_dist, vLLM).

    On S3 it is the place of a copy: `staging.fetch` brings it, `staging.publish` stores what was written there.
    """
    return store.local / path if path else store.local


def exists(store: Store, path: str) -> bool:
    """Whether a file is stored there."""
    return store.files.exists(absolute(store, path))


def read_bytes(store: Store, path: str) -> bytes:
    """The whole content. Raises ManifestMissing if there is none."""
    try:
        return store.files.read(absolute(store, path))
    except FileNotFoundError as error:
        raise ManifestMissing(f"{store.uri}/{path} does not exist") from error


def read_chunks(store: Store, path: str) -> Iterator[bytes]:
    """The content in pieces, for files that are large. Raises FileNotFoundError."""
    return store.files.chunks(absolute(store, path))


def names(store: Store, folder: str) -> tuple[str, ...]:
    """Names directly in a folder, sorted; unfinished files are left out. A missing folder is empty."""
    return tuple(name for name in every_name(store, folder) if not name.startswith("."))


def every_name(store: Store, folder: str) -> tuple[str, ...]:
    """The same with unfinished files."""
    return tuple(sorted(store.files.listed(absolute(store, folder))))


def create(store: Store, path: str, content: bytes) -> bool:
    """Store content under a new name, whole or not at all; False if the name was taken (nothing is replaced then)."""
    return store.files.create(absolute(store, path), content)


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
    store.files.replace(absolute(store, path), content)


def remove(store: Store, path: str) -> None:
    """Delete a file or folder with all that is in it, and its copy on this machine; nothing there is fine."""
    store.files.remove(absolute(store, path))
    if store.files.staged:
        shutil.rmtree(local_path(store, path), ignore_errors=True)
