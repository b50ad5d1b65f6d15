"""The claim of run storage. It has no owner: results outlive their run."""

from spade_contracts.labels import RUN_UID
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import claim_name
from spade_operator.children.owner import Owner


def storage_claim(owner: Owner) -> list[Manifest]:
    """The claim that the operator makes, or nothing when the owner names an existing one."""
    wanted = owner.storage
    if wanted.claim_name is not None:
        return []
    spec: Manifest = {
        "accessModes": [str(wanted.access_mode)],
        "resources": {"requests": {"storage": wanted.size}},
    }
    if wanted.storage_class_name is not None:
        spec["storageClassName"] = wanted.storage_class_name
    # It serves the next run of this name too, so no UID is on it.
    labels = {key: value for key, value in run_labels(owner).items() if key != RUN_UID}
    name = claim_name(owner.name)
    return [child("v1", "PersistentVolumeClaim", name, owner, labels=labels, parent=None, body={"spec": spec})]
