"""A short-lived pod that hands files of a run's claim out, for a user who may make pods and execute in them.

It mounts the claim read-only, has no token, no right and no network of a run, and ends by itself after an hour, also
when the command that made it was killed.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from spade_cli.cluster import REQUEST_SECONDS, Run, translated
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.labels import RUN

MOUNT = "/storage"
USER_ID = 65532
LIFETIME_SECONDS = 3600
START_SECONDS = 300.0
SILENT_SECONDS = 120.0
"""How long a file may send nothing before the copy is given up."""


@dataclass(frozen=True)
class StoragePod:
    """A running one."""

    api: Any
    namespace: str
    name: str

    def read(self, path: str) -> Iterator[bytes]:
        """A file's content, in the chunks in which it comes."""
        return self._output(["cat", path])

    def names(self, folder: str) -> tuple[str, ...]:
        """Names directly in a folder; none when it is missing."""
        listed = b"".join(self._output(["find", folder, "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\\n"]))
        return tuple(sorted(listed.decode().split()))

    def _output(self, command: list[str]) -> Iterator[bytes]:
        """What a command prints. Raises InfrastructureFault, with its own words, if it fails or falls silent."""
        from kubernetes import client
        from kubernetes.stream import stream, ws_client

        # What `stream` does, but for its copy of all that came: a model does not fit into memory.
        execute = partial(stream.func, partial(ws_client.websocket_call, capture_all=False), None)
        with translated(f"execute in pod {self.namespace}/{self.name}"):
            answer = execute(
                client.CoreV1Api(self.api).connect_get_namespaced_pod_exec, self.name, self.namespace,
                command=command, stdout=True, stderr=True, stdin=False, tty=False,
                binary=True, _preload_content=False,
            )  # fmt: skip
        said, heard_at = b"", time.monotonic()
        try:
            while answer.is_open():
                answer.update(timeout=1)
                chunk, words = answer.read_stdout(timeout=0), answer.read_stderr(timeout=0)
                said += words
                if chunk:
                    yield chunk
                if chunk or words:
                    heard_at = time.monotonic()
                elif time.monotonic() - heard_at > SILENT_SECONDS:
                    raise InfrastructureFault(f"{' '.join(command)}: nothing came for {SILENT_SECONDS:.0f} s.")
            if rest := answer.read_stdout(timeout=0):
                yield rest
            said += answer.read_stderr(timeout=0)
            if answer.returncode:
                raise InfrastructureFault(f"{' '.join(command)}: {said.decode(errors='replace').strip()}")
        finally:
            answer.close()


def manifest(run: Run, image: str, pull_secret: str | None = None) -> dict[str, Any]:
    """The pod: of the restricted level, near the run's pods, because a ReadWriteOnce claim is on their node."""
    claim = run.spec.storage.claim_name or f"{run.name}-storage"
    near = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {RUN: run.name}}}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": LIFETIME_SECONDS,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": near}]}
        },
        "containers": [
            {
                "name": "storage",
                "image": image,
                "command": ["sleep", str(LIFETIME_SECONDS)],
                "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "storage", "mountPath": MOUNT, "readOnly": True}],
            }
        ],
        "volumes": [{"name": "storage", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}],
    }
    if pull_secret is not None:
        spec["imagePullSecrets"] = [{"name": pull_secret}]
    name = f"{run.name}-export-{secrets.token_hex(3)}"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": run.namespace}, "spec": spec}


@contextmanager
def storage_pod(api: Any, run: Run, image: str, pull_secret: str | None = None) -> Iterator[StoragePod]:
    """A pod that runs, and is deleted afterwards. Raises InvalidInput where it may not be made, InfrastructureFault if
    it does not come up."""
    from kubernetes import client

    core, wanted = client.CoreV1Api(api), manifest(run, image, pull_secret)
    name = wanted["metadata"]["name"]
    with translated(f"create pod {run.namespace}/{name}"):
        core.create_namespaced_pod(run.namespace, wanted, _request_timeout=REQUEST_SECONDS)
    try:
        _wait(core, run.namespace, name)
        yield StoragePod(api, run.namespace, name)
    finally:
        with translated(f"delete pod {run.namespace}/{name}"):
            core.delete_namespaced_pod(name, run.namespace, grace_period_seconds=1, _request_timeout=REQUEST_SECONDS)


def _wait(core: Any, namespace: str, name: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    why = "it is not scheduled"
    while time.monotonic() < deadline:
        with translated(f"read pod {namespace}/{name}"):
            status = core.read_namespaced_pod_status(name, namespace, _request_timeout=REQUEST_SECONDS).status
        if status.phase == "Running":
            return
        why = _trouble(status) or why
        if status.phase in ("Failed", "Succeeded"):
            break
        time.sleep(0.5)
    raise InfrastructureFault(
        f"pod {namespace}/{name} does not start: {why}",
        remedy="If the image cannot be had, name another with --image; if the claim is in use on one node, wait or "
        "suspend the run.",
    )


def _trouble(status: Any) -> str:
    for container in status.container_statuses or []:
        waiting = container.state.waiting if container.state is not None else None
        if waiting is not None:
            return f"{waiting.reason}: {waiting.message}" if waiting.message else str(waiting.reason)
    said = [c.message for c in status.conditions or [] if c.type == "PodScheduled" and c.status == "False"]
    return str(said[0]) if said else ""


def image_of(run: Run, image: str | None) -> str:
    """The image of the pod: the one named, else the one that the run's own pods had. Raises InvalidInput without."""
    if image is not None:
        return image
    if run.status.images is None:
        raise InvalidInput(
            f"SpadeRun {run.namespace}/{run.name}",
            "was never accepted, so nothing is known of its images",
            remedy="Name an image that has cat and find with --image.",
        )
    return run.status.images.trainer
