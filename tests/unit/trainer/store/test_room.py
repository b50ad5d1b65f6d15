"""What failed for want of room in run storage is told apart, however libraries wrapped it."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from spade_trainer.store import folder
from spade_trainer.store.objects import create, open_store
from spade_trainer.store.room import LEAST_FREE_BYTES, StorageFull, free_bytes, storage_full


def raised_from(cause: BaseException) -> Exception:
    """What a library raises that does not say why."""
    try:
        raise RuntimeError("a writer failed") from cause
    except RuntimeError as error:
        return error


FULL = OSError(errno.ENOSPC, "No space left on device")
OVER_QUOTA = OSError(errno.EDQUOT, "Disk quota exceeded")


@pytest.mark.parametrize(
    "error",
    [FULL, OVER_QUOTA, raised_from(FULL), ExceptionGroup("", [ValueError(), raised_from(raised_from(OVER_QUOTA))])],
)
def test_the_file_system_s_words_are_found_below_others(error: BaseException, tmp_path: Path) -> None:
    found = storage_full(tmp_path.as_uri(), error)
    assert found is not None
    assert not found.permanent
    assert tmp_path.as_uri() in str(found)


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), raised_from(KeyError("a bug"))])
def test_another_failure_is_none_of_it_while_there_is_room(error: BaseException, tmp_path: Path) -> None:
    assert storage_full(tmp_path.as_uri(), error) is None


def test_a_failure_without_a_cause_is_judged_by_the_room_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(free: int) -> None:
        figures = SimpleNamespace(f_bavail=free // 4096, f_frsize=4096, f_blocks=10**6)
        monkeypatch.setattr(os, "statvfs", lambda _: figures)

    silent = RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")
    told(LEAST_FREE_BYTES - 4096)
    assert storage_full(tmp_path.as_uri(), silent) is not None
    told(LEAST_FREE_BYTES)
    assert storage_full(tmp_path.as_uri(), silent) is None


def test_a_loop_of_causes_ends(tmp_path: Path) -> None:
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert storage_full(tmp_path.as_uri(), one) is None


def test_room_is_that_of_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    there = free_bytes(tmp_path.as_uri())
    assert there is not None
    assert free_bytes((tmp_path / "not/yet").as_uri()) is not None
    assert free_bytes("s3://bucket/run") is None


def test_a_write_that_failed_leaves_nothing_that_takes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise FULL

    monkeypatch.setattr(folder.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        create(open_store(tmp_path.as_uri()), "units/manifest.json", b"x" * 4096)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []


def test_a_full_storage_is_its_own_sentence() -> None:
    error = StorageFull("file:///s", "0 bytes are free")
    assert storage_full("file:///s", raised_from(error)) is error
