"""Program files of any content: found, read with a bound, and judged without a sandbox when they cannot be read."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spade_contracts.verdicts import Reason, Stage, Verdict, rejected

SUFFIX = ".py"


@dataclass(frozen=True)
class ProgramFile:
    """One file: its text, or the rejection that says why it has none."""

    path: str
    """As it was given or found."""
    source: str | None
    verdict: Verdict | None = None
    """Set exactly if there is no source."""


def find_programs(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths of all programs: files as given, of folders every `*.py` below them, sorted.

    Links to folders are not followed within a folder, so there is no endless descent; a link to a file is that file. A
    path that is named twice is found once. What does not exist is kept, and gets its verdict when it is read.
    """
    found: dict[str, None] = {}
    for path in paths:
        for program in _below(path) if os.path.isdir(path) else (path,):
            found.setdefault(program)
    return tuple(found)


def read_program(path: str, max_bytes: int) -> ProgramFile:
    """Read one file. At most a byte more than `max_bytes` is read, and nothing that could block or never end."""
    try:
        content = _content(path, max_bytes + 1)
    except OSError as error:
        why = error.strerror or str(error)
        return _unread(path, Reason.UNREADABLE, f"the file cannot be read: {why}")
    if len(content) > max_bytes:
        return _unread(path, Reason.TOO_LONG, f"the file has more than the {max_bytes} bytes that are allowed")
    try:
        return ProgramFile(path, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _unread(path, Reason.ENCODING, f"byte {error.start} is not UTF-8: {error.reason}")


def _below(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        yield from (os.path.join(parent, name) for name in sorted(files) if name.endswith(SUFFIX))


def _content(path: str, limit_bytes: int) -> bytes:
    """The beginning of a regular file; a pipe or a device is opened without waiting for it, and refused."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit_bytes)
    finally:
        os.close(descriptor)


def _unread(path: str, reason: Reason, message: str) -> ProgramFile:
    return ProgramFile(path, None, rejected(Stage.PARSE, reason, message))
