"""One long-lived cluster for all end-to-end tests, with the images and the chart of this checkout."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.deployment import deploy
from tests.e2e.kube import Cluster, kubectl, run_command
from tests.e2e.runs import NAMESPACE

ROOT = Path(__file__).parents[2]
BUILD_SECONDS = 3600


def is_running(home: Path) -> bool:
    """Whether the cluster's API server answers."""
    found = subprocess.run([ROOT / "cluster" / "kubeconfig", "--path"], check=False, capture_output=True, text=True)
    if found.returncode != 0:
        return False
    command = [home / "bin" / "current" / "kubectl", "--kubeconfig", found.stdout.strip(), "get", "--raw", "/readyz"]
    return subprocess.run([*command, "--request-timeout=5s"], check=False, capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The development cluster, started unless it runs; what was started here is stopped here."""
    home = Path(os.environ.get("SPADE_HOME", "/var/lib/spade"))
    ran = is_running(home)
    run_command(ROOT / "cluster" / "build", timeout_seconds=BUILD_SECONDS)
    run_command(ROOT / "cluster" / "up", timeout_seconds=300)
    try:
        mapping = run_command(ROOT / "cluster" / "images", timeout_seconds=BUILD_SECONDS)
        references = dict(line.split("=", 1) for line in mapping.splitlines() if "=" in line)
        programs = home / "bin" / "current"
        yield Cluster(
            kubectl=programs / "kubectl",
            helm=programs / "helm",
            kubeconfig=Path(run_command(ROOT / "cluster" / "kubeconfig", "--path").strip()),
            containerd_socket=home / "cluster" / "containerd.sock",
            volumes=home / "cluster" / "volumes",
            processes=home / "cluster" / "processes",
            registries=home / "cluster" / "config" / "certs.d",
            audit_log=home / "cluster" / "log" / "audit.log",
            images=references,
        )
    finally:
        if not ran:
            run_command(ROOT / "cluster" / "down", timeout_seconds=300)


def remove_namespace(cluster: Cluster) -> None:
    """The tests' namespace gone with its claims: run storage that an interrupted session left would be taken up.

    The volumes of those claims are offered again, or the cluster runs out of them.
    """
    kubectl(
        cluster,
        "delete",
        "namespace",
        NAMESPACE,
        "--ignore-not-found",
        "--wait=true",
        "--timeout=120s",
        timeout_seconds=150,
    )
    run_command(ROOT / "cluster" / "volumes", timeout_seconds=60)


@pytest.fixture(scope="session")
def operator(cluster: Cluster) -> Iterator[Cluster]:
    """The chart installed, and a namespace for the tests' runs under restricted Pod Security."""
    deploy(cluster)
    remove_namespace(cluster)
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    kubectl(cluster, "apply", "-f", "-", input_text=json.dumps(namespace))
    yield cluster
    remove_namespace(cluster)
