"""Where the documents of a corpus lie in its file: read once, by preparation, and kept in run storage.

A worker opens the index and reads the documents that it draws. The index says how many rows were left out, and why.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spade_contracts.config import CorpusConfig
from spade_contracts.config.environments import CorpusDuplicates
from spade_contracts.errors import InvalidInput
from spade_contracts.statuses import LeftOut
from spade_sandbox.verify.contamination import ContaminationIndex, load_index
from spade_trainer.design.corpus import Document, document_of
from spade_trainer.design.corpus_files import WHERE, open_uri, row_at, rows
from spade_trainer.design.likeness import Earlier, digest, words_of
from spade_trainer.store import layout
from spade_trainer.store.objects import Store, create_same, exists, read_bytes


class CorpusChanged(InvalidInput):
    """The corpus is another file than the one that the run was prepared with."""


@dataclass(frozen=True)
class CorpusIndex:
    """The documents of a corpus file. Arrays have the shape (documents,)."""

    size: int
    """Bytes of the file, uncompressed."""
    places: NDArray[np.int64]
    """Where each document begins."""
    numbers: NDArray[np.int64]
    """Their numbers among all rows with a text; the id of a document that has none of its own."""
    left_out: dict[str, int]
    """Rows that are no documents, by reason; blank lines are not counted."""


@dataclass(frozen=True)
class Corpus:
    """A corpus by its index: a document is read when it is asked for."""

    uri: str
    index: CorpusIndex

    def __len__(self) -> int:
        return int(self.index.places.size)

    def __getitem__(self, number: int) -> Document:
        """The document of that number. Raises CorpusChanged if the file has another row there."""
        found = document_of(row_at(self.uri, int(self.index.places[number])), int(self.index.numbers[number]))
        if found is None:
            raise _changed(self.uri)
        return found


def index_corpus(settings: CorpusConfig) -> CorpusIndex:
    """Read the whole corpus once, and keep the places of its documents.

    Raises CorpusNotFound, and InvalidInput if no document is left or the file cannot be read as its name says.
    """
    listed = load_index(settings.contamination.lists, settings.contamination.words)
    earlier = Earlier(settings.near, lambda place: _text_at(settings.uri, place))
    known: set[bytes] = set()
    places: list[int] = []
    numbers: list[int] = []
    left_out: Counter[str] = Counter()
    number = 0
    for place, entry in rows(settings.uri):
        document = document_of(entry, number)
        if document is None:
            left_out[LeftOut.UNREADABLE if entry is None else LeftOut.WITHOUT_TEXT] += 1
            continue
        number += 1
        why = _why_not(document.text, place, settings, known, earlier, listed)
        if why is not None:
            left_out[why] += 1
            continue
        places.append(place)
        numbers.append(number - 1)
    if not places:
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items())) or "no line at all"
        raise InvalidInput(
            WHERE, f"{settings.uri} holds no document: {told}", remedy='Write one {"text": ...} object a line.'
        )
    return CorpusIndex(
        _size(settings.uri), np.array(places, np.int64), np.array(numbers, np.int64), dict(sorted(left_out.items()))
    )


def open_corpus(store: Store, settings: CorpusConfig) -> Corpus | tuple[Document, ...]:
    """The corpus of a run; empty if it has none. Its index is the one in run storage, or is made now.

    Raises as `index_corpus` does, and CorpusChanged if the file has another size than the index says.
    """
    if not settings.uri:
        return ()
    if not exists(store, layout.CORPUS_INDEX):
        return Corpus(settings.uri, index_corpus(settings))
    index = _index_from(read_bytes(store, layout.CORPUS_INDEX))
    if _size(settings.uri) != index.size:
        raise _changed(settings.uri)
    return Corpus(settings.uri, index)


def write_index(store: Store, index: CorpusIndex) -> None:
    """Keep a corpus' index in run storage. Raises StorageConflict if another one is there."""
    create_same(store, layout.CORPUS_INDEX, _bytes(index))


def _why_not(  # noqa: PLR0917
    text: str,
    place: int,
    settings: CorpusConfig,
    known: set[bytes],
    earlier: Earlier,
    listed: ContaminationIndex,
) -> LeftOut | None:
    """Why a text is left out, cheapest question first; one that stays is remembered in `known` and `earlier`."""
    if settings.duplicates is not CorpusDuplicates.KEPT:
        own = digest(words_of(text))
        if own in known:
            return LeftOut.DUPLICATE
        known.add(own)
    if listed.lists:
        overlaps = listed.overlaps((text,))
        if max((overlap.count for overlap in overlaps), default=0) > settings.contamination.max_overlaps:
            return LeftOut.CONTAMINATED
    if settings.duplicates is CorpusDuplicates.NEAR and earlier.like(text, place):
        return LeftOut.NEAR_DUPLICATE
    return None


def _text_at(uri: str, place: int) -> str:
    document = document_of(row_at(uri, place), 0)
    return document.text if document is not None else ""


def _size(uri: str) -> int:
    with open_uri(uri) as file:
        return int(file.seek(0, 2))


def _changed(uri: str) -> CorpusChanged:
    remedy = "Put the old file back, or make a run of another name."
    return CorpusChanged(WHERE, f"{uri} is not the file that this run was prepared with", remedy=remedy)


def _bytes(index: CorpusIndex) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = {"size": str(index.size), "left_out": json.dumps(index.left_out, sort_keys=True)}
    schema = pa.schema([("place", pa.int64()), ("number", pa.int64())], metadata=about)
    out = pa.BufferOutputStream()
    pq.write_table(pa.table([pa.array(index.places), pa.array(index.numbers)], schema=schema), out, compression="zstd")
    return bytes(out.getvalue())


def _index_from(content: bytes) -> CorpusIndex:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    about: dict[bytes, Any] = table.schema.metadata
    return CorpusIndex(
        size=int(about[b"size"]),
        places=table.column("place").to_numpy(),
        numbers=table.column("number").to_numpy(),
        left_out=json.loads(about[b"left_out"]),
    )
