"""Run storage on a folder: a mounted volume or a local one. What is created appears whole, by a hard link."""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spade_contracts.errors import InvalidInput

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class FolderFiles:
    """See `Files`. Paths are absolute."""

    staged: bool = False

    def exists(self, path: str) -> bool:
        """See `Files`."""
        return Path(path).exists()

    def read(self, path: str) -> bytes:
        """See `Files`."""
        return Path(path).read_bytes()

    def chunks(self, path: str) -> Iterator[bytes]:
        """See `Files`."""
        with Path(path).open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def listed(self, folder: str) -> tuple[str, ...]:
        """See `Files`."""
        try:
            return tuple(os.listdir(folder))
        except FileNotFoundError:
            return ()

    def create(self, path: str, content: bytes) -> bool:
        """See `Files`. Raises InvalidInput if the volume has no hard links."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _write_temporary(target, content)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise InvalidInput(
                    "storage.uri",
                    f"{target.parent} has no hard links",
                    remedy="Use a volume with a POSIX file system.",
                ) from error
            raise
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return True

    def replace(self, path: str, content: bytes) -> None:
        """See `Files`."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_temporary(target, content).replace(target)
        _sync_folder(target.parent)

    def remove(self, path: str) -> None:
        """See `Files`."""
        target = Path(path)
        try:
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()
        except FileNotFoundError:
            return

    def upload(self, source: Path, path: str) -> None:
        """See `Files`."""
        self.replace(path, source.read_bytes())

    def download(self, path: str, target: Path) -> None:
        """See `Files`."""
        shutil.copyfile(path, target)


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
