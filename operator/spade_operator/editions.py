"""Are the CustomResourceDefinitions of the API server this operator's? While they are not, nothing is decided.

Under another edition a status of ours would lose fields that the server does not know, or those of a newer operator,
and with them what a run must remember. The published schemas tell the edition to a namespaced operator too.
"""

import asyncio
import logging
from collections.abc import Mapping

from spade_contracts.errors import SpadeError
from spade_contracts.labels import GROUP
from spade_contracts.resources.crd import CUSTOM_RESOURCES, schema
from spade_contracts.resources.edition import Edition, edition, read_edition
from spade_operator.facts import Facts
from spade_operator.keys import Key
from spade_operator.kube import Kube, Object
from spade_operator.lists import queue_all
from spade_operator.queue import WorkQueue

LOOK_SECONDS = 5.0
RETRY_SECONDS = 1.0
EXTENSION = "x-kubernetes-group-version-kind"
TO_MEND = (
    "Nothing is done until they agree: apply the crds/ of the operator's version (kubectl apply --server-side "
    "--force-conflicts -f crds/), or let the operator be of theirs (docs/upgrade.md)."
)
log = logging.getLogger("spade.editions")


def ours() -> Mapping[str, Edition]:
    """The editions that this operator is made for, by kind."""
    stamps = (edition(resource.kind, schema(resource)) for resource in CUSTOM_RESOURCES)
    return {found.kind: found for stamp in stamps if (found := read_edition(stamp)) is not None}


def published(document: Object) -> Mapping[str, Edition | None]:
    """The editions of our kinds in an OpenAPI document; None for one that carries no stamp."""
    result: dict[str, Edition | None] = {}
    for found in ((document.get("components") or {}).get("schemas") or {}).values():
        for marks in found.get(EXTENSION) or []:
            if marks.get("group") == GROUP and "spec" in (found.get("properties") or {}):
                result[str(marks.get("kind"))] = read_edition(str(found.get("title", "")))
    return result


def difference(wanted: Mapping[str, Edition], present: Mapping[str, Edition | None]) -> str:
    """What is said of definitions of another edition; '' when all are ours."""
    words = []
    for kind, own in wanted.items():
        theirs = present.get(kind)
        if theirs is None:
            words.append(f"{kind} is {'older than editions' if kind in present else 'missing'}")
        elif theirs.digest != own.digest:
            words.append(f"{kind} is of SPADE {theirs.version} (edition {theirs.digest})")
    if not words:
        return ""
    version = next(iter(wanted.values())).version
    numbers = ", ".join(f"{kind} {own.digest}" for kind, own in wanted.items())
    return (
        f"Of the installed definitions, {'; '.join(words)}. The operator is of SPADE {version} ({numbers}). {TO_MEND}"
    )


async def first_look(kube: Kube, facts: Facts) -> str:
    """Look until it works: before, nothing may be decided. Where the schemas were published."""
    while True:
        try:
            return await _look(kube, facts, "")
        except SpadeError as error:
            log.warning("the definitions cannot be read yet: %s", error)
            await asyncio.sleep(RETRY_SECONDS)


async def keep_looking(
    kube: Kube, facts: Facts, queue: WorkQueue[Key], place: str, seconds: float = LOOK_SECONDS
) -> None:
    """Look again until cancelled; a change gives everything a pass. An API server that does not answer is no change."""
    while True:
        await asyncio.sleep(seconds)
        before = facts.strange_definitions
        try:
            place = await _look(kube, facts, place)
        except SpadeError as error:
            log.warning("the definitions cannot be read: %s", error)
        if facts.strange_definitions != before:
            queue_all(facts, queue.add)


async def _look(kube: Kube, facts: Facts, place: str) -> str:
    place, document = await kube.schemas(place)
    if document is not None:
        facts.strange_definitions = difference(ours(), published(document))
        if facts.strange_definitions:
            log.error("%s", facts.strange_definitions)
    return place
