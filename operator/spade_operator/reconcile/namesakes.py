"""Objects of somebody else under the name of a child: nothing of theirs is altered, and the refusal names them.

A child is found by its name, so whoever took the name first would lose what he has there: to a forced apply, and
later, through the owner reference that it sets, with the end of the run.
"""

from spade_contracts.labels import RUN
from spade_operator.children.manifests import Manifest
from spade_operator.facts import Facts
from spade_operator.kube import Conflict, Kube, Object, Refused
from spade_operator.lists import METADATA_ONLY
from spade_operator.records import Kind, Meta, Record

TAKEN = 409


def is_ours(there: Meta, manifest: Manifest) -> bool:
    """Whether an object is of the family that wants the manifest, or of a deleted family of its name. The label alone
    makes nothing a child, because anybody may set it, and who removes our labels leaves the owner.
    """
    meta = manifest["metadata"]
    owners = {owner["uid"] for owner in meta.get("ownerReferences", ())}
    return there.owner_uid in owners or (there.run == meta["labels"][RUN] and bool(there.run_uid))


def refused(manifest: Manifest, doing: str) -> Refused:
    """The error that names the object of somebody else."""
    meta = manifest["metadata"]
    what = (
        f"{manifest['kind']} {meta['namespace']}/{meta['name']} is there already and of another family; rename or "
        f"remove it"
    )
    return Refused(doing, TAKEN, what)


async def apply_to_ours(kube: Kube, facts: Facts, manifest: Manifest, known: Record | None) -> Object:
    """Apply to the child that is known, else make it. Raises Refused if the name is somebody else's, and Conflict if
    the child went meanwhile.

    Secrets cannot be read, so nobody can look whose one is. Ours have a type of our own, and the API server lets no
    apply change the type of a Secret that is there.
    """
    kind, meta = Kind(manifest["kind"]), manifest["metadata"]
    doing = f"apply {kind} {meta['namespace']}/{meta['name']}"
    if kind is Kind.SECRET:
        return await kube.apply(manifest)
    if known is not None and not is_ours(known.meta, manifest):
        raise refused(manifest, doing)
    try:
        return await kube.apply(manifest, uid=known.meta.uid if known is not None else "")
    except Conflict as error:
        there = await kube.find(kind, meta["namespace"], meta["name"], metadata_only=kind in METADATA_ONLY)
        if there is None:
            if known is not None:
                facts.forget(known)
            raise
        found = facts.read(kind, there)
        if not is_ours(found.meta, manifest):
            raise refused(manifest, doing) from error
        facts.put(found)
    return await kube.apply(manifest, uid=found.meta.uid)
