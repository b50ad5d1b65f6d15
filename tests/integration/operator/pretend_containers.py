"""What the pretended kubelet knows of a pod's containers."""

from tests.integration.operator.pretend_answers import Pod
from tests.integration.operator.pretend_marks import now

from spade_operator.kube import Object


def container_names(pod: Object) -> list[str]:
    """Of a pod's spec, in its order."""
    return [container["name"] for container in pod["spec"]["containers"]]


def container_status(pod: Pod, state: Object, *, ready: bool, name: str) -> Object:
    """What the kubelet says of one container of a pod."""
    return {"name": name, "image": "i", "imageID": "i", "ready": ready,
            "restartCount": pod.restarts, "state": state}  # fmt: skip


def all_running(pod: Pod) -> Object:
    """Status of a pod whose containers are up; one that waits for a gate is not ready by itself."""
    state = {"running": {"startedAt": now()}}
    containers = [container_status(pod, state, ready=True, name=name) for name in container_names(pod.raw)]
    for container in containers if pod.restarts else ():
        container["lastState"] = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": now()}}
    gated = bool(pod.raw["spec"].get("readinessGates"))
    marks = ["PodScheduled", "Initialized", "ContainersReady", *([] if gated else ["Ready"])]
    conditions = [{"type": mark, "status": "True", "lastTransitionTime": now()} for mark in marks]
    return {"phase": "Running", "podIP": pod.ip, "podIPs": [{"ip": pod.ip}], "startTime": now(),
            "containerStatuses": containers, "conditions": conditions}  # fmt: skip


def all_ended(pod: Pod, code: int, message: str, reason: str) -> Object:
    """Status of a pod whose containers have ended and are not started again."""
    state = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else reason, "message": message,
                            "startedAt": now(), "finishedAt": now()}}  # fmt: skip
    ends = [container_status(pod, state, ready=False, name=name) for name in container_names(pod.raw)]
    return {"phase": "Succeeded" if code == 0 else "Failed", "containerStatuses": ends}


def one_ended(pod: Pod, name: str, code: int) -> list[Object]:
    """All containers of a pod, of which one has ended now and the others run."""
    ended = {"terminated": {"exitCode": code, "reason": "Error", "startedAt": now(), "finishedAt": now()}}
    going = {"running": {"startedAt": now()}}
    return [
        container_status(pod, ended if each == name else going, ready=each != name, name=each)
        for each in container_names(pod.raw)
    ]
