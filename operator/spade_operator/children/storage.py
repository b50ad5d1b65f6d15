"""The claim of run storage. It has no owner: results outlive their run."""

from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import claim_name
from spade_operator.children.run import Run


def storage_claim(run: Run) -> list[Manifest]:
    """The claim that the operator makes, or nothing when the run names an existing one."""
    wanted = run.spec.storage
    if wanted.claim_name is not None:
        return []
    spec: Manifest = {
        "accessModes": [str(wanted.access_mode)],
        "resources": {"requests": {"storage": wanted.size}},
    }
    if wanted.storage_class_name is not None:
        spec["storageClassName"] = wanted.storage_class_name
    name = claim_name(run.name)
    return [child("v1", "PersistentVolumeClaim", name, run, labels=run_labels(run), parent=None, body={"spec": spec})]
