"""One run loses each of its pods, the operator, the API server, containerd, its disk's room and the whole node, is
suspended and resumed, and completes.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.e2e import kube
from tests.e2e.kube import Cluster, Object, condition, get, items, kubectl, running_pods, sigkill, wait_until
from tests.e2e.machine import filled, kill_daemon, reboot, small_disk
from tests.e2e.runs import NAMESPACE, mini_run, run_folder, wait_for_end

NAME = "survivor"
DISK = "survivor-disk"
STAGE_SECONDS = 420

pytestmark = pytest.mark.timeout(2400)
"""The first test waits for the whole run."""


@dataclass
class Story:
    """What was done to the run and seen of it."""

    applied_again: str = ""
    generation_before: int = 0
    recorded_steps: dict[str, bytes] = field(default_factory=dict)
    suspended_pods: list[str] = field(default_factory=list)
    suspended: tuple[str, str, str] = ("", "", "")
    full: str = ""
    """What the run said while its disk was full."""
    replayed: Object = field(default_factory=dict)
    end: Object = field(default_factory=dict)


def run(cluster: Cluster) -> Object:
    found = get(cluster, "spaderun", NAME, NAMESPACE)
    assert found is not None
    return found


def stage(cluster: Cluster, rollout: int, phase: str) -> Object:
    """Wait until the run is in this phase of this rollout."""

    def reached() -> Object | None:
        seen = run(cluster)
        status = seen.get("status", {})
        assert condition(seen, "Failed")[0] != "True", condition(seen, "Failed")
        assert status.get("rollout", 0) <= rollout, f"rollout {rollout} is past: {status}"
        return seen if status.get("rollout") == rollout and status.get("phase") == phase else None

    return wait_until(f"rollout {rollout} {phase}", reached, STAGE_SECONDS, lambda: json.dumps(run(cluster)["status"]))


def a_pod(cluster: Cluster, role: str) -> Object:
    """A running pod of the role whose container is up."""
    return wait_until(
        f"a running {role} pod", lambda: next(iter(running_pods(cluster, NAMESPACE, NAME, role)), None), 120
    )


def replayed(cluster: Cluster, steps: int) -> Object | None:
    """The status of a learner that has replayed so many steps, once there is one."""
    for pod in running_pods(cluster, NAMESPACE, NAME, "learner"):
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:7431/proxy/status"
        try:
            status: Object = json.loads(kubectl(cluster, "get", "--raw", path, timeout_seconds=20))
        except AssertionError:
            continue  # it does not listen yet
        if status["replayed_steps"] >= steps:
            return status
    return None


def says_full(cluster: Cluster) -> str:
    """The message of a condition that tells of a full storage."""
    seen = run(cluster)
    assert condition(seen, "Failed")[0] != "True", condition(seen, "Failed")
    told = (condition(seen, kind) for kind in ("Progressing", "LearnerReady"))
    return next((message for _, reason, message in told if reason == "StorageFull"), "")


@pytest.fixture(scope="module")
def story(operator: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("survival") / "disk"
    with small_disk(operator, NAMESPACE, DISK, folder):
        yield from survived(operator, folder)


def survived(operator: Cluster, disk: Path) -> Iterator[Story]:
    told = Story()
    document = mini_run(NAME)
    document["spec"]["storage"] = {"claimName": DISK}
    document["spec"]["learner"]["checkpointEvery"] = document["spec"]["rollouts"]  # every lost step is replayed
    try:
        kube.apply(operator, document)
        stage(operator, 0, "Designing")
        sigkill(operator, a_pod(operator, "worker"))
        kill_daemon(operator, "kube-apiserver", down_seconds=5)

        stage(operator, 0, "Playing")
        told.generation_before = run(operator)["metadata"]["generation"]
        told.applied_again = kube.apply(operator, document)
        kubectl(operator, "delete", "pod", "-n", "spade-system", "-l", "app.kubernetes.io/name=spade", "--wait=false")

        stage(operator, 1, "Playing")
        sigkill(operator, a_pod(operator, "worker"))

        stage(operator, 1, "Training")
        sigkill(operator, a_pod(operator, "learner"))
        folder = run_folder(operator, NAME, DISK)
        told.recorded_steps = {path.parent.name: path.read_bytes() for path in folder.glob("steps/*/step.json")}
        told.replayed = wait_until(
            "the learner has replayed", lambda: replayed(operator, len(told.recorded_steps)), 240
        )

        stage(operator, 2, "Designing")
        kill_daemon(operator, "containerd", down_seconds=2)

        stage(operator, 2, "Playing")
        sigkill(operator, a_pod(operator, "sandbox"))
        sigkill(operator, a_pod(operator, "engine"))

        stage(operator, 3, "Playing")
        with filled(disk):
            told.full = wait_until("the run says that its disk is full", lambda: says_full(operator), 180)
        wait_until("it goes on", lambda: not says_full(operator), 240)

        kubectl(
            operator, "patch", "spaderun", NAME, "-n", NAMESPACE, "--type=merge", "-p", '{"spec":{"suspend":"Now"}}'
        )
        selector = f"spade.dev/run={NAME}"
        wait_until("no pod while suspended", lambda: not items(operator, "pods", NAMESPACE, selector), 120)
        told.suspended = wait_until(
            "the condition Suspended",
            lambda: (
                condition(run(operator), "Suspended") if condition(run(operator), "Suspended")[0] == "True" else None
            ),
            60,
        )
        kubectl(
            operator, "patch", "spaderun", NAME, "-n", NAMESPACE, "--type=merge", "-p", '{"spec":{"suspend":"Never"}}'
        )

        stage(operator, 3, "Training")
        reboot(operator)
        told.end = wait_for_end(operator, NAME, 900)
        yield told
    finally:
        kubectl(operator, "delete", "spaderun", NAME, "-n", NAMESPACE, "--wait=false")


def manifests(cluster: Cluster, pattern: str) -> list[Object]:
    return [json.loads(path.read_bytes()) for path in sorted(run_folder(cluster, NAME, DISK).glob(pattern))]


def test_run_completes_after_all_of_it(story: Story) -> None:
    assert condition(story.end, "Complete")[0] == "True", story.end["status"]
    assert story.end["status"]["policyVersion"] == 4


def test_same_yaml_applied_twice_changes_nothing(story: Story) -> None:
    assert "unchanged" in story.applied_again
    assert story.generation_before == 1


def test_suspended_run_says_so_and_has_no_pod(story: Story) -> None:
    assert story.suspended[0] == "True"


def test_full_disk_is_told_with_what_to_do_and_waited_for(story: Story) -> None:
    assert "is full" in story.full
    assert "Make room" in story.full


def test_replayed_steps_have_the_recorded_parameter_checksums(operator: Cluster, story: Story) -> None:
    folder = run_folder(operator, NAME, DISK)
    assert story.recorded_steps
    assert story.replayed["replayed_steps"] == len(story.recorded_steps)
    assert story.replayed["replay_diverged"] is None
    for name, recorded in story.recorded_steps.items():
        assert (folder / "steps" / name / "step.json").read_bytes() == recorded
    assert condition(story.end, "LearnerReady")[1] != "ReplayDiverged"


def test_every_planned_episode_is_accounted_for_and_none_lost_is_scored(operator: Cluster, story: Story) -> None:
    rollouts = manifests(operator, "rollouts/*/rollout.json")
    assert len(rollouts) == 4
    for rollout in rollouts:
        assert sum(rollout["outcomes"].values()) == rollout["planned"]
        assert rollout["outcomes"].get("infrastructure_fault", 0) == 0, "a lost episode was not played again"
        played = sum(len(e["unhinted"]) + len(e["hinted"]) + e["environment_faults"] for e in rollout["environments"])
        assert played == rollout["planned"]


def test_restarts_are_counted_by_role(story: Story) -> None:
    restarts = story.end["status"]["restarts"]
    assert restarts["learner"]["total"] >= 1
    assert restarts["sandbox"]["total"] >= 1
    assert restarts["engine"]["total"] >= 1


def test_each_unit_was_finished_exactly_once(operator: Cluster, story: Story) -> None:
    folder: Path = run_folder(operator, NAME, DISK)
    assert [p.parent.name for p in sorted(folder.glob("steps/*/step.json"))] == ["0000", "0001", "0002", "0003"]
    assert [p.parent.name for p in sorted(folder.glob("cycles/*/batch.json"))] == ["0000", "0001"]
