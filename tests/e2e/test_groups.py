"""A learner of two nodes, a rank in each: one pod is killed, the whole group is replaced, replays and completes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.e2e import kube
from tests.e2e.kube import Cluster, Object, condition, get, items, kubectl, running_pods, sigkill, wait_until
from tests.e2e.runs import NAMESPACE, mini_run, run_folder, wait_for_end

NAME = "group"
STAGE_SECONDS = 420
INDEX = "batch.kubernetes.io/job-completion-index"

pytestmark = pytest.mark.timeout(1500)
"""The first test waits for the whole run."""


@dataclass(frozen=True)
class Story:
    """What was seen of the run."""

    first_group: dict[str, str]
    """Index → pod."""
    second_group: dict[str, str]
    said: str
    """Of the learner, when it was lost."""
    replayed_steps: int
    end: Object


def small_run() -> Object:
    """Two rollouts of three games; requests leave room for everything else on two cores."""
    document = mini_run(NAME)
    spec = document["spec"]
    spec["rollouts"] = 2
    spec["environments"] |= {"perCycle": 3}
    spec["play"] |= {"playsPerEnvironment": 4, "hintedPlays": 2}
    spec["learner"] |= {"nodes": 2, "ranksPerNode": 1, "pod": {"resources": {"requests": {"cpu": "300m"}}}}
    spec["sandbox"] |= {"minPods": 1, "maxPods": 1}
    return document


def run(cluster: Cluster) -> Object:
    found = get(cluster, "spaderun", NAME, NAMESPACE)
    assert found is not None
    assert condition(found, "Failed")[0] != "True", condition(found, "Failed")
    return found


def group(cluster: Cluster, attempt: int) -> dict[str, Object]:
    """Running pods of one attempt by their index."""
    pods = running_pods(cluster, NAMESPACE, NAME, "learner")
    own = [pod for pod in pods if pod["metadata"]["labels"]["spade.dev/attempt"] == str(attempt)]
    return {pod["metadata"]["labels"][INDEX]: pod for pod in own}


def replayed_steps(cluster: Cluster, pod: str) -> int:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}:7431/proxy/status"
    try:
        status: Object = json.loads(kubectl(cluster, "get", "--raw", path, timeout_seconds=20))
    except AssertionError:
        return 0  # it does not listen yet
    return int(status["replayed_steps"])


@pytest.fixture(scope="module")
def story(operator: Cluster) -> Iterator[Story]:
    def tell() -> str:
        pods = [(p["metadata"]["name"], p["status"].get("phase")) for p in items(operator, "pods", NAMESPACE)]
        return f"{json.dumps(run(operator).get('status'))}\n{pods}"

    def playing_rollout_1() -> bool:
        status = run(operator).get("status", {})
        return (status.get("rollout"), status.get("phase")) == (1, "Playing")

    def whole(attempt: int) -> dict[str, Object] | None:
        found = group(operator, attempt)
        return found if set(found) == {"0", "1"} else None

    try:
        kube.apply(operator, small_run())
        wait_until("rollout 1 is played", playing_rollout_1, STAGE_SECONDS, tell)
        first = wait_until("both pods run", lambda: whole(0), 60, tell)
        sigkill(operator, first["1"])
        wait_until("the next attempt", lambda: run(operator)["status"].get("learnerAttempt") == 1, 120, tell)
        said = condition(run(operator), "LearnerReady")[2]
        second = wait_until("the next group runs", lambda: whole(1), 180, tell)
        replayed = wait_until(
            "it has replayed", lambda: replayed_steps(operator, second["0"]["metadata"]["name"]), 240, tell
        )
        end = wait_for_end(operator, NAME, 600)
        yield Story(names(first), names(second), said, replayed, end)
    finally:
        kubectl(operator, "delete", "spaderun", NAME, "-n", NAMESPACE, "--wait=false")


def names(pods: dict[str, Object]) -> dict[str, str]:
    return {index: pod["metadata"]["name"] for index, pod in pods.items()}


def test_run_completes_after_the_loss_of_a_node(story: Story) -> None:
    assert condition(story.end, "Complete")[0] == "True", story.end["status"]
    assert story.end["status"]["policyVersion"] == 2


def test_both_pods_were_replaced_under_the_next_attempts_name(story: Story) -> None:
    assert story.end["status"]["learnerAttempt"] == 1
    assert not set(story.first_group.values()) & set(story.second_group.values())
    assert all(name.startswith(f"{NAME}-learner-a1-{index}") for index, name in story.second_group.items())


def test_lost_node_is_counted_once_and_named(story: Story) -> None:
    assert story.end["status"]["restarts"]["learner"]["total"] == 1
    assert "(SIGKILL)" in story.said
    assert story.first_group["1"] in story.said


def test_next_group_replayed_what_was_recorded_and_each_step_stands_once(operator: Cluster, story: Story) -> None:
    assert story.replayed_steps == 1
    steps = sorted(run_folder(operator, NAME).glob("steps/*/step.json"))
    assert [path.parent.name for path in steps] == ["0000", "0001"]
    assert {json.loads(path.read_bytes())["world_size"] for path in steps} == {2}
