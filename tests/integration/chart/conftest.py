"""The chart's objects in a real API server, and pods that are tried against its rules."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.api_server import ApiServer
from tests.support.children import sandbox_pod
from tests.support.helm import render

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def namespace(name: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}


@pytest.fixture(scope="module")
def installed(api_server: ApiServer) -> Iterator[ApiServer]:
    """The chart's objects in an API server, with two namespaces for runs."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "r"}
    other = {**runtime, "metadata": {"name": "runc"}}
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "training"},
        "value": 1000,
    }
    spaces = (namespace("spade-system", RESTRICTED), namespace("runs", RESTRICTED), namespace("other"))
    applied = api_server.apply(*spaces, runtime, other, priority)
    assert applied.returncode == 0, applied.stderr
    chart = api_server.apply(*render())
    assert chart.returncode == 0, chart.stderr
    wait_until_enforced(api_server)
    yield api_server
    policies = [item for item in render() if item["kind"].startswith("ValidatingAdmission")]
    for policy in policies:
        api_server.kubectl("delete", policy["kind"], policy["metadata"]["name"])


def wait_until_enforced(server: ApiServer) -> None:
    """The API server takes a new admission policy into use within seconds."""
    deadline = time.monotonic() + 30
    bad = json.dumps(sandbox_pod("other", runtimeClassName=None))
    while server.kubectl("create", "--dry-run=server", "-f", "-", stdin=bad).returncode == 0:
        assert time.monotonic() < deadline, "the admission policy is not enforced"
        time.sleep(0.2)
