"""What the pretended kubelet knows of a pod's containers."""

from tests.integration.operator.pretend_answers import Pod

from spade_operator.kube import Object


def container_names(pod: Object) -> list[str]:
    """Of a pod's spec, in its order."""
    return [container["name"] for container in pod["spec"]["containers"]]


def container_status(pod: Pod, state: Object, *, ready: bool, name: str) -> Object:
    """What the kubelet says of one container of a pod."""
    return {"name": name, "image": "i", "imageID": "i", "ready": ready,
            "restartCount": pod.restarts, "state": state}  # fmt: skip


def one_ended(pod: Pod, name: str, code: int, now: str) -> list[Object]:
    """All containers of a pod, of which one has ended now and the others run."""
    ended = {"terminated": {"exitCode": code, "reason": "Error", "startedAt": now, "finishedAt": now}}
    going = {"running": {"startedAt": now}}
    return [
        container_status(pod, ended if each == name else going, ready=each != name, name=each)
        for each in container_names(pod.raw)
    ]
