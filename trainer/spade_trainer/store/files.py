"""What a file system must do for run storage; one implementation, one file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from spade_contracts.errors import InfrastructureFault, InvalidInput


class StorageRefused(InvalidInput):
    """Run storage does not let us in, or is not there: no right, no bucket, no credentials. Permanent."""


class StorageUnreachable(InfrastructureFault):
    """Run storage did not do what it was asked within the time given. Temporary."""


class Files(Protocol):
    """Files below a root. Paths are in the file system's own notation, without a slash at the end."""

    @property
    def staged(self) -> bool:
        """Whether libraries that want files need a copy of them on this machine."""

    def exists(self, path: str) -> bool:
        """Whether a file is stored there."""

    def read(self, path: str) -> bytes:
        """The whole content. Raises FileNotFoundError."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """The content in pieces. Raises FileNotFoundError."""

    def listed(self, folder: str) -> tuple[str, ...]:
        """Names directly in a folder, hidden ones too, in no order; a missing folder is empty."""

    def create(self, path: str, content: bytes) -> bool:
        """Store content under a new name, whole or not at all; False if the name was taken (nothing is replaced)."""

    def replace(self, path: str, content: bytes) -> None:
        """Store content under a name, whole, in place of what was there."""

    def remove(self, path: str) -> None:
        """Delete a file or folder with all that is in it; nothing there is fine."""

    def upload(self, source: Path, path: str) -> None:
        """Store a local file, in place of what was there."""

    def download(self, path: str, target: Path) -> None:
        """Copy a stored file to a new local one. Raises FileNotFoundError."""
