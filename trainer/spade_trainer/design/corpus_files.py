"""Rows of a corpus file, one after another and by their place: JSON lines or Parquet, in a folder, in S3, or shipped.

Nothing is held in memory but the row that is read.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import resources
from typing import IO, Any
from urllib.parse import urlsplit

import fsspec

from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_trainer.store.s3 import open_s3

WHERE = "environments.corpus.uri"
REMEDY = "Use package:, file:/// or s3://BUCKET/KEY."
S3_TRIES = 5
"""Of each read, by the library itself: a corpus is read here and there, while designers wait."""
MAX_LINE_BYTES = 64 * 2**20
"""A longer line is no document of ours and is skipped."""
Row = tuple[int, dict[str, Any] | None]
"""Its place (a line's first byte, or a row's number), and its content if that is an object."""


class CorpusNotFound(InvalidInput):
    """There is no corpus at this URI."""


def open_uri(uri: str) -> AbstractContextManager[IO[bytes]]:
    """The file at a URI, for reading: `package:NAME`, which we ship, or a file of a folder or of S3.

    Compression follows from the name's ending. Raises CorpusNotFound, InvalidInput if the scheme is not supported or
    reading is refused, and InfrastructureFault if storage fails.
    """
    parts = urlsplit(uri)
    if parts.scheme == "package":
        file = resources.files("spade_trainer.design") / "corpora" / f"{parts.path}.jsonl"
        if "/" in parts.path or not file.is_file():
            raise CorpusNotFound(WHERE, f"{uri} is not shipped", remedy="Use package:mini.")
        return file.open("rb")
    if parts.scheme == "s3":
        return _opened(uri, lambda: open_s3(tries=S3_TRIES).open(f"{parts.netloc}{parts.path}"))
    if parts.scheme != "file" or parts.netloc:
        raise InvalidInput(WHERE, f"{uri} is no URI that can be read", remedy=REMEDY)
    return _opened(uri, lambda: fsspec.open(uri, "rb", compression="infer").open())


def _opened(uri: str, open_file: Callable[[], IO[bytes]]) -> IO[bytes]:
    try:
        return open_file()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise CorpusNotFound(WHERE, f"{uri} does not exist") from error
    except (ValueError, ImportError, PermissionError) as error:
        raise InvalidInput(WHERE, f"{uri} cannot be read: {error}", remedy=REMEDY) from error
    except OSError as error:
        raise InfrastructureFault(f"opening the corpus {uri} failed: {error}") from error


def is_parquet(uri: str) -> bool:
    """Whether the name says that it is a Parquet file; all others are JSON lines."""
    return urlsplit(uri).path.lower().endswith(".parquet")


def rows(uri: str) -> Iterator[Row]:
    """All rows in file order; blank lines are left out. Raises as `open_uri` does, and InvalidInput for a file that is
    no Parquet although its name says so.
    """
    with open_uri(uri) as file:
        yield from _parquet_rows(uri, file) if is_parquet(uri) else _json_rows(file)


def row_at(uri: str, place: int) -> dict[str, Any] | None:
    """The row at a place, as `rows` told it; None if it is none any more."""
    with open_uri(uri) as file:
        if is_parquet(uri):
            return _parquet_row(uri, file, place)
        file.seek(place)
        return entry_of_line(file.readline(MAX_LINE_BYTES + 1))


def entry_of_line(line: bytes) -> dict[str, Any] | None:
    """The JSON object in a line, or None if it holds something else. Bytes that are no UTF-8 are replaced."""
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        entry = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _json_rows(file: IO[bytes]) -> Iterator[Row]:
    place = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        start, place = place, place + len(line)
        whole = line.endswith(b"\n") or len(line) <= MAX_LINE_BYTES
        while not whole:
            rest = file.readline(MAX_LINE_BYTES)
            place += len(rest)
            whole = not rest or rest.endswith(b"\n")
        if line.strip():
            yield start, entry_of_line(line)


def _parquet_rows(uri: str, file: IO[bytes]) -> Iterator[Row]:
    number = 0
    for batch in _parquet(uri, file).iter_batches(batch_size=64):
        for entry in batch.to_pylist():
            yield number, entry
            number += 1


def _parquet_row(uri: str, file: IO[bytes], place: int) -> dict[str, Any] | None:
    whole = _parquet(uri, file)
    first = 0
    for group in range(whole.num_row_groups):
        size = whole.metadata.row_group(group).num_rows
        if place < first + size:
            found: list[dict[str, Any]] = whole.read_row_group(group).slice(place - first, 1).to_pylist()
            return found[0]
        first += size
    return None


def _parquet(uri: str, file: IO[bytes]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(WHERE, f"{uri} is no Parquet file: {error}", remedy="Is it whole?") from error
