"""Removing the chart from a real cluster: refused while a run is at work; then nothing stays but CRDs and storage."""

import json
import re
import subprocess
from collections.abc import Iterator

import pytest
from tests.e2e.deployment import deploy
from tests.e2e.kube import Cluster, apply, get, kubectl, run_command, running_pods, wait_until
from tests.e2e.runs import NAMESPACE, mini_run

SYSTEM, NAME = "spade-system", "removed"
UNINSTALL_SECONDS = 400
LEASE = "spade-operator-lease"
WHERE = f"watchNamespace={NAMESPACE}"
OURS = "app.kubernetes.io/instance=spade"
"""On everything that the chart makes."""


def uninstall(cluster: Cluster) -> subprocess.CompletedProcess[str]:
    command = (cluster.helm, "uninstall", "spade", "-n", SYSTEM, "--kubeconfig", cluster.kubeconfig)
    return subprocess.run(
        [*map(str, command), "--wait"], capture_output=True, text=True, timeout=UNINSTALL_SECONDS, check=False
    )


def left(cluster: Cluster, selector: str) -> list[str]:
    """Names of all objects with these labels, Events excepted."""
    kinds = kubectl(cluster, "api-resources", "--verbs=list", "-o", "name").split()
    lasting = [kind for kind in kinds if not kind.startswith(("events", "componentstatuses"))]
    return kubectl(cluster, "get", ",".join(lasting), "-A", "-l", selector, "-o", "name").split()


@pytest.fixture
def removable(operator: Cluster) -> Iterator[Cluster]:
    """The chart for the tests' namespace alone, so that no run elsewhere goes with it; as it was afterwards."""
    without_lease(operator)
    deploy(operator, WHERE)
    try:
        yield operator
    finally:
        make_whole(operator)
        deploy(operator)


def without_lease(cluster: Cluster) -> None:
    """No Lease, as before a first installation: one that an operator had to make anew would not be the chart's."""
    kubectl(cluster, "scale", "deployment", "spade-operator", "-n", SYSTEM, "--replicas=0")
    kubectl(cluster, "wait", "--for=delete", "pod", "-l", f"{OURS},app.kubernetes.io/component=operator", "-n", SYSTEM)
    kubectl(cluster, "delete", "lease", LEASE, "-n", SYSTEM, "--ignore-not-found")


def make_whole(cluster: Cluster) -> None:
    """A release that a failed test left half removed would keep all later tests from upgrading it."""
    of_helm = ("-n", SYSTEM, "--kubeconfig", cluster.kubeconfig, "-o", "json")
    releases = json.loads(run_command(cluster.helm, "list", "-a", *of_helm))
    for release in (r for r in releases if r["name"] == "spade" and r["status"] != "deployed"):
        run_command(cluster.helm, "rollback", "spade", release["revision"], *of_helm[:-2])


def test_chart_stays_while_a_run_is_at_work_and_then_leaves_crds_and_storage(removable: Cluster) -> None:
    apply(removable, mini_run(NAME))
    wait_until("its sandboxes run", lambda: running_pods(removable, NAMESPACE, NAME, "sandbox"), 180)

    refused = uninstall(removable)
    assert refused.returncode != 0
    assert f"SpadeRun {NAMESPACE}/{NAME}" in refused.stdout + refused.stderr
    assert get(removable, "deployment", "spade-operator", SYSTEM) is not None
    assert get(removable, "spaderun", NAME, NAMESPACE) is not None

    undo = re.search(r"helm (rollback spade \d+ --namespace \S+)", refused.stdout + refused.stderr)
    assert undo is not None
    run_command(removable.helm, *undo[1].split(), "--kubeconfig", removable.kubeconfig)
    deploy(removable, WHERE, "uninstall.liveRuns=Delete")
    done = uninstall(removable)
    assert done.returncode == 0, done.stderr
    assert get(removable, "spaderun", NAME, NAMESPACE) is None
    assert not running_pods(removable, NAMESPACE, NAME, "sandbox")
    crds = json.loads(kubectl(removable, "get", "crds", "-o", "json"))["items"]
    assert {crd["spec"]["group"] for crd in crds} >= {"spade.dev"}
    assert get(removable, "pvc", f"{NAME}-storage", NAMESPACE) is not None
    wait_until(
        "the chart's objects are gone", lambda: not left(removable, OURS), 60, lambda: str(left(removable, OURS))
    )
    of_run = f"spade.dev/run={NAME}"
    storage = [f"persistentvolumeclaim/{NAME}-storage"]
    wait_until(
        "the run's are gone but its claim",
        lambda: left(removable, of_run) == storage,
        60,
        lambda: str(left(removable, of_run)),
    )
    assert get(removable, "lease", LEASE, SYSTEM) is None
    kubectl(removable, "delete", "pvc", f"{NAME}-storage", "-n", NAMESPACE)
