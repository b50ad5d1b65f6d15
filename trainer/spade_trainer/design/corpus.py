"""Documents that ground the designer (method.md §7)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from spade_trainer.design.corpus_files import entry_of_line
from spade_trainer.design.draws import Choose

MIN_NAME_CHARACTERS = 6
"""A shorter name could stand in any text."""


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


class Documents(Protocol):
    """Documents by number; a tuple of them is one."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, number: int, /) -> Document:
        """One of them; it may be read from a file now."""


def document_of(entry: Mapping[str, Any] | None, number: int) -> Document | None:
    """The document in a row: the text is `orig_doc`, or `text` if that is missing or empty; None if it has none.

    An id is the row's own `id`, if it has one, or else the document's number.
    """
    text = (entry.get("orig_doc") or entry.get("text")) if entry is not None else None
    if entry is None or not isinstance(text, str) or not text.strip():
        return None
    metadata = {key: value for key, value in entry.items() if key not in ("orig_doc", "text")}
    own = entry.get("id")
    return Document(str(number if own is None else own), text, metadata)


def parse_corpus(lines: Iterable[str]) -> Iterable[Document]:
    """Documents out of JSON lines, numbered from 0; lines without one are skipped."""
    number = 0
    for line in lines:
        document = document_of(entry_of_line(line.encode("utf-8", "surrogatepass")), number)
        if document is not None:
            yield document
            number += 1


class Cut(StrEnum):
    """The limit that a document was too long for."""

    WORDS = "words"
    """corpus.maxWords."""
    TOKENS = "tokens"
    """corpus.maxTokens."""
    CONTEXT = "context"
    """What the model reads at once, with the rest of the request."""


def shortened(text: str, max_words: int) -> str:
    """The text, or its first `max_words` words joined by single spaces, with a note that says so. Vector V18."""
    words = text.split()
    if len(words) <= max_words:
        return text
    return f"{' '.join(words[:max_words])}\n[Document truncated at ~{max_words} words]"


def shortened_to_tokens(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The text, cut like `shortened` at as many words as have at most `max_tokens` tokens with the note; one at least.

    count: tokens of a text.
    """
    tokens = count(text)
    if tokens <= max_tokens:
        return text
    words = len(text.split())
    while tokens > max_tokens and words > 1:
        words = max(1, min(words - 1, words * max_tokens // tokens))
        tokens = count(shortened(text, words))
    return shortened(text, words)


def draw_document(documents: Documents, choose: Choose) -> Document:
    """One document, uniformly. Vector V18."""
    return documents[choose(len(documents), 1)[0]]
