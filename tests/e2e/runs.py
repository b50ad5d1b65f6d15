"""Runs that the end-to-end tests declare, and where their results lie on this machine."""

import json
from pathlib import Path

import yaml
from tests.e2e.kube import Cluster, Object, condition, get, kubectl, wait_until

NAMESPACE = "spade-e2e"
ROOT = Path(__file__).parents[2]


def mini_run(name: str) -> Object:
    """examples/mini.yaml under another name, in the tests' namespace."""
    document: Object = yaml.safe_load((ROOT / "examples" / "mini.yaml").read_text(encoding="utf-8"))
    document["metadata"] = {"name": name, "namespace": NAMESPACE}
    return document


def wait_for_end(cluster: Cluster, name: str, timeout_seconds: float) -> Object:
    """The run once it is Complete or Failed."""

    def ended() -> Object | None:
        seen = get(cluster, "spaderun", name, NAMESPACE)
        return seen if any(condition(seen, kind)[0] == "True" for kind in ("Complete", "Failed")) else None

    return wait_until(
        f"run {name} ends",
        ended,
        timeout_seconds,
        lambda: json.dumps((get(cluster, "spaderun", name, NAMESPACE) or {}).get("status")),
    )


def volume_folder(cluster: Cluster, claim: str) -> Path:
    """Where a claim's local volume lies on this machine."""
    volume = json.loads(kubectl(cluster, "get", "pvc", claim, "-n", NAMESPACE, "-o", "json"))["spec"]["volumeName"]
    spec = json.loads(kubectl(cluster, "get", "pv", volume, "-o", "json"))["spec"]
    return Path(spec["local"]["path"])


def run_folder(cluster: Cluster, name: str, claim: str = "") -> Path:
    """A run's folder in run storage, on the claim that was made for it or on a given one."""
    return volume_folder(cluster, claim or f"{name}-storage") / NAMESPACE / name
