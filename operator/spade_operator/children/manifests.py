"""The envelope of every manifest: labels, owner, digest of the content."""

import hashlib
import json
from typing import Any

from spade_contracts import labels as keys
from spade_contracts.labels import GROUP, VERSION, Role
from spade_operator.children.owner import Owner, Parent

Manifest = dict[str, Any]
"""A Kubernetes object as JSON."""

PRODUCT = "spade"


def run_labels(owner: Owner, role: Role | None = None, **more: str | int) -> dict[str, str]:
    """Labels of a child: `run_labels(owner, Role.WORKER, rollout=7)`. Keys of `more` are put under `spade.dev/`."""
    result = {
        "app.kubernetes.io/name": PRODUCT,
        "app.kubernetes.io/instance": owner.name,
        "app.kubernetes.io/managed-by": keys.FIELD_MANAGER,
        keys.RUN: owner.name,
        keys.RUN_UID: owner.uid,
    }
    if role is not None:
        result |= {"app.kubernetes.io/component": str(role), keys.ROLE: str(role)}
    return result | {f"{GROUP}/{key}": str(value) for key, value in more.items()}


def role_selector(owner: Owner, role: Role) -> dict[str, str]:
    """Labels that exactly the pods of one role of one family carry; those of a deleted namesake do not."""
    return {keys.RUN: owner.name, keys.RUN_UID: owner.uid, keys.ROLE: str(role)}


def owner_reference(parent: Parent) -> Manifest:
    """A controller reference. It does not block the owner's deletion, so no right on finalizers is needed."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": parent.kind,
        "name": parent.name,
        "uid": parent.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def child(
    api_version: str,
    kind: str,
    name: str,
    owner: Owner,
    *,
    labels: dict[str, str],
    parent: Parent | None,
    body: Manifest,
) -> Manifest:
    """A manifest in the owner's namespace with its digest; `parent` None leaves it without an owner (retained)."""
    metadata: Manifest = {"name": name, "namespace": owner.namespace, "labels": labels}
    if parent is not None:
        metadata["ownerReferences"] = [owner_reference(parent)]
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
    return manifest | {"metadata": metadata | {"annotations": {keys.HASH_ANNOTATION: digest(manifest)}}}


def digest(manifest: Manifest) -> str:
    """SHA-256 over the canonical JSON, 32 hexadecimal characters: enough to tell two states of one object apart."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
