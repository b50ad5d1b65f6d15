"""Reading programs that exist already, from a folder, a file, or rows of JSONL or Parquet.

What is read is judged by the gate, so nothing is refused here for what it says: bytes that are no text, empty files and
files too long to be programs become entries like all others.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.store.objects import local_path, open_store

COLUMNS = ("program", "source", "code")
"""Columns that hold a program; the first that a row has counts."""
NAMES = ("name", "id")
"""Columns that hold its name; without one, rows are numbered from 0."""
MAX_BYTES = 2 * 2**20
"""Of a longer file only so much is read: more than the longest program that any setting allows."""
MAX_PROGRAMS = 100_000
MAX_TOTAL_BYTES = 256 * 2**20
"""Every worker holds all of them in memory."""


@dataclass(frozen=True)
class ProgramFile:
    """One program as it was found."""

    name: str
    """Path below the folder, `FILE.py`, or `FILE.jsonl#NAME`."""
    content: bytes


def read_programs(uri: str) -> tuple[ProgramFile, ...]:
    """The programs at `file:///PATH`, sorted by name: a folder (its `*.py`, at any depth), a file, or rows of one.

    Raises InvalidInput that says what to write when nothing is there, it cannot be read, or it holds no program.
    """
    store = open_store(uri)
    if store.files.staged:
        raise InvalidInput(uri, "is no folder or file", remedy="Copy the programs to a volume (file:///path).")
    path = local_path(store, "")
    try:
        found = tuple(_found(path))
    except OSError as error:
        raise InvalidInput(
            uri, f"cannot be read: {error.strerror}", remedy="Correct the path, or the rights."
        ) from error
    if not found:
        raise InvalidInput(uri, "holds no program", remedy="Put *.py files there, or rows with a column `program`.")
    size = sum(len(program.content) for program in found)
    if len(found) > MAX_PROGRAMS or size > MAX_TOTAL_BYTES:
        most = f"at most {MAX_PROGRAMS} programs and {MAX_TOTAL_BYTES} bytes at once"
        raise InvalidInput(uri, f"holds {len(found)} programs of {size} bytes", remedy=f"Split them: {most}.")
    names = [program.name for program in found]
    twice = next((name for name, after in zip(sorted(names), sorted(names)[1:], strict=False) if name == after), None)
    if twice is not None:
        raise InvalidInput(uri, f"has two programs named {twice}", remedy="Name each once.")
    return tuple(sorted(found, key=lambda program: program.name))


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
