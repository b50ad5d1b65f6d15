"""A learner's pod with an engine in it is two parties: each has its status port, its boots and its word."""

from dataclasses import replace

from spade_contracts.labels import Role
from spade_operator.records import PodRecord


def engine_uid(pod_uid: str) -> str:
    """Under which UID the engine in a learner's pod is known to polls."""
    return f"{pod_uid}/engine"


def engine_part(pod: PodRecord) -> PodRecord | None:
    """The engine in a learner's pod as if it were a pod of its own; None where there is none.

    It has the pod's name and address. Kubernetes knows nothing by its UID: what is deleted is the pod.
    """
    engines = tuple(container for container in pod.containers if container.name == Role.ENGINE)
    if pod.meta.role is not Role.LEARNER or not engines:
        return None
    return replace(pod, meta=replace(pod.meta, uid=engine_uid(pod.meta.uid), role=Role.ENGINE), containers=engines)
