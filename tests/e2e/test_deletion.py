"""A deleted run leaves nothing within 30 seconds, storage excepted."""

import time

from tests.e2e.kube import Cluster, apply, get, items, kubectl, running_pods, wait_until
from tests.e2e.runs import NAMESPACE, mini_run

KINDS = (
    "pods", "jobs", "deployments", "services", "secrets", "configmaps", "networkpolicies", "envbatches", "rolloutjobs",
)  # fmt: skip
GONE_SECONDS = 30


def test_run_deleted_in_mid_rollout_leaves_only_its_storage(operator: Cluster) -> None:
    name, selector = "doomed", "spade.dev/run=doomed"
    apply(operator, mini_run(name))
    wait_until("a worker at work", lambda: running_pods(operator, NAMESPACE, name, "worker"), 420)

    kubectl(operator, "delete", "spaderun", name, "-n", NAMESPACE, "--wait=false")
    end = time.monotonic() + GONE_SECONDS
    left = ["not looked at"]
    while left and time.monotonic() < end:
        left = [f"{kind}/{o['metadata']['name']}" for kind in KINDS for o in items(operator, kind, NAMESPACE, selector)]
    assert not left, f"after {GONE_SECONDS} s there is still {left}"
    assert get(operator, "spaderun", name, NAMESPACE) is None
    assert get(operator, "pvc", f"{name}-storage", NAMESPACE) is not None
