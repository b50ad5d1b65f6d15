"""Documents that ground the designer (method.md §7)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from spade_contracts.errors import InvalidInput
from spade_trainer.design.draws import Choose

MIN_NAME_CHARACTERS = 6
"""A shorter name could stand in any text."""


class CorpusNotFound(InvalidInput):
    """There is no corpus at this URI."""


@dataclass(frozen=True)
class Document:
    """One document. Its metadata is never shown to the designer."""

    id: str
    text: str
    metadata: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """By what a program would give it away: title and name, if its metadata has them."""
        known = (self.metadata.get(key) for key in ("title", "name"))
        return tuple(name for name in known if isinstance(name, str) and len(name) >= MIN_NAME_CHARACTERS)


def load_corpus(uri: str) -> tuple[Document, ...]:
    """All documents of a corpus, in file order: `package:NAME`, which we ship, or `file:///path`, as JSON lines.

    Blank lines, lines that are no JSON object and documents without text are skipped. Raises CorpusNotFound, and
    InvalidInput if no document is left or the URI's scheme is not supported.
    """
    documents = tuple(parse_corpus(_lines(uri)))
    if not documents:
        raise InvalidInput(
            "environments.corpus.uri", f"{uri} holds no document", remedy='Write one {"text": ...} object a line.'
        )
    return documents


def parse_corpus(lines: Iterable[str]) -> Iterable[Document]:
    """Documents out of JSON lines: the text is `orig_doc`, or `text` if that is missing or empty.

    An id is the line's own `id`, if it has one, or else the document's number.
    """
    number = 0
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        text = (entry.get("orig_doc") or entry.get("text")) if isinstance(entry, dict) else None
        if not isinstance(text, str) or not text.strip():
            continue
        metadata = {key: value for key, value in entry.items() if key not in ("orig_doc", "text")}
        yield Document(str(entry.get("id", number)), text, metadata)
        number += 1


def shortened(text: str, max_words: int) -> str:
    """The text, or its first `max_words` words joined by single spaces, with a note that says so."""
    words = text.split()
    if len(words) <= max_words:
        return text
    return f"{' '.join(words[:max_words])}\n[Document truncated at ~{max_words} words]"


def draw_document(documents: tuple[Document, ...], choose: Choose) -> Document:
    """One document, uniformly. Vector V18."""
    return documents[choose(len(documents), 1)[0]]


def _lines(uri: str) -> list[str]:
    """The lines of a corpus file."""
    parts = urlsplit(uri)
    if parts.scheme == "package":
        file = resources.files("spade_trainer.design") / "corpora" / f"{parts.path}.jsonl"
        if "/" in parts.path or not file.is_file():
            raise CorpusNotFound("environments.corpus.uri", f"{uri} is not shipped", remedy="Use package:mini.")
        return file.read_text(encoding="utf-8").splitlines()
    if parts.scheme != "file" or parts.netloc:
        raise InvalidInput(
            "environments.corpus.uri", f"{uri} is not supported by this version", remedy="Use package: or file:///."
        )
    try:
        return Path(unquote(parts.path)).read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise CorpusNotFound("environments.corpus.uri", f"{uri} does not exist") from error
