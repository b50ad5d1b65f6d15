"""Whether something failed because run storage has no room left: libraries wrap what the file system said."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from spade_contracts.errors import InvalidInput, SpadeError
from spade_trainer.store.objects import local_path, open_store

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
LEAST_FREE_BYTES = 4 << 20
"""What failed with less than this free failed for want of room: the half that was written is what filled it."""


class StorageFull(SpadeError):
    """Run storage, or this run's quota of it, has no room. What was finished is whole."""

    permanent = False

    def __init__(self, uri: str, said: str) -> None:
        super().__init__(f"run storage {uri} is full ({said}); what was finished is whole.")


def storage_full(uri: str, error: BaseException) -> StorageFull | None:
    """The error as StorageFull if it, or what caused it, was for want of room; None otherwise."""
    for cause in _causes(error):
        if isinstance(cause, StorageFull):
            return cause
        if isinstance(cause, OSError) and cause.errno in FULL:
            return StorageFull(uri, str(cause))
    free = free_bytes(uri)
    if free is not None and free < LEAST_FREE_BYTES:
        return StorageFull(uri, f"{free} bytes are free")
    return None


def free_bytes(uri: str) -> int | None:
    """What an unprivileged process may still write; None where the file system cannot tell."""
    try:
        store = open_store(uri)
        if store.files.staged:
            return None
        folder = local_path(store, "")
        present = next((one for one in (folder, *folder.parents) if one.exists()), Path("/"))
        told = os.statvfs(present)
    except (InvalidInput, OSError):
        return None
    return told.f_bavail * told.f_frsize if told.f_blocks else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, those of its group, and what each was raised from."""
    waiting, known = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        yield one
        inner = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting.extend(e for e in (*inner, one.__cause__, one.__context__) if e is not None)
