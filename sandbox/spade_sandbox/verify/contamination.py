"""Stage `contamination`: does the program repeat an evaluation set? (design §10, method.md §4.5, §13.1)

Word n-grams of the program's text and of what it was seen to say are looked up in lists of evaluation texts, which are
read once. Words are compared without case and punctuation.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import fsspec
import numpy as np
from numpy.typing import NDArray

from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.trial import Program

STAGE = Stage.CONTAMINATION
_WORD = re.compile(r"\w+")
_USERS_ERRORS = (
    FileNotFoundError, IsADirectoryError, PermissionError, ValueError, ImportError, gzip.BadGzipFile, EOFError,
)  # fmt: skip
_JSON_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


@dataclass(frozen=True)
class Overlap:
    """What a text shares with one list."""

    uri: str
    count: int
    """Distinct n-grams shared."""
    example: str
    """The first of them in the text."""


@dataclass(frozen=True)
class ContaminationIndex:
    """Lists of evaluation texts, as hashes of their n-grams."""

    words: int
    """Length of an n-gram."""
    lists: tuple[tuple[str, NDArray[np.uint64]], ...]
    """Per list its URI and its hashes, sorted."""
    too_short: int
    """Entries shorter than an n-gram; nothing can be compared with them."""

    def overlaps(self, texts: Sequence[str]) -> tuple[Overlap, ...]:
        """For each list that shares an n-gram with a text, what is shared. An n-gram never spans two texts."""
        grams = list(dict.fromkeys(gram for text in texts for gram in _grams(text, self.words)))
        hashes = np.array([_hashed(gram) for gram in grams], dtype=np.uint64)
        found = []
        for uri, known in self.lists:
            shared = np.flatnonzero(np.isin(hashes, known))
            if shared.size:
                found.append(Overlap(uri, int(shared.size), grams[shared[0]]))
        return tuple(found)


def load_index(uris: Sequence[str], words: int) -> ContaminationIndex:
    """Read lists by URI (fsspec), compressed ones too, and index their n-grams of so many words.

    A list whose name ends in .jsonl holds one JSON value a line, and every string in it is an entry; any other list is
    text, and paragraphs are its entries. Blocks while it reads. Raises InvalidInput for a list that is not there or
    is not what its name says, and InfrastructureFault when storage fails.
    """
    lists: list[tuple[str, NDArray[np.uint64]]] = []
    too_short = 0
    for uri in uris:
        hashes: set[int] = set()
        for entry in _entries(uri):
            grams = [_hashed(gram) for gram in _grams(entry, words)]
            too_short += not grams
            hashes.update(grams)
        lists.append((uri, np.array(sorted(hashes), dtype=np.uint64)))
    return ContaminationIndex(words, tuple(lists), too_short)


async def check_contamination(program: Program, index: ContaminationIndex | None) -> Verdict | None:
    """None if the program shares no more n-grams with a list than tolerated, or there is no list."""
    if index is None or not index.lists:
        program.facts["contamination"] = "nothing to compare with"
        return None
    overlaps = index.overlaps((program.source, *_said(program)))
    most = max(overlaps, key=lambda overlap: overlap.count, default=None)
    program.facts["contamination_overlaps"] = float(most.count) if most is not None else 0.0
    if most is None or most.count <= program.settings.contamination.max_overlaps:
        return None
    message = f"{most.count} n-grams of {index.words} words are those of {most.uri}, such as {most.example!r}"
    return program.rejection(STAGE, Reason.CONTAMINATED, message)


def _said(program: Program) -> Iterator[str]:
    """Texts that the program was seen to say."""
    for trace in program.traces:
        for exchange in trace.exchanges:
            try:
                yield from _strings(json.loads(exchange.answer))
            except (ValueError, RecursionError):  # a fault, or an answer too long to be kept whole
                yield exchange.answer


def _entries(uri: str) -> Iterator[str]:
    try:
        with fsspec.open(uri, "rt", encoding="utf-8", compression="infer") as file:
            if uri.lower().endswith(_JSON_ENDINGS):
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield from _strings(_parsed(line, uri, number))
            else:
                yield from _paragraphs(file)
    except _USERS_ERRORS as error:
        raise InvalidInput(uri, f"this list of evaluation texts cannot be read: {error}") from error
    except OSError as error:
        raise InfrastructureFault(f"reading the list of evaluation texts {uri} failed: {error}") from error


def _parsed(line: str, uri: str, number: int) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(uri, f"line {number} is no JSON: {error}", remedy="Write one JSON value a line.") from None


def _paragraphs(lines: Iterator[str]) -> Iterator[str]:
    gathered: list[str] = []
    for line in lines:
        if line.strip():
            gathered.append(line)
        elif gathered:
            yield "".join(gathered)
            gathered = []
    if gathered:
        yield "".join(gathered)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _grams(text: str, words: int) -> Iterator[str]:
    found = _WORD.findall(text.casefold())
    return (" ".join(found[at : at + words]) for at in range(len(found) - words + 1))


def _hashed(gram: str) -> int:
    return int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "replace"), digest_size=8).digest())
