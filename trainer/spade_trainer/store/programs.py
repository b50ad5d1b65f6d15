"""Reading programs that exist already, from a folder, a file, or rows of JSONL or Parquet, here or in S3.

What is read is judged by the gate, so nothing is refused here for what it says: bytes that are no text, empty files and
files too long to be programs become entries like all others.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.store.objects import Store, local_path, open_store
from spade_trainer.store.s3 import open_s3
from spade_trainer.store.staging import sha256_of

COLUMNS = ("program", "source", "code")
"""Columns that hold a program; the first that a row has counts."""
NAMES = ("name", "id")
"""Columns that hold its name; without one, rows are numbered from 0."""
MAX_BYTES = 2 * 2**20
"""Of a longer file only so much is read: more than the longest program that any setting allows."""
MAX_PROGRAMS = 100_000
MAX_TOTAL_BYTES = 256 * 2**20
"""Every worker holds all of them in memory."""
AT_ONCE = 256
"""Programs that are asked for in S3 in one go."""


@dataclass(frozen=True)
class ProgramFile:
    """One program as it was found."""

    name: str
    """Path below the folder, `FILE.py`, or `FILE.jsonl#NAME`."""
    content: bytes


def read_programs(uri: str) -> tuple[ProgramFile, ...]:
    """The programs at `file:///PATH` or `s3://BUCKET/KEY`, sorted by name: a folder (its `*.py`, at any depth), a file,
    or rows of one.

    Raises InvalidInput that says what to write when nothing is there, it cannot be read, or it holds no program, and
    StorageUnreachable if S3 fails.
    """
    return read_with_digest(uri)[0]


def read_with_digest(uri: str) -> tuple[tuple[ProgramFile, ...], str]:
    """The programs as `read_programs` gives them, and the digest of what they were read from.

    Of a file it is its own SHA-256; of a folder that of its listing (`listing_digest`).
    """
    store = open_store(uri)
    try:
        found, digest = _stored(uri, store) if store.files.staged else _local(local_path(store, ""))
    except OSError as error:
        remedy = "Correct the path, or the rights."
        raise InvalidInput(uri, f"cannot be read: {error.strerror or 'it does not exist'}", remedy=remedy) from error
    if not found:
        raise InvalidInput(uri, "holds no program", remedy="Put *.py files there, or rows with a column `program`.")
    _check_size(uri, len(found), sum(len(program.content) for program in found))
    programs = tuple(sorted(found, key=lambda program: program.name))
    twice = next((one.name for one, after in pairwise(programs) if one.name == after.name), None)
    if twice is not None:
        raise InvalidInput(uri, f"has two programs named {twice}", remedy="Name each once.")
    return programs, digest or listing_digest(programs)


def listing_digest(programs: Sequence[ProgramFile]) -> str:
    """The SHA-256 of the programs' listing.

    It has a line `SHA-256, two spaces, path, line end` for each program, sorted by path, as `sha256sum` prints it.
    """
    lines = (f"{hashlib.sha256(program.content).hexdigest()}  {program.name}\n" for program in programs)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _check_size(uri: str, programs: int, size: int) -> None:
    if programs > MAX_PROGRAMS or size > MAX_TOTAL_BYTES:
        most = f"at most {MAX_PROGRAMS} programs and {MAX_TOTAL_BYTES} bytes at once"
        raise InvalidInput(uri, f"holds {programs} programs of {size} bytes", remedy=f"Split them: {most}.")


def _local(path: Path) -> tuple[list[ProgramFile], str]:
    """The programs at a path and, of a file, its digest; else an empty one."""
    return list(_found(path)), sha256_of(path) if path.is_file() else ""


def _stored(uri: str, store: Store) -> tuple[list[ProgramFile], str]:
    """The same of what lies in S3. Nothing of it stays on this machine."""
    files = open_s3()
    if "/" in store.root and files.exists(store.root):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / store.root.rpartition("/")[2]
            files.download(store.root, copy)
            return _local(copy)
    sizes = {name: size for name, size in files.sizes(store.root).items() if name.endswith(".py")}
    _check_size(uri, len(sizes), sum(min(size, MAX_BYTES) for size in sizes.values()))
    found = [ProgramFile(name, b"") for name, size in sizes.items() if not size]
    filled = [name for name, size in sizes.items() if size]
    for some in (filled[first : first + AT_ONCE] for first in range(0, len(filled), AT_ONCE)):
        contents = files.beginnings([f"{store.root}/{name}" for name in some], MAX_BYTES)
        found += [ProgramFile(name, content) for name, content in zip(some, contents, strict=True)]
    return found, ""


def _found(path: Path) -> Iterator[ProgramFile]:
    if path.is_dir():
        for file in path.rglob("*.py"):
            if file.is_file():
                yield ProgramFile(file.relative_to(path).as_posix(), _content(file))
    elif path.suffix == ".jsonl":
        yield from _rows(path.name, _json_lines(path))
    elif path.suffix == ".parquet":
        yield from _rows(path.name, _parquet(path))
    else:
        yield ProgramFile(path.name, _content(path))


def _content(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(MAX_BYTES)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InvalidInput(f"{path.name}, line {number}", f"is no JSON: {error}") from error
            if not isinstance(row, dict):
                raise InvalidInput(f"{path.name}, line {number}", "is no JSON object")
            yield row


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            wanted = [name for name in file.schema_arrow.names if name in (*COLUMNS, *NAMES)]
            for batch in file.iter_batches(columns=wanted):
                yield from batch.to_pylist()
    except pa.ArrowInvalid as error:
        raise InvalidInput(path.name, f"is no Parquet file: {error}") from error


def _rows(file: str, rows: Iterator[dict[str, Any]]) -> Iterator[ProgramFile]:
    for number, row in enumerate(rows):
        column = next((name for name in COLUMNS if name in row), None)
        if column is None:
            raise InvalidInput(f"{file}, row {number}", f"has none of the columns {', '.join(COLUMNS)}")
        own = next((row[name] for name in NAMES if row.get(name) not in (None, "")), f"{number:06d}")
        yield ProgramFile(f"{file}#{own}", _bytes(row[column]))


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value[:MAX_BYTES]
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "surrogatepass")[:MAX_BYTES]
