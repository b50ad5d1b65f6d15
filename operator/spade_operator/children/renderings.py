"""What is remembered of rendered manifests, so that a pass over an unchanged family renders none.

A builder of children is pure: equal inputs give the same bytes. So the digests of what it made last hold for as long as
its inputs are equal to those of then. Nothing else decides that: no time, no version, no event. The manifests
themselves are not kept; whoever has to write one renders it again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spade_contracts.labels import HASH_ANNOTATION
from spade_operator.children.manifests import Manifest
from spade_operator.remembered import Remembered

REMEMBERED = 8192
"""Builders of all families: about seven for each run."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A manifest by what tells it from all others."""

    kind: str
    name: str
    digest: str


def mark_of(manifest: Manifest) -> Mark:
    """The mark of a manifest."""
    meta = manifest["metadata"]
    return Mark(manifest["kind"], meta["name"], meta["annotations"][HASH_ANNOTATION])


class Renderings:
    """Marks of what each builder made last for each family. Inputs must be values that nobody changes."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._known: Remembered[tuple[str, Callable[..., Any]], object, tuple[Mark, ...]] = Remembered(remembered)

    def marks(
        self, family: str, builder: Callable[..., list[Manifest]], *inputs: object, **named: object
    ) -> tuple[Mark, ...]:
        """Marks of what the builder makes of these inputs, in its order. family: UID of the family's head."""
        return self._known.made(
            (family, builder), (inputs, named), lambda: tuple(map(mark_of, builder(*inputs, **named)))
        )
