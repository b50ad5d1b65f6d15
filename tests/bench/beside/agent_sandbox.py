"""kubernetes-sigs/agent-sandbox beside ours: its controller from a checkout, a warm pool, and claims on it."""

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubernetes import client

EXTENSIONS = "extensions.agents.x-k8s.io"
VERSION = "v1beta1"
POOL = "bench"
CLAIMS_AT_ONCE = 10
"""How many clients ask at the same time; OpenSandbox's published comparison found 10 the fastest."""
BUILD_SECONDS = 1800
SERVED_SECONDS = 60.0
KINDS = ("sandboxclaims", "sandboxwarmpools", "sandboxes.agents.x-k8s.io", "sandboxtemplates")
"""In the order in which they are taken away."""


def commit(checkout: Path) -> str:
    """Which commit the checkout is of."""
    told = subprocess.run(
        ["git", "log", "-1", "--format=%h of %cs"], cwd=checkout, check=True, capture_output=True, text=True
    )
    return told.stdout.strip()


def build(checkout: Path, folder: Path) -> Path:
    """The controller, built by Go from the checkout."""
    program = folder / "agent-sandbox-controller"
    command = ["go", "build", "-o", str(program), "./cmd/agent-sandbox-controller"]
    subprocess.run(command, cwd=checkout, check=True, timeout=BUILD_SECONDS)
    return program


@contextmanager
def controller(checkout: Path, program: Path, kubectl: list[str], kubeconfig: str, log: Path) -> Iterator[None]:
    """Its kinds and its controller with its own defaults; both gone afterwards. Webhooks only convert old versions."""
    crds = str(checkout / "k8s" / "crds")
    subprocess.run([*kubectl, "apply", "--server-side", "-f", crds], check=True, capture_output=True, timeout=120)
    _await_kinds(kubectl)
    command = [
        *(str(program), f"--kubeconfig={kubeconfig}", "--extensions", "--leader-elect=false", "--enable-webhook=false"),
        *("--manage-webhook-certs=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"),
    ]
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            child.terminate()
            child.wait(30)
            subprocess.run([*kubectl, "delete", "-f", crds, "--wait=false"], check=False, capture_output=True)


def _await_kinds(kubectl: list[str]) -> None:
    """Return once the API server serves the kinds. Raises TimeoutError."""
    end = time.monotonic() + SERVED_SECONDS
    for plural in KINDS:
        while subprocess.run([*kubectl, "get", plural, "-A"], check=False, capture_output=True).returncode:
            if time.monotonic() > end:
                raise TimeoutError(f"{plural} are not served after {SERVED_SECONDS:.0f} s")
            time.sleep(0.5)


def fill_pool(api: client.CustomObjectsApi, namespace: str, pod: dict[str, Any], count: int) -> None:
    """A warm pool of so many pods like this one."""
    template = {"podTemplate": {"metadata": pod["metadata"], "spec": pod["spec"]}}
    _create(api, namespace, "sandboxtemplates", "SandboxTemplate", POOL, template)
    wanted = {"replicas": count, "sandboxTemplateRef": {"name": POOL}}
    _create(api, namespace, "sandboxwarmpools", "SandboxWarmPool", POOL, wanted)


def ready_in_pool(api: client.CustomObjectsApi, namespace: str) -> int:
    """Pods of the pool that can be claimed."""
    found = api.get_namespaced_custom_object(EXTENSIONS, VERSION, namespace, "sandboxwarmpools", POOL)
    return int(found.get("status", {}).get("readyReplicas", 0))


def claim(api: client.CustomObjectsApi, namespace: str, count: int) -> None:
    """Ask for so many, several at a time."""

    def one(number: int) -> None:
        _create(api, namespace, "sandboxclaims", "SandboxClaim", f"claim-{number:03}", {"warmPoolRef": {"name": POOL}})

    with ThreadPoolExecutor(CLAIMS_AT_ONCE) as clients:
        list(clients.map(one, range(count)))


def claims_ready(api: client.CustomObjectsApi, namespace: str) -> int:
    """Claims that have their sandbox."""
    found = api.list_namespaced_custom_object(EXTENSIONS, VERSION, namespace, "sandboxclaims", _preload_content=False)
    conditions = (item.get("status", {}).get("conditions", []) for item in json.loads(found.data)["items"])
    return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in told) for told in conditions)


def _create(
    api: client.CustomObjectsApi, namespace: str, plural: str, kind: str, name: str, spec: dict[str, Any]
) -> None:
    body = {"apiVersion": f"{EXTENSIONS}/{VERSION}", "kind": kind, "metadata": {"name": name}, "spec": spec}
    api.create_namespaced_custom_object(EXTENSIONS, VERSION, namespace, plural, body)
