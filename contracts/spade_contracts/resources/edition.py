"""Which edition of a kind's definition an API server has: the product's version, and a digest of what it accepts.

The digest leaves out what is for people only, so that better words in a definition are no other edition.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from spade_contracts import __version__

FOR_PEOPLE = ("description", "title", "message", "messageExpression")
DIGEST_CHARACTERS = 12
STAMP = re.compile(r"^(\w+), SPADE (\S{1,40}), edition ([0-9a-f]{12})$")


@dataclass(frozen=True)
class Edition:
    """What a stamp says."""

    kind: str
    version: str
    """Of the product that the definition came with; for people, because only the digest tells editions apart."""
    digest: str


def edition(kind: str, schema: dict[str, Any]) -> str:
    """The stamp of a definition with this schema: `SpadeRun, SPADE 0.1.0, edition 3f9c2a7b1d04`."""
    text = json.dumps(_accepted(schema), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{kind}, SPADE {__version__}, edition {digest}"


def read_edition(stamp: str) -> Edition | None:
    """What a stamp says; None for a text that is none."""
    found = STAMP.match(stamp)
    return Edition(*found.groups()) if found else None


def _accepted(node: Any) -> Any:
    """A schema without what is for people. Names of fields are kept, whatever they are."""
    if isinstance(node, list):
        return [_accepted(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _accepted(inner) for name, inner in value.items()} if key == "properties" else _accepted(value)
        for key, value in node.items()
        if key not in FOR_PEOPLE
    }
