"""examples/mini.yaml, started by the `spade` command and left alone, trains to the end and tells the truth about it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from tests.e2e.kube import Cluster, Object, condition, get, items, kubectl, run_command, running_pods, wait_until
from tests.e2e.runs import NAMESPACE, mini_run, run_folder

from spade_contracts.metrics import METRICS

NAME = "undisturbed"
RUN_SECONDS = 1200
PORTS = {"worker": 7410, "learner": 7431, "engine": 7422}

pytestmark = pytest.mark.timeout(1500)
"""The first test waits for the whole run."""


@dataclass
class Seen:
    """What the command printed, and which metrics each role exported while the run went on."""

    output: str = ""
    exit_code: int | None = None
    metrics: dict[str, set[str]] = field(default_factory=dict)


def scrape(cluster: Cluster, role: str) -> set[str]:
    """Names of the metrics that a pod of the role, or the operator, exports now."""
    if role == "operator":
        path = "/api/v1/namespaces/spade-system/services/spade-operator:9090/proxy/metrics"
    else:
        pods = running_pods(cluster, NAMESPACE, NAME, role)
        if not pods:
            return set()
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pods[0]['metadata']['name']}:{PORTS[role]}/proxy/metrics"
    try:
        text = kubectl(cluster, "get", "--raw", path, timeout_seconds=20)
    except (AssertionError, subprocess.TimeoutExpired):
        return set()  # the pod ended in between, or is not serving yet
    return set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))


@pytest.fixture(scope="module")
def seen(operator: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder: Path = tmp_path_factory.mktemp("mini")
    (folder / "run.yaml").write_text(yaml.safe_dump(mini_run(NAME)), encoding="utf-8")
    told = Seen()
    with (folder / "output").open("w", encoding="utf-8") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "spade_cli.main", "run", str(folder / "run.yaml"), "-n", NAMESPACE,
             "--kubeconfig", str(operator.kubeconfig), "--timeout-seconds", str(RUN_SECONDS)],
            stdout=output, stderr=subprocess.STDOUT,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "HOME": str(folder), "NO_COLOR": "1"},
        )  # fmt: skip
        try:
            while told.exit_code is None:
                for role in ("operator", *PORTS):
                    told.metrics.setdefault(role, set()).update(scrape(operator, role))
                try:
                    told.exit_code = child.wait(timeout=4)
                except subprocess.TimeoutExpired:
                    continue
            told.output = (folder / "output").read_text(encoding="utf-8")
            print(told.output)
            yield told
        finally:
            child.kill()
            child.wait()
            kubectl(operator, "delete", "spaderun", NAME, "-n", NAMESPACE, "--wait=false", "--ignore-not-found")


def documents(cluster: Cluster, pattern: str) -> list[Object]:
    return [json.loads(path.read_bytes()) for path in sorted(run_folder(cluster, NAME).glob(pattern))]


def test_command_follows_the_run_to_its_end_and_prints_the_table(seen: Seen) -> None:
    assert seen.exit_code == 0, seen.output
    assert "is complete at policy version 4" in seen.output
    assert "Results: file:///storage" in seen.output
    assert "episodes" in seen.output


def test_every_step_has_a_gradient_and_one_trains_delayed_designer_samples(operator: Cluster, seen: Seen) -> None:
    steps = documents(operator, "steps/*/step.json")
    assert len(steps) == 4, seen.output
    assert all(step["gradient_norm"] > 0 for step in steps)
    assert any(step["designer_samples"] > 0 for step in steps)
    assert len({step["parameter_sha256"] for step in steps}) == 4, "a step changed nothing"


def test_every_policy_was_proven_before_it_was_played(operator: Cluster, seen: Seen) -> None:
    run = get(operator, "spaderun", NAME, NAMESPACE)
    assert condition(run, "WeightsVerified")[0] == "True"
    proofs = run["status"]["proofs"]
    assert proofs.get("verified", 0) + proofs.get("indistinguishable", 0) >= 5
    assert proofs.get("mismatch", 0) == 0
    rollouts = documents(operator, "rollouts/*/rollout.json")
    assert [rollout["policy_version"] for rollout in rollouts] == [0, 1, 2, 3]


def test_children_tell_what_they_came_to(operator: Cluster, seen: Seen) -> None:
    batches = items(operator, "envbatches", NAMESPACE, f"spade.dev/run={NAME}")
    jobs = items(operator, "rolloutjobs", NAMESPACE, f"spade.dev/run={NAME}")
    assert batches
    assert all(condition(b, "Complete")[0] == "True" for b in batches)
    assert jobs
    assert all(condition(j, "Complete")[0] == "True" for j in jobs)


def test_policy_is_exported_through_the_cluster(operator: Cluster, seen: Seen, tmp_path: Path) -> None:
    target = tmp_path / "policy"
    told = run_command(
        *(sys.executable, "-m", "spade_cli.main", "export", NAME, target, "-n", NAMESPACE),
        *("--kubeconfig", operator.kubeconfig),
        timeout_seconds=180,
    )
    assert "Policy version 4 is in" in " ".join(told.split())
    stored = run_folder(operator, NAME) / "policies" / "0004"
    exported = {path.name: path.read_bytes() for path in target.iterdir()}
    assert "config.json" in exported
    assert all((stored / name).read_bytes() == content for name, content in exported.items())
    left = [p for p in items(operator, "pods", NAMESPACE) if p["metadata"]["name"].startswith(f"{NAME}-export-")]
    assert all("deletionTimestamp" in pod["metadata"] for pod in left), "the pod that reads the claim is given back"


def test_complete_run_holds_no_pod(operator: Cluster, seen: Seen) -> None:
    assert not running_pods(operator, NAMESPACE, NAME, "engine")
    assert not running_pods(operator, NAMESPACE, NAME, "learner")


@pytest.mark.parametrize("role", ["operator", *PORTS])
def test_each_role_exports_its_metrics_during_the_run(seen: Seen, role: str) -> None:
    promised = {spec.name for spec in METRICS if spec.exporter == role}
    assert promised
    shown = seen.metrics[role] | {f"{name}_total" for name in seen.metrics[role]}
    assert promised <= shown, f"missing: {promised - shown}"


def test_deleted_run_takes_its_folder_along_where_that_is_asked_for(operator: Cluster, seen: Seen) -> None:
    """The last one, because the run is gone afterwards."""
    folder = run_folder(operator, NAME)
    wanted = json.dumps({"spec": {"storage": {"onDelete": "Delete"}}})
    kubectl(operator, "patch", "spaderun", NAME, "-n", NAMESPACE, "--type=merge", "-p", wanted)
    held = wait_until(
        "the finalizer",
        lambda: (get(operator, "spaderun", NAME, NAMESPACE) or {})["metadata"].get("finalizers"),
        60,
    )
    assert held
    assert (folder / "run.json").exists()
    kubectl(operator, "delete", "spaderun", NAME, "-n", NAMESPACE, "--timeout=180s", timeout_seconds=200)
    assert not folder.exists()
    assert get(operator, "pvc", f"{NAME}-storage", NAMESPACE) is not None
