"""Whatever a pod ended of or waits for is told in words: exit code, memory, image, scheduling, last lines."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_operator.reconcile.causes import (
    MAX_CAUSE_CHARACTERS,
    WITHOUT_POD_SECONDS,
    cause_of,
    gave_up,
    trouble,
    without_pod,
    without_replicas,
)
from spade_operator.reconcile.decide import Policy
from spade_operator.reconcile.engines import engines
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.records import ContainerRecord, DeploymentRecord, Kind, record_of


def test_pod_that_runs_well_has_no_cause() -> None:
    assert cause_of(p.pod(Role.ENGINE, containers=(ContainerRecord("engine"),)), {}) is None
    assert cause_of(p.pod(Role.WORKER, phase="Succeeded", containers=(p.ended(0),)), {}) is None


def test_killed_for_memory_is_told_with_the_last_lines() -> None:
    pod = p.pod(Role.ENGINE, containers=(p.ended(137, reason="OOMKilled"),))
    cause = cause_of(pod, {(pod.meta.uid, "main", 0): "loading\nweights\n"})
    assert cause is not None
    assert cause.text.endswith("ended with exit code 137 (OOMKilled). Its last lines: loading\nweights")
    assert cause.fetch == ()


def test_container_restarted_in_place_is_told_by_its_predecessor() -> None:
    container = ContainerRecord("engine", 2, last_exit_code=1, last_reason="Error")
    cause = cause_of(p.pod(Role.ENGINE, containers=(container,)), {})
    assert cause is not None
    (fetch,) = cause.fetch
    assert (fetch.restarts, fetch.previous) == (1, True)


def test_last_words_of_the_process_come_before_its_log() -> None:
    for words in ('{"error": "storage is full"}', "storage is full\n"):
        cause = cause_of(p.pod(Role.LEARNER, containers=(p.ended(1, words),)), {})
        assert cause is not None
        assert cause.text.endswith("exit code 1: storage is full")
        assert cause.fetch == ()


def test_evicted_pod_is_told_by_the_pod() -> None:
    pod = p.pod(Role.WORKER, phase="Failed", reason="Evicted", message="The node was low on memory.")
    cause = cause_of(pod, {})
    assert cause is not None
    assert "Evicted" in cause.text
    assert "low on memory" in cause.text


def test_cause_fits_into_a_condition() -> None:
    pod = p.pod(Role.ENGINE, containers=(p.ended(1),))
    cause = cause_of(pod, {(pod.meta.uid, "main", 0): "x" * 10_000})
    assert cause is not None
    assert len(cause.text) <= MAX_CAUSE_CHARACTERS


def test_what_keeps_a_pod_from_running_is_told() -> None:
    image = ContainerRecord("engine", waiting_reason="ImagePullBackOff", waiting_message="not found")
    assert trouble(p.pod(Role.ENGINE, phase="Pending", unschedulable="no cpu")) == (
        Reason.UNSCHEDULABLE, "pod mini-engine-x fits on no node: no cpu"
    )  # fmt: skip
    found = trouble(p.pod(Role.ENGINE, phase="Pending", containers=(image,)))
    assert found is not None
    assert found[0] is Reason.IMAGE_UNAVAILABLE
    assert trouble(p.ENGINE) is None


def test_exit_code_2_says_that_trying_again_cannot_help() -> None:
    assert gave_up(p.pod(Role.WORKER, containers=(p.ended(2),)))
    assert not gave_up(p.pod(Role.WORKER, containers=(p.ended(1),)))


def test_job_that_gets_no_pod_is_told_of_after_a_while() -> None:
    made = p.job("mini-prepare", Role.PREPARE, created_at=p.NOW)
    soon, late = (p.NOW + timedelta(seconds=seconds) for seconds in (WITHOUT_POD_SECONDS - 1, WITHOUT_POD_SECONDS))
    assert without_pod(made, (), soon) is None
    assert without_pod(made, (p.pod(Role.PREPARE),), late) is None
    reason, message = without_pod(made, (), late) or ("", "")
    assert reason == Reason.WAITING
    assert "describe job mini-prepare" in message


def test_deployment_that_is_refused_pods_is_told_of_in_the_api_servers_words() -> None:
    refusal = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: pods=0"}
    raw = {"metadata": {"name": "mini-engine"}, "spec": {"replicas": 2}, "status": {"conditions": [refusal]}}
    made = record_of(Kind.DEPLOYMENT, raw)
    assert isinstance(made, DeploymentRecord)
    assert without_replicas(made) == (Reason.WAITING, "Deployment mini-engine gets no pod: exceeded quota: pods=0")
    mended = record_of(Kind.DEPLOYMENT, raw | {"status": {"conditions": [refusal | {"status": "False"}]}})
    assert isinstance(mended, DeploymentRecord)
    assert without_replicas(mended) is None
    assert without_replicas(None) is None


@pytest.mark.parametrize(
    ("role", "policy", "kind"),
    [
        (Role.ENGINE, engines, RunCondition.ENGINES_READY),
        (Role.SANDBOX, sandboxes, RunCondition.SANDBOXES_READY),
        (Role.BEACON, sandboxes, RunCondition.SANDBOXES_READY),
    ],
)
def test_refused_pods_stand_in_the_condition_of_their_role(role: Role, policy: Policy, kind: RunCondition) -> None:
    refused = replace(p.deployment(role), failure="exceeded quota")
    status, reason, message = p.wanted(policy(p.seen(deployments=[refused]), p.NOW), kind)
    assert (status, reason) == ("False", Reason.WAITING)
    assert message == f"Deployment mini-{role} gets no pod: exceeded quota"
