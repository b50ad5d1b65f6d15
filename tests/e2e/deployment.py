"""The chart in the tests' cluster."""

from pathlib import Path

from tests.e2e.kube import Cluster, kubectl, run_command

ROOT = Path(__file__).parents[2]


def deploy(cluster: Cluster, *values: str) -> None:
    """Install or upgrade the chart with these values (`key=value`); returns when the operator is available."""
    arguments = [part for value in values for part in ("--set", value)]
    run_command(ROOT / "cluster" / "deploy", *arguments, timeout_seconds=300)
    kubectl(cluster, "rollout", "status", "deployment", "-n", "spade-system", "--timeout=120s", timeout_seconds=150)
