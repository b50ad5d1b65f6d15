"""What is remembered of rendered manifests, so that a pass over an unchanged family renders none.

A builder of children is pure: equal inputs give the same bytes. So the digests of what it made last hold for as long as
its inputs are equal to those of then. Nothing else decides that: no time, no version, no event. The manifests
themselves are not kept; whoever has to write one renders it again.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spade_contracts.labels import HASH_ANNOTATION
from spade_operator.children.manifests import Manifest

REMEMBERED = 8192
"""Builders of all families: about seven for each run."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A manifest by what tells it from all others."""

    kind: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Rendering:
    inputs: tuple[object, ...]
    named: Mapping[str, object]
    marks: tuple[Mark, ...]


def mark_of(manifest: Manifest) -> Mark:
    """The mark of a manifest."""
    meta = manifest["metadata"]
    return Mark(manifest["kind"], meta["name"], meta["annotations"][HASH_ANNOTATION])


class Renderings:
    """Marks of what each builder made last for each family. Inputs must be values that nobody changes."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._known: OrderedDict[tuple[str, Callable[..., Any]], _Rendering] = OrderedDict()

    def marks(
        self, family: str, builder: Callable[..., list[Manifest]], *inputs: object, **named: object
    ) -> tuple[Mark, ...]:
        """Marks of what the builder makes of these inputs, in its order. family: UID of the family's head."""
        known = self._known.pop((family, builder), None)
        if known is None or known.inputs != inputs or known.named != named:
            known = _Rendering(inputs, named, tuple(map(mark_of, builder(*inputs, **named))))
        self._known[family, builder] = known
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return known.marks
