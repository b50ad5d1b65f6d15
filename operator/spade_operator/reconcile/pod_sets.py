"""The Workload of a run: what Kueue keeps quota for, read from the manifests that the operator would make."""

from typing import Any

from spade_contracts.labels import ASKED_ANNOTATION
from spade_contracts.resources import SpadeRunSpec
from spade_operator.children.manifests import Manifest, child, digest, run_labels
from spade_operator.children.names import workload_name
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.preflight.plan import Pods, plan_of

COUNTED: dict[str, Any] = {
    "queue_name": True,
    "placement": True,
    "learner": {"nodes": True, "pod": True},
    "engine": {"replicas": True, "pod": True},
    "sandbox": {"max_pods": True, "pod": True},
    "workers": {"design": True, "play": True, "pod": True},
}
"""Fields of a run's spec that say how many pods it has and what each asks for."""
REQUESTED = ("nodeSelector", "tolerations", "affinity", "priorityClassName", "runtimeClassName")
"""Fields of a pod besides resources that Kueue looks at."""


def asked(spec: SpadeRunSpec) -> str:
    """Digest of what a run asks of the cluster. Without defaults: a new field, or another operator, changes nothing."""
    return digest(spec.model_dump(mode="json", include=COUNTED, exclude_defaults=True))


def workload_of(run: Run, site: Site, priority: int | None) -> Manifest:
    """The Workload. `priority`: the value of the learner's PriorityClass, if it names one.

    The sandbox pool counts with maxPods, because nothing may run that was not admitted. The preparation is not counted:
    it is over before any other pod comes.
    """
    spec: Manifest = {"queueName": run.spec.queue_name, "podSets": [_pod_set(one) for one in plan_of(run, site).pods]}
    if priority is not None:
        name = run.spec.learner.pod.priority_class_name
        spec["priority"] = priority
        spec["priorityClassRef"] = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": name}
    owner = run.owner
    result = child(
        "kueue.x-k8s.io/v1beta2",
        "Workload",
        workload_name(run.name),
        owner,
        labels=run_labels(owner),
        parent=owner.parent,
        body={"spec": spec},
    )
    result["metadata"]["annotations"][ASKED_ANNOTATION] = asked(run.spec)
    return result


def _pod_set(pods: Pods) -> Manifest:
    containers = [
        # Claims of devices are not counted: Kueue would want to know their classes.
        {"name": one["name"], "resources": {key: one["resources"].get(key, {}) for key in ("requests", "limits")}}
        for one in pods.spec["containers"]
    ]
    spec = {"containers": containers} | {key: pods.spec[key] for key in REQUESTED if key in pods.spec}
    return {"name": str(pods.role), "count": pods.most, "template": {"spec": spec}}
