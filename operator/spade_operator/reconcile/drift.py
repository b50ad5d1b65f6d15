"""A child that somebody else changed or deleted: what the answer to an apply shows of it, and how it is told.

An apply that changes nothing is no repair: whoever scales a Deployment that is left to him, or adds a label of his own,
is not told of.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from spade_contracts.labels import FIELD_MANAGER, HASH_ANNOTATION, RUN, RUN_UID
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import child_name
from spade_operator.children.policies import CLOSING
from spade_operator.facts import Applied, Repairs
from spade_operator.keys import run_key
from spade_operator.kube import Object
from spade_operator.reconcile.events import DRIFT_REPAIRED, EventType, News, Regarding, cut
from spade_operator.records import Kind, Meta, Record

FREE_REPAIRS = 3
"""So many in a row come at once; then each waits longer than the one before."""
MAX_WAIT_SECONDS = 20.0
"""What keeps sandboxes closed is among the children, so none is left alone for longer."""
REST_SECONDS = 600.0
"""A child that was left alone for so long starts anew."""
TELL_AGAIN_SECONDS = 300.0
"""One Event about a child in so long."""


class Drift(StrEnum):
    """What somebody else did."""

    CHANGED = "changed"
    DELETED = "deleted"


def is_repair(known: Record | None, applied: Applied | None, manifest: Manifest) -> bool:
    """Whether an apply can only be a repair: the same content was applied for the same head before."""
    if applied is None or applied.run_uid != manifest["metadata"]["labels"][RUN_UID]:
        return False
    same = applied.digest == _digest(manifest)
    return same and (known is None or known.meta.uid != applied.uid or known.meta.edition != applied.edition)


def drift(known: Record | None, applied: Applied | None, manifest: Manifest, answer: Meta, stamp: str) -> Drift | None:
    """What our apply made good, if anything. `known`: the child before it; `stamp`: see `stamp_of`."""
    if applied is not None and applied.run_uid != answer.run_uid:
        applied = None
    if applied is not None and applied.uid != answer.uid:
        return Drift.DELETED
    if known is None:
        # A Secret: it cannot be read, so only the answer shows whether the apply changed anything.
        unasked = applied is not None and applied.digest == _digest(manifest) and applied.stamp != stamp
        return Drift.CHANGED if unasked else None
    if known.meta.uid != answer.uid or (applied is None and not known.meta.foreign):
        # The first apply of a new operator may change an object that is as we left it: the API server does not store
        # empty lists, and takes one that is written again for a change.
        return None
    ours = _digest(manifest) != (known.meta.hash if applied is None else applied.digest)
    return Drift.CHANGED if not ours and known.meta.edition != answer.edition else None


def stamp_of(answer: Object) -> str:
    """When the API server last changed anything in an object because our apply asked for it; it leaves that time as it
    is when an apply changes nothing.
    """
    times = (
        entry.get("time", "")
        for entry in answer.get("metadata", {}).get("managedFields") or []
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"
    )
    return max(times, default="")


def opens_sandboxes(manifest: Manifest, what: Drift) -> bool:
    """Whether sandboxes may have been open: of a policy that was changed nobody knows whom it let through."""
    meta = manifest["metadata"]
    if manifest["kind"] != Kind.NETWORK_POLICY:
        return False
    return what is Drift.CHANGED or meta["name"] in {child_name(meta["labels"][RUN], closing) for closing in CLOSING}


def wait_seconds(repairs: Repairs | None) -> float:
    """How long after the latest repair the next one comes at the earliest."""
    if repairs is None or repairs.count < FREE_REPAIRS:
        return 0.0
    return float(min(MAX_WAIT_SECONDS, 2 ** min(repairs.count - FREE_REPAIRS, 10)))


def may_repair(repairs: Repairs | None, now: datetime) -> bool:
    """Whether a child may be repaired now: a fight must not burn the API server."""
    return repairs is None or now - repairs.at >= timedelta(seconds=wait_seconds(repairs))


def repaired(before: Repairs | None, now: datetime) -> Repairs:
    """The count with this repair, and whether it is told now (`told_at` is now)."""
    if before is None or now - before.at >= timedelta(seconds=REST_SECONDS):
        return Repairs(1, now, now)
    again = now - before.told_at >= timedelta(seconds=TELL_AGAIN_SECONDS)
    return Repairs(before.count + 1, now, now if again else before.told_at)


def repair_news(child: Meta, what: Drift, repairs: Repairs) -> News:
    """The Event about a repair, on the head of the family."""
    head = run_key(child.namespace, child.run)
    text = f"{child.kind} {child.name} was {what} by somebody else and has been applied again."
    if repairs.count > 1:
        text += (
            f" That is repair {repairs.count} of it in a row; the next one waits {wait_seconds(repairs):.0f} s. "
            f"The API server's audit log says who it is."
        )
    about = Regarding(head.kind, head.namespace, head.name, child.run_uid)
    return News(about, EventType.WARNING, DRIFT_REPAIRED, DRIFT_REPAIRED, cut(text), child.resource_version)


def _digest(manifest: Manifest) -> str:
    return str(manifest["metadata"]["annotations"][HASH_ANNOTATION])
