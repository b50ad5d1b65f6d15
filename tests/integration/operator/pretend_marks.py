"""What pretended controllers and kubelets read from pods, and what they write into their status."""

from datetime import UTC, datetime

from spade_contracts import labels
from spade_operator.kube import Object


def now() -> str:
    """As Kubernetes writes times."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def owner_of(pod: Object) -> str:
    """UID of its owner."""
    return str(next((o["uid"] for o in pod["metadata"].get("ownerReferences", [])), ""))


def role_of(pod: Object) -> str:
    """Its role in a run."""
    return str(pod["metadata"]["labels"].get(labels.ROLE, ""))


def unschedulable() -> Object:
    """Status of a pod that fits on no node."""
    mark = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": now(),
            "message": "0/1 nodes are available: 1 Insufficient memory."}  # fmt: skip
    return {"phase": "Pending", "conditions": [mark]}


def without_image(raw: Object) -> Object:
    """Status of a pod whose node cannot get the image."""
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "the registry does not answer"}}
    container = {"name": raw["spec"]["containers"][0]["name"], "image": "i", "imageID": "", "ready": False,
                 "restartCount": 0, "state": waiting}  # fmt: skip
    return {"phase": "Pending", "containerStatuses": [container]}


def worth(pod: Object) -> tuple[bool, int]:
    """What is not ready goes first, then what costs least; sandboxes are ready when their gate is open."""
    gates = {"Ready", labels.ISOLATED_GATE}
    ready = any(c["type"] in gates and c["status"] == "True" for c in pod["status"].get("conditions", []))
    return ready, int(pod["metadata"].get("annotations", {}).get("controller.kubernetes.io/pod-deletion-cost", 0))
