"""Learner and engine in one pod take turns through a whole run: design, plays, steps and proofs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from tests.e2e import kube
from tests.e2e.kube import Cluster, Object, condition, get, items, kubectl, running_pods, wait_until
from tests.e2e.runs import NAMESPACE, mini_run, run_folder

NAME = "together"
RUN_SECONDS = 900

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
"""The first test waits for the whole run."""


@dataclass
class Seen:
    """What was seen of the run until it ended."""

    end: Object = field(default_factory=dict)
    containers: set[tuple[str, ...]] = field(default_factory=set)
    """Of the learner's pods."""
    together: set[tuple[str, str]] = field(default_factory=set)
    """States of learner and engine, in this order, of which the learner's was the same before and after."""


def status(cluster: Cluster, pod: str, port: int) -> Object:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}:{port}/proxy/status"
    try:
        found: Object = json.loads(kubectl(cluster, "get", "--raw", path, timeout_seconds=20))
    except AssertionError:
        return {}  # it does not listen yet
    return found


@pytest.fixture(scope="module")
def seen(operator: Cluster) -> Iterator[Seen]:
    document = mini_run(NAME)
    spec = document["spec"]
    spec["rollouts"], spec["placement"] = 2, "Colocated"
    spec["environments"] |= {"perCycle": 3}
    spec["play"] |= {"playsPerEnvironment": 4, "hintedPlays": 2}
    spec["sandbox"] |= {"minPods": 1, "maxPods": 1}
    told = Seen()

    def ended() -> Object | None:
        for pod in running_pods(operator, NAMESPACE, NAME, "learner"):
            name = pod["metadata"]["name"]
            told.containers.add(tuple(container["name"] for container in pod["spec"]["containers"]))
            before, engine, after = (status(operator, name, port) for port in (7431, 7422, 7431))
            if before and engine and before["state"] == after.get("state"):
                told.together.add((before["state"], engine["state"]))
        run = get(operator, "spaderun", NAME, NAMESPACE)
        return run if any(condition(run, kind)[0] == "True" for kind in ("Complete", "Failed")) else None

    def tell() -> str:
        pods = [(p["metadata"]["name"], p["status"].get("phase")) for p in items(operator, "pods", NAMESPACE)]
        return f"{json.dumps((get(operator, 'spaderun', NAME, NAMESPACE) or {}).get('status'))}\n{pods}"

    try:
        kube.apply(operator, document)
        told.end = wait_until("the run ends", ended, RUN_SECONDS, tell)
        yield told
    finally:
        kubectl(operator, "delete", "spaderun", NAME, "-n", NAMESPACE, "--wait=false")


def test_run_completes_with_every_version_proven(seen: Seen) -> None:
    assert condition(seen.end, "Complete")[0] == "True", seen.end["status"]
    proofs = seen.end["status"]["proofs"]
    assert proofs.get("verified", 0) + proofs.get("indistinguishable", 0) == 3
    assert seen.end["status"].get("restarts", {}) == {}


def test_engine_was_in_the_learners_pod_and_in_no_other(operator: Cluster, seen: Seen) -> None:
    assert seen.containers == {("learner", "engine")}
    assert get(operator, "deployment", f"{NAME}-engine", NAMESPACE) is None


def test_engine_slept_whenever_the_learner_was_at_its_step(operator: Cluster, seen: Seen) -> None:
    at_work = {engine for learner, engine in seen.together if learner == "training"}
    assert at_work == {"asleep"}
    assert ("idle", "serving") in seen.together
    steps = sorted(run_folder(operator, NAME).glob("steps/*/step.json"))
    assert [json.loads(path.read_bytes())["policy_version"] for path in steps] == [1, 2]
