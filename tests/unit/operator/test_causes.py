"""Whatever a pod ended of or waits for is told in words: exit code, memory, image, scheduling, last lines."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p
from tests.support.surroundings import cluster, quota

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.causes import (
    MAX_CAUSE_CHARACTERS,
    WITHOUT_POD_SECONDS,
    Cause,
    cause_of,
    gave_up,
    is_counted,
    trouble,
    weightiest,
    without_pod,
    without_replicas,
)
from spade_operator.reconcile.conditions import MAX_MESSAGE
from spade_operator.reconcile.decide import Policy
from spade_operator.reconcile.engines import engines
from spade_operator.reconcile.failure_rules import LASTING_SECONDS, FailureCause
from spade_operator.reconcile.forbidden import explained, forbidden_reason
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.records import DeploymentRecord, Kind, PodRecord, record_of

QUOTA = 'pods "x" is forbidden: exceeded quota: small, requested: cpu=2, used: cpu=1, limited: cpu=2'
NO_CLASS = 'pods "x" is forbidden: no PriorityClass with name urgent was found'


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


def raw_pod(role: Role, status: dict[str, Any], *, deleting: bool = False, probes: bool = False) -> PodRecord:
    """A pod as the API server tells of it."""
    container: dict[str, Any] = {"name": "main", "resources": {"limits": {"memory": "5Gi"}}}
    if probes:
        container |= {
            "livenessProbe": {"periodSeconds": 10, "failureThreshold": 30},
            "startupProbe": {"periodSeconds": 2, "failureThreshold": 900},
        }
    meta = {
        "name": "the-pod",
        "namespace": "default",
        "uid": "u",
        "labels": {"spade.dev/run": "mini", "spade.dev/role": str(role)},
    }
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T12:00:30Z"
    found = record_of(
        Kind.POD, {"metadata": meta, "spec": {"nodeName": "node-7", "containers": [container]}, "status": status}
    )
    assert isinstance(found, PodRecord)
    return found


def disrupted(reason: str, **status: Any) -> dict[str, Any]:
    mark = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "…"}
    return {"phase": "Running", "conditions": [mark], **status}


def failed(reason: str, message: str = "") -> dict[str, Any]:
    return {"phase": "Failed", "reason": reason, "message": message}


def container_ended(code: int, reason: str = "Error") -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": reason}}
    return {"phase": "Failed", "containerStatuses": [{"name": "main", "restartCount": 0, "state": state}]}


def restarted(code: int, seconds: int, reason: str = "Error") -> dict[str, Any]:
    ended = {"exitCode": code, "reason": reason, "startedAt": "2026-01-01T10:00:00Z"}
    ended["finishedAt"] = f"2026-01-01T10:{seconds // 60:02}:{seconds % 60:02}Z"
    statuses = [{"name": "main", "restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": ended}}]
    return {"phase": "Running", "containerStatuses": statuses}


EVICTION = "The node was low on resource: {}. Threshold quantity: 100Mi, available: 50Mi."


@pytest.mark.parametrize(
    ("kind", "pod"),
    [
        (FailureCause.NEVER_AGAIN, raw_pod(Role.WORKER, container_ended(2))),
        (FailureCause.OUT_OF_MEMORY, raw_pod(Role.LEARNER, container_ended(137, "OOMKilled"))),
        (FailureCause.OUT_OF_MEMORY, raw_pod(Role.ENGINE, restarted(137, 60, "OOMKilled"), probes=True)),
        (FailureCause.PREEMPTED, raw_pod(Role.ENGINE, disrupted("PreemptionByScheduler"), deleting=True)),
        (
            FailureCause.PREEMPTED,
            raw_pod(Role.LEARNER, container_ended(143) | disrupted("PreemptionByScheduler", phase="Failed")),
        ),
        (FailureCause.PREEMPTED, raw_pod(Role.LEARNER, failed("Preempting"))),
        (FailureCause.DRAINED, raw_pod(Role.ENGINE, disrupted("EvictionByEvictionAPI"), deleting=True)),
        (FailureCause.NODE_LOST, raw_pod(Role.ENGINE, disrupted("DeletionByTaintManager"), deleting=True)),
        (FailureCause.NODE_LOST, raw_pod(Role.LEARNER, disrupted("DeletionByPodGC", phase="Failed"))),
        (FailureCause.NODE_LOST, raw_pod(Role.LEARNER, disrupted("TerminationByKubelet") | failed("Terminated"))),
        (FailureCause.NODE_REFUSED, raw_pod(Role.LEARNER, failed("UnexpectedAdmissionError", "no healthy devices"))),
        (FailureCause.NODE_REFUSED, raw_pod(Role.SANDBOX, failed("OutOfcpu"))),
        (
            FailureCause.EVICTED_FOR_MEMORY,
            raw_pod(Role.ENGINE, disrupted("TerminationByKubelet") | failed("Evicted", EVICTION.format("memory"))),
        ),
        (FailureCause.EVICTED_FOR_DISK, raw_pod(Role.ENGINE, failed("Evicted", EVICTION.format("ephemeral-storage")))),
        (
            FailureCause.EVICTED_FOR_DISK,
            raw_pod(Role.WORKER, failed("Evicted", 'Usage of EmptyDir volume "tmp" exceeds "1Gi".')),
        ),
        (FailureCause.EVICTED, raw_pod(Role.ENGINE, failed("Evicted", EVICTION.format("pids")))),
        (FailureCause.DEADLINE_EXCEEDED, raw_pod(Role.WORKER, failed("DeadlineExceeded", "Pod was active too long"))),
        (FailureCause.PROBE_FAILED, raw_pod(Role.ENGINE, restarted(137, 310), probes=True)),
        (FailureCause.EXIT_CODE, raw_pod(Role.ENGINE, restarted(137, 60), probes=True)),
        (FailureCause.PROBE_FAILED, raw_pod(Role.SANDBOX, restarted(0, 310, "Completed"), probes=True)),
        (FailureCause.INVALID_CONFIGURATION, raw_pod(Role.LEARNER, container_ended(128, "StartError"))),
        (FailureCause.EXIT_CODE, raw_pod(Role.LEARNER, container_ended(137))),
        (FailureCause.EXIT_CODE, raw_pod(Role.ENGINE, restarted(1, 60), probes=True)),
        (FailureCause.EXIT_CODE, raw_pod(Role.ENGINE, restarted(2, 60), probes=True)),
        (FailureCause.UNKNOWN, raw_pod(Role.WORKER, failed(""))),
    ],
)
def test_cause_is_told_from_what_kubernetes_says_of_the_pod(kind: FailureCause, pod: PodRecord) -> None:
    cause = cause_of(pod, {})
    assert cause is not None
    assert cause.kind is kind
    assert "pod the-pod" in cause.text
    assert cause.remedy


@pytest.mark.parametrize(
    ("counted", "pod"),
    [
        (False, raw_pod(Role.ENGINE, disrupted("PreemptionByScheduler"), deleting=True)),
        (False, raw_pod(Role.SANDBOX, disrupted("DeletionByTaintManager"), deleting=True)),
        (False, raw_pod(Role.LEARNER, failed("OutOfcpu"))),
        (True, raw_pod(Role.ENGINE, failed("OutOfcpu"))),
        (True, raw_pod(Role.ENGINE, failed("Evicted", EVICTION.format("memory")))),
        (True, raw_pod(Role.ENGINE, {"phase": "Running"}, deleting=True)),
    ],
)
def test_pod_that_went_is_counted_unless_the_infrastructure_took_it(counted: bool, pod: PodRecord) -> None:
    assert is_counted(pod) == counted


def test_mark_of_a_disruption_that_did_not_happen_says_nothing() -> None:
    assert cause_of(raw_pod(Role.ENGINE, disrupted("PreemptionByScheduler")), {}) is None
    passed = disrupted("EvictionByEvictionAPI")
    passed["conditions"][0]["status"] = "False"
    assert cause_of(raw_pod(Role.ENGINE, passed, deleting=True), {}) is None


@pytest.mark.parametrize(("lived", "startup"), [(295, False), (1900, True)])
def test_failed_probe_is_told_with_its_deadline_and_only_that_of_which_it_can_be(lived: int, startup: bool) -> None:
    cause = cause_of(raw_pod(Role.ENGINE, restarted(137, lived), probes=True), {})
    assert cause is not None
    assert "its liveness probe must be answered within 300 s" in cause.text
    assert ("its startup probe must be answered within 1800 s" in cause.text) == startup
    assert "spec.engine.pod.resources.requests.cpu" in cause.remedy


def test_memory_is_told_with_its_limit_and_a_larger_one() -> None:
    cause = cause_of(raw_pod(Role.ENGINE, container_ended(137, "OOMKilled")), {})
    assert cause is not None
    assert cause.text.endswith("ended with exit code 137 (OOMKilled) at its memory limit of 5Gi")
    assert "Raise spec.engine.pod.resources.limits.memory above 5Gi, to 8Gi for a start" in cause.words


def test_signal_is_told_by_its_name() -> None:
    cause = cause_of(raw_pod(Role.LEARNER, container_ended(139)), {})
    assert cause is not None
    assert cause.text.endswith("exit code 139 (SIGSEGV)")


def test_engine_that_gave_up_once_and_runs_now_is_not_given_up() -> None:
    waiting = {"name": "main", "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    ended = {"lastState": {"terminated": {"exitCode": 2, "reason": "Error"}}}
    pod = raw_pod(Role.ENGINE, {"phase": "Running", "containerStatuses": [waiting | ended]}, probes=True)
    assert gave_up(pod)
    assert not gave_up(raw_pod(Role.ENGINE, restarted(2, 60), probes=True))
    cause = cause_of(pod, {})
    assert cause is not None
    assert cause.kind is FailureCause.NEVER_AGAIN


@given(st.permutations(list(FailureCause)))
def test_cause_of_several_pods_does_not_depend_on_their_order(kinds: list[FailureCause]) -> None:
    found = weightiest(Cause(kind, "") for kind in kinds)
    assert found is not None
    assert found.kind is FailureCause.NEVER_AGAIN
    assert weightiest(()) is None


@given(st.text(max_size=3000), st.sampled_from(Role), st.sampled_from(["", "OOMKilled", "StartError", "Error"]))
def test_words_of_any_cause_leave_room_in_a_condition(log: str, role: Role, reason: str) -> None:
    pod = p.pod(role, containers=(p.ended(137, reason=reason),), unschedulable=log[:500])
    cause = cause_of(pod, {(pod.meta.uid, "main", 0): log})
    assert cause is not None
    assert len(cause.words) <= MAX_MESSAGE - 300
    stuck = trouble(pod, p.NOW)
    assert stuck is None or len(stuck[1]) <= MAX_MESSAGE - 300


def test_cause_fits_into_a_condition() -> None:
    pod = p.pod(Role.ENGINE, containers=(p.ended(1),))
    cause = cause_of(pod, {(pod.meta.uid, "main", 0): "x" * 10_000})
    assert cause is not None
    assert len(cause.text) <= MAX_CAUSE_CHARACTERS


def test_what_keeps_a_pod_from_running_is_told_with_what_to_do() -> None:
    stuck = p.pod(Role.ENGINE, phase="Pending", unschedulable="0/1 nodes: 1 Insufficient cpu.", created_at=p.ago(5))
    assert trouble(stuck, p.NOW) == (
        Reason.UNSCHEDULABLE,
        "pod mini-engine-x fits on no node: 0/1 nodes: 1 Insufficient cpu. "
        "Lower spec.engine.pod.resources.requests.cpu, or add nodes.",
    )
    for reason, told in (
        ("ImagePullBackOff", Reason.IMAGE_UNAVAILABLE),
        ("CreateContainerConfigError", Reason.INVALID_CONFIGURATION),
        ("CrashLoopBackOff", Reason.RESTARTING),
    ):
        container = ContainerRecord("engine", waiting_reason=reason, waiting_message="not found")
        found = trouble(p.pod(Role.ENGINE, phase="Pending", containers=(container,)), p.NOW)
        assert found is not None
        assert found[0] is told
    assert trouble(p.ENGINE, p.NOW) is None


def test_what_has_lasted_is_said_more_strongly_and_still_waits() -> None:
    image = ContainerRecord("engine", waiting_reason="ImagePullBackOff", waiting_message="not found")
    for age, strong in ((LASTING_SECONDS - 1, False), (LASTING_SECONDS, True)):
        for pod in (
            p.pod(Role.ENGINE, phase="Pending", containers=(image,), created_at=p.ago(age)),
            p.pod(Role.ENGINE, phase="Pending", unschedulable="no cpu", created_at=p.ago(age)),
        ):
            found = trouble(pod, p.NOW)
            assert found is not None
            assert ("more than 10 minutes" in found[1]) == strong


def test_exit_code_2_says_that_trying_again_cannot_help() -> None:
    assert gave_up(p.pod(Role.WORKER, containers=(p.ended(2),)))
    assert not gave_up(p.pod(Role.WORKER, containers=(p.ended(1),)))


def test_job_that_gets_no_pod_is_told_of_after_a_while() -> None:
    made = p.job("mini-prepare", Role.PREPARE, created_at=p.NOW)
    soon, late = (p.NOW + timedelta(seconds=seconds) for seconds in (WITHOUT_POD_SECONDS - 1, WITHOUT_POD_SECONDS))
    seen = p.seen()
    assert without_pod(seen, made, (), soon) is None
    assert without_pod(seen, made, (p.pod(Role.PREPARE),), late) is None
    reason, message = without_pod(seen, made, (), late) or ("", "")
    assert reason == Reason.NO_POD
    assert "describe job mini-prepare" in message


def test_quota_that_was_looked_at_explains_a_job_without_a_pod() -> None:
    made = p.job("mini-learner-a0", Role.LEARNER, created_at=p.ago(60))
    used_up = cluster(quotas=(quota({"limits.memory": "10Gi"}, {"limits.memory": "8Gi"}),))
    reason, message = without_pod(replace(p.seen(), around=used_up), made, (), p.NOW) or ("", "")
    assert reason == Reason.QUOTA_EXCEEDED
    assert "quota small has too little left for it: limits.memory 5Gi is needed, 2Gi is there" in message
    roomy = cluster(quotas=(quota({"limits.memory": "10Gi", "pods": "2"}, {"pods": "1"}),))
    assert (without_pod(replace(p.seen(), around=roomy), made, (), p.NOW) or ("",))[0] == Reason.NO_POD


def test_deployment_that_is_refused_pods_is_told_of_in_the_api_servers_words() -> None:
    refusal = {"type": "ReplicaFailure", "status": "True", "message": QUOTA}
    raw = {"metadata": {"name": "mini-engine"}, "spec": {"replicas": 2}, "status": {"conditions": [refusal]}}
    made = record_of(Kind.DEPLOYMENT, raw)
    assert isinstance(made, DeploymentRecord)
    reason, message = without_replicas(made) or ("", "")
    assert reason == Reason.QUOTA_EXCEEDED
    assert message.startswith(
        'Deployment mini-engine gets no pod: pods "x" is forbidden: exceeded quota: small, requested'
    )
    assert "describe resourcequota small" in message
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
    for failure, expected in ((QUOTA, Reason.QUOTA_EXCEEDED), (NO_CLASS, Reason.REFUSED)):
        refused = replace(p.deployment(role), failure=failure)
        status, reason, message = p.wanted(policy(p.seen(deployments=[refused]), p.NOW), kind)
        assert (status, reason) == ("False", expected)
        assert message.startswith(f"Deployment mini-{role} gets no pod: {failure}")


@pytest.mark.parametrize(
    ("words", "reason", "says"),
    [
        (QUOTA, Reason.QUOTA_EXCEEDED, "kubectl -n ns describe resourcequota small."),
        ('pods "x" is forbidden: failed quota: small: must specify limits.cpu for: engine', Reason.QUOTA_EXCEEDED,
         "describe resourcequota small."),
        (NO_CLASS, Reason.REFUSED, "(kubectl get priorityclasses), or have the class made."),
        ('pods "x" is forbidden: pod rejected: RuntimeClass "gvisor" not found', Reason.REFUSED, "get runtimeclasses."),
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest": y', Reason.REFUSED, "namespace ns."),
        ('jobs.batch is forbidden: User "spade" cannot create resource "jobs"', Reason.REFUSED, '"jobs".'),
    ],
)  # fmt: skip
def test_what_is_forbidden_is_told_with_what_lets_it_in(words: str, reason: Reason, says: str) -> None:
    assert forbidden_reason(words) is reason
    assert explained(words, "ns").startswith(words)
    assert explained(words, "ns").endswith(says)
