"""Prove on the running cluster what the product relies on: gVisor, closed networks, names, volumes, logs."""

from __future__ import annotations

import json
import time
from string import Template
from typing import Any

from spade_cluster.commands import wait_until
from spade_cluster.errors import ClusterError
from spade_cluster.image_inputs import REPOSITORY
from spade_cluster.images import DEVELOPMENT_TAG
from spade_cluster.kubectl import get, kubectl
from spade_cluster.settings import API_PORT, API_SERVICE_ADDRESS, CLUSTER_SOURCE, NODE_ADDRESS, Layout
from spade_cluster.system_images import image_names
from spade_cluster.volumes import ensure_volumes

NAMESPACE = "spade-check"
POD_SECONDS = 90.0
GVISOR_KERNEL = "Linux version 4.4.0"
CHECKS = CLUSTER_SOURCE / "checks"


def check_cluster(layout: Layout) -> None:
    """Run every check and print one line for each.

    Raises ClusterError if one fails; the check's objects are always removed.
    """
    image = f"{REPOSITORY}/sandbox:{DEVELOPMENT_TAG}"
    if image not in image_names(layout):
        raise ClusterError("the check needs the sandbox image: run cluster/images sandbox first")
    kubectl(layout, "delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=true", timeout_seconds=POD_SECONDS)
    kubectl(layout, "create", "namespace", NAMESPACE)
    try:
        failed = [name for name, passed in _results(layout, image) if not _report(name, passed)]
    finally:
        kubectl(layout, "delete", "namespace", NAMESPACE, "--wait=true", timeout_seconds=POD_SECONDS)
        ensure_volumes(layout, delete_data=False)
    if failed:
        raise ClusterError(f"{len(failed)} checks failed: {', '.join(failed)}")


def _results(layout: Layout, image: str) -> list[tuple[str, bool]]:
    """Start a server and two gVisor pods, one of them closed in, and compare what they report with what must be."""
    _create(layout, "server.yaml", image=image)
    server = _await_pod(layout, "server", _is_ready)
    service = get(layout, "--namespace", NAMESPACE, "service", "server")["spec"]["clusterIP"]
    names = [f"server.{NAMESPACE}.svc.cluster.local:80", f"server-headless.{NAMESPACE}:8080"]
    addresses = [
        *(f"{server['status']['podIP']}:8080", f"{service}:80"),
        *(f"{API_SERVICE_ADDRESS}:443", f"{NODE_ADDRESS}:{API_PORT}"),
    ]
    begin = time.monotonic()
    _probe(layout, "open", [*names, *addresses], image)
    _probe(layout, "closed", addresses, image)
    opened, closed = _report_of(layout, "open"), _report_of(layout, "closed")
    print(f"  two gVisor pods reported within {time.monotonic() - begin:.1f} s", flush=True)
    claim = get(layout, "--namespace", NAMESPACE, "persistentvolumeclaim", "data")
    return [
        ("pods of RuntimeClass gvisor run on gVisor's kernel", opened["kernel"].startswith(GVISOR_KERNEL)),
        ("names of services and of headless services resolve in pods", all(opened["reached"][name] for name in names)),
        (
            "an open pod reaches pods, services, the API server and the node",
            all(opened["reached"][one] for one in addresses),
        ),
        ("a pod under a default-deny policy reaches none of them", not any(closed["reached"].values())),
        ("a claim of StorageClass spade-local is bound", claim["status"]["phase"] == "Bound"),
    ]


def _report(name: str, passed: bool) -> bool:
    """Print a check's line and return its result."""
    print(f"  {'ok    ' if passed else 'FAILED'} {name}", flush=True)
    return passed


def _probe(layout: Layout, wanted: str, targets: list[str], image: str) -> None:
    """Create a gVisor pod that tries the targets."""
    command = ["python3", "-c", (CHECKS / "probe.py").read_text(), wanted, *targets]
    _create(layout, "probe.yaml", image=image, name=wanted, network=wanted, command=json.dumps(command))


def _report_of(layout: Layout, name: str) -> Any:
    """Wait for a probe to end and return what its log says, which also shows that kubectl logs works."""
    _await_pod(layout, name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"))
    return json.loads(kubectl(layout, "--namespace", NAMESPACE, "logs", name))


def _create(layout: Layout, manifest: str, **values: str) -> None:
    """Fill a manifest and create its objects."""
    filled = Template((CHECKS / manifest).read_text()).substitute(values)
    kubectl(layout, "--namespace", NAMESPACE, "create", "--filename", "-", stdin=filled)


def _is_ready(pod: Any) -> bool:
    """Tell whether a pod's readiness condition holds."""
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))


def _await_pod(layout: Layout, name: str, condition: Any) -> Any:
    """Wait until a pod satisfies a condition and return it."""
    if not wait_until(
        lambda: condition(get(layout, "--namespace", NAMESPACE, "pod", name)), timeout_seconds=POD_SECONDS
    ):
        events = kubectl(layout, "--namespace", NAMESPACE, "describe", "pod", name)[-1500:]
        raise ClusterError(f"pod {name} did not come up within {POD_SECONDS:.0f} s:\n{events}")
    return get(layout, "--namespace", NAMESPACE, "pod", name)
