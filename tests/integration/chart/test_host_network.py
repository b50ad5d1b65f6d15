"""A learner on its node's network is an exception of one pod: its neighbours stay restricted without Pod Security."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.chart.conftest import namespace
from tests.support.api_server import ApiServer
from tests.support.children import make_run, make_site, workloads
from tests.support.helm import render

from spade_operator.children.site import Rdma

CIDR = "192.0.2.0/24"
DEVICE = {"resources": {"limits": {"rdma/hca": "1"}}}
SITE = make_site(rdma=Rdma(resources=("rdma/hca",), host_network_cidrs=(CIDR,)))
POLICY = "spade.run-pods.spade.dev"
CREATE = ("create", "--dry-run=server")
LEVELS = {name: {"pod-security.kubernetes.io/enforce": name} for name in ("restricted", "privileged")}


def pod(word: str, level: str, **changes: Any) -> dict[str, Any]:
    """A pod of a run with a learner on the node's network, in the namespace of a Pod Security level."""
    run = make_run(namespace=f"rdma-{level}", learner={"fabric": "HostRdma", "pod": DEVICE})
    template = workloads(run, SITE)[word]["spec"]["template"]
    metadata = {**template["metadata"], "name": word, "namespace": run.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], **changes}}


def said_of(server: ApiServer, *pods: dict[str, Any]) -> str:
    """'' if the server takes all of them, else what it says."""
    return server.kubectl(*CREATE, "-f", "-", stdin="\n---\n".join(map(json.dumps, pods))).stderr


@pytest.fixture(scope="module")
def allowing(api_server: ApiServer) -> Iterator[ApiServer]:
    """The chart's policies where learners may use the nodes' network."""
    objects = render({"rdma": {"resources": ["rdma/hca"], "hostNetworkCidrs": [CIDR]}})
    policies = [item for item in objects if item["kind"].startswith("ValidatingAdmission")]
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "r"}
    spaces = [namespace(f"rdma-{name}", labels) for name, labels in LEVELS.items()]
    applied = api_server.apply(runtime, *spaces, *policies)
    assert applied.returncode == 0, applied.stderr
    deadline = time.monotonic() + 30
    while not said_of(api_server, pod("engine", "privileged", hostNetwork=True)):
        assert time.monotonic() < deadline, "the admission policy is not enforced"
        time.sleep(0.2)
    yield api_server
    for policy in policies:
        api_server.kubectl("delete", policy["kind"], policy["metadata"]["name"])


def test_policy_is_there_only_where_it_is_needed() -> None:
    assert POLICY not in {item["metadata"]["name"] for item in render()}


def test_learner_needs_the_privileged_level_and_every_other_pod_the_restricted_one(allowing: ApiServer) -> None:
    words = ("prepare", "sandbox", "beacon", "engine", "design", "play", "learner")
    everywhere_else = [word for word in words if word != "learner"]
    assert said_of(allowing, *(pod(word, "restricted") for word in everywhere_else)) == ""
    assert "hostNetwork=true" in said_of(allowing, pod("learner", "restricted"))
    assert said_of(allowing, *(pod(word, "privileged") for word in words)) == ""


@pytest.mark.parametrize(
    ("word", "changes", "says"),
    [
        ("engine", {"hostNetwork": True}, "only learner pods of a run may use the node's network"),
        # Two policies refuse it, and the API server tells the words of one.
        ("sandbox", {"hostNetwork": True}, "denied request"),
        ("learner", {"hostPID": True}, "must not share the node's processes"),
        ("learner", {"volumes": [{"name": "x", "hostPath": {"path": "/"}}]}, "must not mount folders of the node"),
        ("learner", {"securityContext": {"runAsNonRoot": False}}, "must not run as root"),
    ],
)
def test_nothing_else_comes_with_it(allowing: ApiServer, word: str, changes: dict[str, Any], says: str) -> None:
    wrong = pod(word, "privileged", **changes)
    if "volumes" in changes:
        for container in wrong["spec"]["containers"]:
            container["volumeMounts"] = []
    assert says in said_of(allowing, wrong)


def test_capability_is_refused_for_the_learner_too(allowing: ApiServer) -> None:
    wrong = pod("learner", "privileged")
    wrong["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = ["IPC_LOCK"]
    assert "must drop all capabilities and add none" in said_of(allowing, wrong)
