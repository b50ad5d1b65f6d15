"""What the end-to-end tests do to a cluster: read, wait, apply, and kill processes with real signals."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Object = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Cluster:
    """Where the cluster's programs and sockets are."""

    kubectl: Path
    helm: Path
    kubeconfig: Path
    containerd_socket: Path
    volumes: Path
    processes: Path
    """Records of the cluster's daemons, NAME.json with the process's id."""
    registries: Path
    """containerd's folder of what it knows of registries, one folder for each."""
    audit_log: Path
    images: dict[str, str]
    """Image name → reference in the cluster's containerd."""


def run_command(*command: str | Path, input_text: str | None = None, timeout_seconds: float = 300) -> str:
    """Output of a command; its error output is in the assertion when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        input=input_text,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def kubectl(cluster: Cluster, *arguments: str, input_text: str | None = None, timeout_seconds: float = 300) -> str:
    """Output of kubectl."""
    return run_command(
        cluster.kubectl,
        "--kubeconfig",
        cluster.kubeconfig,
        *arguments,
        input_text=input_text,
        timeout_seconds=timeout_seconds,
    )


def get(cluster: Cluster, kind: str, name: str, namespace: str) -> Object | None:
    """An object, or None when there is none."""
    text = kubectl(cluster, "get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found")
    return json.loads(text) if text.strip() else None


def items(cluster: Cluster, kind: str, namespace: str, selector: str = "") -> list[Object]:
    """All objects of a kind with these labels."""
    arguments = ["get", kind, "-n", namespace, "-o", "json"] + (["-l", selector] if selector else [])
    found: list[Object] = json.loads(kubectl(cluster, *arguments))["items"]
    return found


def apply(cluster: Cluster, document: Object) -> str:
    """Apply as a user would; kubectl's own words."""
    return kubectl(cluster, "apply", "-f", "-", input_text=json.dumps(document))


def wait_until(what: str, probe: Callable[[], T | None], timeout_seconds: float, tell: Callable[[], str] = str) -> T:
    """The first truthy result of `probe`; fails with `what` and what `tell` says when the time is up."""
    end = time.monotonic() + timeout_seconds
    while time.monotonic() < end:
        result = probe()
        if result:
            return result
        time.sleep(0.5)
    raise AssertionError(f"not within {timeout_seconds:.0f} s: {what}\n{tell()}")


def condition(run: Object | None, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition; empty strings when it is absent."""
    for found in (run or {}).get("status", {}).get("conditions", []):
        if found["type"] == kind:
            return found["status"], found["reason"], found.get("message", "")
    return "", "", ""


def running_pods(cluster: Cluster, namespace: str, run: str, role: str) -> list[Object]:
    """Running pods of a role of a run."""
    pods = items(cluster, "pods", namespace, f"spade.dev/run={run},spade.dev/role={role}")
    return [p for p in pods if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]]


def sigkill(cluster: Cluster, pod: Object) -> None:
    """SIGKILL to the first process of the pod's first container, past the kubelet and the API server."""
    container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    run_command(
        "ctr", "-a", cluster.containerd_socket, "-n", "k8s.io", "tasks", "kill", "-s", "SIGKILL", "-a", container
    )
