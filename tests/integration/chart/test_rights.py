"""The chart's rights suffice for every child of a run, and for nothing else; Kubernetes accepts every child."""

import json
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.support.api_server import ApiServer
from tests.support.children import all_children, make_pool, make_run, make_site, pool_children, workloads
from tests.support.helm import render

OPERATOR = "system:serviceaccount:spade-system:spade-operator"


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
        ("patch", "spaderuns.spade.dev"),
        ("delete", "spaderuns.spade.dev"),
        ("create", "envbatches.spade.dev"),
        ("delete", "rolloutjobs.spade.dev"),
        ("watch", "networkpolicies.networking.k8s.io"),
        ("create", "events.events.k8s.io"),
        ("list", "resourcequotas"),
        ("list", "nodes"),
        ("list", "runtimeclasses.node.k8s.io"),
        ("list", "priorityclasses.scheduling.k8s.io"),
        ("list", "storageclasses.storage.k8s.io"),
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
        ("create", "spaderuns.spade.dev"),
        ("get", "nodes"),
        ("watch", "nodes"),
        ("patch", "nodes"),
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
    where = ("-n", "spade-system", "--as", OPERATOR)
    for verb, name, answer in (
        ("get", "/spade-operator-lease", "yes"),
        ("update", "/spade-operator-lease", "yes"),
        ("create", "", "yes"),
        ("get", "/another", "no"),
        ("update", "/another", "no"),
    ):
        asked = installed.kubectl("auth", "can-i", verb, f"leases.coordination.k8s.io{name}", *where)
        assert asked.stdout.strip() == answer, (verb, name)


def test_one_namespace_is_all_that_a_namespaced_operator_sees(installed: ApiServer) -> None:
    installed.kubectl("delete", "clusterrolebinding", "spade-operator")
    try:
        narrow = [item for item in render({"watchNamespace": "runs"}) if "Role" in item["kind"]]
        assert installed.apply(*narrow).returncode == 0
        assert may(installed, "list", "pods", "runs")
        assert not may(installed, "list", "pods", "other")
        installed.kubectl("delete", "clusterrolebinding", "spade-operator-preflight")
        assert may(installed, "list", "resourcequotas", "runs")
        assert not may(installed, "list", "nodes")
    finally:
        wide = [item for item in render() if item["kind"].startswith("ClusterRole")]
        assert installed.apply(*wide).returncode == 0
