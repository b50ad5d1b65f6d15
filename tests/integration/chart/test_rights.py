"""The chart's rights suffice for every child of a run, and for nothing else; Kubernetes accepts every child."""

import json
import time
from collections.abc import Iterator
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.support.api_server import ApiServer
from tests.support.children import all_children, make_pool, make_run, make_site, pool_children, workloads
from tests.support.helm import render

OPERATOR = "system:serviceaccount:spade-system:spade-operator"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def namespace(name: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}


@pytest.fixture(scope="module")
def installed(api_server: ApiServer) -> Iterator[ApiServer]:
    """The chart's objects in an API server, with two namespaces for runs."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "r"}
    other = {**runtime, "metadata": {"name": "runc"}}
    applied = api_server.apply(
        namespace("spade-system", RESTRICTED), namespace("runs", RESTRICTED), namespace("other"), runtime, other
    )
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
    bad = json.dumps(sandbox_pod(runtimeClassName=None))
    while server.kubectl("create", "--dry-run=server", "-f", "-", stdin=bad).returncode == 0:
        assert time.monotonic() < deadline, "the admission policy is not enforced"
        time.sleep(0.2)


def as_operator(server: ApiServer, manifest: dict[str, Any], *verb: str) -> CompletedProcess[str]:
    return server.kubectl(
        *verb, "--field-manager=spade-operator", "--as", OPERATOR, "-f", "-", stdin=json.dumps(manifest)
    )


CHILDREN = {
    f"{item['kind']}/{item['metadata']['name']}": item
    for item in (
        *all_children(make_run(namespace="runs"), make_site()),
        *pool_children(make_pool(namespace="runs"), make_site()),
    )
}
CREATED = ("Job", "EnvBatch", "RolloutJob", "PersistentVolumeClaim")
"""Kinds that are made once and never changed; all others are applied."""


@pytest.mark.parametrize("name", [name for name in CHILDREN if not name.startswith(CREATED)])
def test_the_operator_may_apply_a_child_twice(installed: ApiServer, name: str) -> None:
    for _ in range(2):
        applied = as_operator(installed, CHILDREN[name], "apply", "--server-side")
        assert applied.returncode == 0, applied.stderr
        assert "Warning" not in applied.stderr


@pytest.mark.parametrize("name", [name for name in CHILDREN if name.startswith(CREATED)])
def test_the_operator_may_create_a_child_and_not_change_it(installed: ApiServer, name: str) -> None:
    created = as_operator(installed, CHILDREN[name], "create")
    assert created.returncode == 0, created.stderr
    assert "Warning" not in created.stderr
    changed = as_operator(installed, CHILDREN[name], "apply", "--server-side")
    assert "forbidden" in changed.stderr


@pytest.mark.parametrize("word", workloads(make_run(), make_site()))
def test_every_pod_meets_the_restricted_level(installed: ApiServer, word: str) -> None:
    template = workloads(make_run(namespace="runs"), make_site())[word]["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": f"trial-{word}", "namespace": "runs"},
        "spec": template["spec"],
    }
    created = installed.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    assert created.returncode == 0, created.stderr


def test_the_operators_own_pod_meets_the_restricted_level(installed: ApiServer) -> None:
    (deployment,) = [item for item in render() if item["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": "trial-operator", "namespace": "spade-system"},
        "spec": template["spec"],
    }
    created = installed.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    assert created.returncode == 0, created.stderr


def may(server: ApiServer, verb: str, resource: str, where: str = "runs") -> bool:
    name, _, part = resource.partition("/")
    answer = server.kubectl("auth", "can-i", verb, name, f"--subresource={part}", "-n", where, "--as", OPERATOR)
    return answer.stdout.strip() == "yes"


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("list", "spaderuns.spade.dev"),
        ("watch", "pods"),
        ("delete", "pods"),
        ("patch", "pods/status"),
        ("get", "pods/log"),
        ("update", "spaderuns.spade.dev/status"),
        ("create", "envbatches.spade.dev"),
        ("delete", "rolloutjobs.spade.dev"),
        ("watch", "networkpolicies.networking.k8s.io"),
        ("create", "events.events.k8s.io"),
    ],
)
def test_the_operator_may(installed: ApiServer, verb: str, resource: str) -> None:
    assert may(installed, verb, resource)


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("get", "secrets"),
        ("list", "secrets"),
        ("watch", "secrets"),
        ("delete", "secrets"),
        ("create", "pods"),
        ("patch", "jobs.batch"),
        ("delete", "persistentvolumeclaims"),
        ("watch", "configmaps"),
        ("create", "pods/exec"),
        ("update", "spaderuns.spade.dev"),
        ("delete", "spaderuns.spade.dev"),
        ("get", "nodes"),
        ("create", "serviceaccounts/token"),
        ("create", "rolebindings.rbac.authorization.k8s.io"),
        ("patch", "runtimeclasses.node.k8s.io"),
        ("update", "leases.coordination.k8s.io"),
        ("delete", "networkpolicies.networking.k8s.io"),
        ("list", "events.events.k8s.io"),
        ("patch", "events.events.k8s.io"),
        ("delete", "events.events.k8s.io"),
        ("create", "events"),
    ],
)
def test_the_operator_may_not(installed: ApiServer, verb: str, resource: str) -> None:
    assert not may(installed, verb, resource)


def test_the_lease_lies_beside_the_operator(installed: ApiServer) -> None:
    for verb in ("get", "create", "update"):
        assert may(installed, verb, "leases.coordination.k8s.io", "spade-system")


def test_one_namespace_is_all_that_a_namespaced_operator_sees(installed: ApiServer) -> None:
    installed.kubectl("delete", "clusterrolebinding", "spade-operator")
    try:
        narrow = [item for item in render({"watchNamespace": "runs"}) if "Role" in item["kind"]]
        assert installed.apply(*narrow).returncode == 0
        assert may(installed, "list", "pods", "runs")
        assert not may(installed, "list", "pods", "other")
    finally:
        wide = [item for item in render() if item["kind"].startswith("ClusterRole")]
        assert installed.apply(*wide).returncode == 0


def sandbox_pod(**changes: Any) -> dict[str, Any]:
    template = workloads(make_run(namespace="other"), make_site())["sandbox"]["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": "stray", "namespace": "other"},
        "spec": {**template["spec"], **changes},
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runtimeClassName": None}, "sandbox pods must have runtimeClassName gvisor"),
        ({"runtimeClassName": "runc"}, "sandbox pods must have runtimeClassName gvisor"),
        ({"automountServiceAccountToken": True}, "automountServiceAccountToken: false"),
        ({"hostNetwork": True}, "must not share the node's namespaces"),
        ({"hostPID": True}, "must not share the node's namespaces"),
    ],
)
def test_nobody_gets_a_sandbox_pod_without_its_walls(
    installed: ApiServer, changes: dict[str, Any], message: str
) -> None:
    create = ("create", "--dry-run=server", "-f", "-")
    refused = installed.kubectl(*create, stdin=json.dumps(sandbox_pod(**changes)))
    assert refused.returncode != 0
    assert message in refused.stderr
    assert installed.kubectl(*create, stdin=json.dumps(sandbox_pod())).returncode == 0
