"""Why a pod ended badly, or does not start: the cause, and words for a condition with the last lines and a remedy."""

import json
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from spade_contracts.exit_codes import ExitCode
from spade_contracts.labels import Role
from spade_contracts.resources import Reason
from spade_operator.containers import ContainerRecord
from spade_operator.facts import LogKey
from spade_operator.making import MAKING_SECONDS, making_seconds
from spade_operator.parts import engine_part
from spade_operator.reconcile.failure_rules import LASTING_SECONDS, FailureCause, Rule, rule, weight
from spade_operator.reconcile.forbidden import explained, forbidden_reason, quota_against
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.remedies import NO_DEADLINE, remedy
from spade_operator.reconcile.steps import FetchLog
from spade_operator.records import DeploymentRecord, JobRecord, PodRecord

WITH_STORAGE = frozenset({Role.PREPARE, Role.WORKER, Role.LEARNER})
"""Roles that write to run storage. What else ends with that exit code means nothing by it."""
MAX_LOG_CHARACTERS = 700
MAX_CAUSE_CHARACTERS = 1100
"""Of a cause without its remedy; both stay below what a condition may hold with words around them."""
WITHOUT_POD_SECONDS = 15.0
"""How long the Job controller may take to make a pod before people are told."""
IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
CONFIG_ENDINGS = frozenset({"StartError", "ContainerCannotRun"})
STOPPED_CODES = frozenset({0, 128 + signal.SIGTERM, 128 + signal.SIGKILL})
"""Exit codes of a process that was told to stop. Our servers end in no other way with 0."""
DISRUPTIONS = {
    "PreemptionByScheduler": FailureCause.PREEMPTED,
    "DeletionByTaintManager": FailureCause.NODE_LOST,
    "DeletionByPodGC": FailureCause.NODE_LOST,
    "EvictionByEvictionAPI": FailureCause.DRAINED,
}
"""Reasons of the pod condition DisruptionTarget; `TerminationByKubelet` is told apart by the pod's own reason."""
POD_REASONS = {
    "Preempting": FailureCause.PREEMPTED,
    "NodeLost": FailureCause.NODE_LOST,
    "NodeShutdown": FailureCause.NODE_LOST,
    "Terminated": FailureCause.NODE_LOST,
    "Shutdown": FailureCause.NODE_LOST,
    "DeadlineExceeded": FailureCause.DEADLINE_EXCEEDED,
    "UnexpectedAdmissionError": FailureCause.NODE_REFUSED,
    "NodeAffinity": FailureCause.NODE_REFUSED,
    "NodePorts": FailureCause.NODE_REFUSED,
}
"""Reasons that the kubelet gives a pod as a whole."""
NEARLY = 0.8
"""A probe's first failure comes a period after the start, so the last one may come that much early."""
DISK_WORDS = ("ephemeral", "inodes", "imagefs", "nodefs", "emptydir")
HAPPENED = {
    FailureCause.PREEMPTED: "was preempted by a pod of higher priority",
    FailureCause.DRAINED: "was evicted on somebody's request, such as a drain of its node",
    FailureCause.NODE_LOST: "lost its node",
    FailureCause.NODE_REFUSED: "was refused by its node",
    FailureCause.EVICTED_FOR_MEMORY: "was evicted, because its node ran low on memory",
    FailureCause.EVICTED_FOR_DISK: "was evicted for its use of disk",
    FailureCause.EVICTED: "was evicted by the kubelet",
    FailureCause.DEADLINE_EXCEEDED: "ran past its deadline",
}
"""What is said of a pod that did not end by itself."""


@dataclass(frozen=True)
class Cause:
    """What is known of a failure; `fetch` asks for a log that would tell more."""

    kind: FailureCause
    text: str
    remedy: str = ""
    fetch: tuple[FetchLog, ...] = ()
    memory_limit: str = ""
    """That the container ran out of."""

    @property
    def words(self) -> str:
        """What happened and what to do."""
        return f"{self.text.rstrip('. ')}. {self.remedy}".rstrip() if self.remedy else self.text


def cause_of(pod: PodRecord, logs: Mapping[LogKey, str]) -> Cause | None:
    """Why the pod, or a container of it, ended badly; None when nothing of it did."""
    disrupted = _disruption(pod)
    for container in pod.containers:
        if container.exit_code == ExitCode.NEVER or (disrupted is None and container.exit_code not in (None, 0)):
            return _ended(pod, container, container.exit_code or 0, container.ended_reason, logs, previous=False)
    if disrupted is not None:
        happened = f"pod {pod.meta.name} {HAPPENED[disrupted]}" + (f" ({pod.node})" if pod.node else "")
        said = f": {pod.reason} {pod.message}".rstrip(": ") if pod.reason else ""
        return Cause(disrupted, (happened + said)[:MAX_CAUSE_CHARACTERS], _remedy(pod, disrupted))
    for container in pod.containers:
        if container.last_exit_code is not None and container.restarts > 0:
            return _ended(pod, container, container.last_exit_code, container.last_reason, logs, previous=True)
    if pod.phase == "Failed":
        text = f"pod {pod.meta.name} failed ({pod.reason or 'no reason given'}): {pod.message}".rstrip(": ")
        return Cause(FailureCause.UNKNOWN, text, remedy(pod, FailureCause.UNKNOWN))
    return None


def weightiest(causes: Iterable[Cause]) -> Cause | None:
    """The cause of a group that ended: its other pods mostly ended because of this one."""
    return min(causes, key=lambda cause: weight(cause.kind), default=None)


def rule_for(pod: PodRecord, cause: Cause) -> Rule:
    """What the table says of a pod's cause."""
    assert pod.meta.role is not None
    return rule(pod.meta.role, cause.kind)


def is_counted(pod: PodRecord) -> bool:
    """Whether a pod that is gone, or going, was lost by a fault that the run's budget pays for."""
    cause = cause_of(pod, {})
    return cause is None or rule_for(pod, cause).counts


def _disruption(pod: PodRecord) -> FailureCause | None:
    """Why a pod that is going, or failed as a whole, was taken away from its process."""
    failed = pod.phase == "Failed"
    if not (failed or pod.meta.deleting):
        return None
    if pod.disruption in DISRUPTIONS:
        return DISRUPTIONS[pod.disruption]
    if not failed:
        return FailureCause.EVICTED if pod.disruption else None
    if pod.reason == "Evicted":
        return _eviction(pod.message)
    if pod.reason.startswith("OutOf"):
        return FailureCause.NODE_REFUSED
    return POD_REASONS.get(pod.reason, FailureCause.EVICTED if pod.disruption else None)


def _eviction(words: str) -> FailureCause:
    lower = words.lower()
    if "low on resource: memory" in lower or "low on memory" in lower:
        return FailureCause.EVICTED_FOR_MEMORY
    if any(word in lower for word in DISK_WORDS):
        return FailureCause.EVICTED_FOR_DISK
    return FailureCause.EVICTED


def _ended(
    pod: PodRecord, container: ContainerRecord, code: int, reason: str, logs: Mapping[LogKey, str], *, previous: bool
) -> Cause:
    kind = _kind(pod, container, code, reason, previous=previous)
    text = f"container {container.name} of pod {pod.meta.name} "
    if kind is FailureCause.PROBE_FAILED:
        text += f"was stopped by the kubelet with exit code {code}: {_probes(container)}"
    else:
        text += f"ended with exit code {code}{_meaning(code, reason)}"
    limit = container.memory_limit if kind is FailureCause.OUT_OF_MEMORY else ""
    if limit:
        text += f" at its memory limit of {limit}"
    if pod.reason:
        text += f"; the pod: {pod.reason} {pod.message}".rstrip()
    help_with = _remedy(pod, kind, container)
    said = _said(container.last_message if previous else container.ended_message)
    if said:
        return Cause(kind, f"{text}: {said}"[:MAX_CAUSE_CHARACTERS], help_with, memory_limit=limit)
    ended = container.restarts - 1 if previous else container.restarts
    log = logs.get((pod.meta.uid, container.name, ended))
    if log is None:
        return Cause(kind, text, help_with, (FetchLog(pod, container.name, ended, previous),), limit)
    if log.strip():
        text += f". Its last lines: {log.strip()[-MAX_LOG_CHARACTERS:]}"
    return Cause(kind, text[:MAX_CAUSE_CHARACTERS], help_with, memory_limit=limit)


def _kind(pod: PodRecord, container: ContainerRecord, code: int, reason: str, *, previous: bool) -> FailureCause:
    """What the end of a container was of."""
    again = not previous or bool(container.waiting_reason)
    if code == ExitCode.NEVER and again:
        return FailureCause.NEVER_AGAIN
    if code == ExitCode.STORAGE_FULL and pod.meta.role in WITH_STORAGE:
        return FailureCause.STORAGE_FULL
    if reason == "OOMKilled":
        return FailureCause.OUT_OF_MEMORY
    if reason in CONFIG_ENDINGS:
        return FailureCause.INVALID_CONFIGURATION
    stays = not pod.meta.deleting and pod.phase != "Failed"
    # Told to stop while its pod stays: the kubelet does that when a probe has failed for long enough.
    if code in STOPPED_CODES and stays and _probes(container):
        return FailureCause.PROBE_FAILED
    return FailureCause.EXIT_CODE


def _meaning(code: int, reason: str) -> str:
    if reason and reason not in ("Error", "Completed"):
        return f" ({reason})"
    try:
        return f" ({signal.Signals(code - 128).name})" if code > 128 else ""
    except ValueError:
        return ""


def _probes(container: ContainerRecord) -> str:
    """Which probe it can have been: none that allows more than the container lived. Empty when it was none."""
    lived = container.last_seconds
    if lived is None and container.started_at is not None and container.finished_at is not None:
        # It is not started again: a Job's pod, of whose containers one has ended.
        lived = (container.finished_at - container.started_at).total_seconds()
    deadlines = {"startup": container.startup_seconds, "liveness": container.liveness_seconds}
    possible = [
        f"its {probe} probe must be answered within {seconds} s"
        for probe, seconds in deadlines.items()
        if seconds and (lived is None or lived >= seconds * NEARLY)
    ]
    return ", ".join(possible) + (f", and it ran for {lived:.0f} s" if possible and lived is not None else "")


def _remedy(pod: PodRecord, kind: FailureCause, container: ContainerRecord | None = None) -> str:
    meant = container or next(iter(pod.containers), None)
    part = engine_part(pod) if meant is not None and meant.name == Role.ENGINE else None
    return remedy(part or pod, kind, meant)


def _said(message: str) -> str:
    """What the process left as its last words: the `error` of a summary, or plain text."""
    if not message.lstrip().startswith("{"):
        return message.strip()
    try:
        error = json.loads(message).get("error", "")
    except ValueError:
        return ""
    return error if isinstance(error, str) else ""


def gave_up(pod: PodRecord) -> bool:
    """Whether a container ended with the exit code that says: trying again cannot help."""
    return any(
        container.exit_code == ExitCode.NEVER
        or (container.waiting_reason and container.last_exit_code == ExitCode.NEVER)
        for container in pod.containers
    )


def trouble(pod: PodRecord, now: datetime) -> tuple[Reason, str] | None:
    """Why a pod that should run does not, if the cluster says so, and what to do."""
    if pod.unschedulable:
        help_with = remedy(pod, FailureCause.UNSCHEDULABLE, words=pod.unschedulable)
        text = f"pod {pod.meta.name} fits on no node: {pod.unschedulable.rstrip('. ')}. {help_with}"
        return Reason.UNSCHEDULABLE, text + _lasting(pod, now)
    for container in pod.containers:
        where = f"container {container.name} of pod {pod.meta.name}"
        said = f"{where}: {container.waiting_reason} {container.waiting_message}".rstrip(". ")
        if container.waiting_reason in IMAGE_REASONS:
            help_with = remedy(pod, FailureCause.IMAGE_UNAVAILABLE)
            return Reason.IMAGE_UNAVAILABLE, f"{said}. {help_with}{_lasting(pod, now)}"
        if container.waiting_reason in CONFIG_REASONS:
            help_with = remedy(pod, FailureCause.INVALID_CONFIGURATION)
            return Reason.INVALID_CONFIGURATION, f"{said}. {help_with}{_lasting(pod, now)}"
        if container.waiting_reason == "CrashLoopBackOff":
            return Reason.RESTARTING, f"{where} ended with exit code {container.last_exit_code} and is started again"
    if making_seconds(pod, now) >= MAKING_SECONDS:
        look = f"kubectl -n {pod.meta.namespace} describe pod {pod.meta.name}"
        return Reason.WAITING, (
            f"pod {pod.meta.name} has a node ({pod.node}) and no container yet: its image is still being pulled, or a "
            f"Secret, ConfigMap or volume that it mounts is missing (FailedMount). Look with: {look}"
        )
    return None


def _lasting(pod: PodRecord, now: datetime) -> str:
    """The stronger words for what does not pass by itself; of a pod that never ran, because its age is the wait."""
    made = pod.meta.created_at
    if made is None or pod.restarts or (now - made).total_seconds() < LASTING_SECONDS:
        return ""
    return f" It has waited for more than {LASTING_SECONDS / 60:.0f} minutes, so somebody must look; it waits on."


def of_job(job: JobRecord, pods: tuple[PodRecord, ...], wanted: int) -> Cause:
    """Why a Job ended when no pod of it tells; `wanted` pods were to be there."""
    failure = job.failure.strip(": ")
    kind = FailureCause.UNKNOWN
    if failure.startswith("DeadlineExceeded"):
        kind = FailureCause.DEADLINE_EXCEEDED
    if sum(1 for pod in pods if not pod.meta.deleting) < wanted:
        return Cause(kind, f"a pod of the Job {job.meta.name} was deleted" + (f" ({failure})" if failure else ""))
    text = f"the Job {job.meta.name} ended: {failure or 'its processes left before the run was complete'}"
    return Cause(kind, text, NO_DEADLINE if kind is FailureCause.DEADLINE_EXCEEDED else "")


def without_pod(
    seen: AnyPicture, job: JobRecord, pods: tuple[PodRecord, ...], now: datetime
) -> tuple[Reason, str] | None:
    """That a Job which is not ended has had no pod for a while. Only its events say why, and we may not read those; a
    quota that was looked at explains it too.
    """
    created = job.meta.created_at
    if pods or created is None or (now - created).total_seconds() < WITHOUT_POD_SECONDS:
        return None
    look = f"kubectl -n {job.meta.namespace} describe job {job.meta.name}"
    against = quota_against(seen, job.meta.role) if job.meta.role is not None else ""
    helped = (
        f"Once the cause is gone, Kubernetes tries again by itself, after minutes at the latest; at once with: "
        f"kubectl -n {job.meta.namespace} delete job {job.meta.name}"
    )
    if against:
        return Reason.QUOTA_EXCEEDED, f"Job {job.meta.name} gets no pod: {against}. Raise it, or free some. {helped}"
    text = f"Job {job.meta.name} gets no pod; a quota, a LimitRange or an admission rule? Look with: {look}. {helped}"
    return Reason.NO_POD, text


def without_replicas(deployment: DeploymentRecord | None) -> tuple[Reason, str] | None:
    """That a Deployment is refused pods, if it says so."""
    if deployment is None or not deployment.failure:
        return None
    text = f"Deployment {deployment.meta.name} gets no pod: {explained(deployment.failure, deployment.meta.namespace)}"
    return forbidden_reason(deployment.failure), text


def first_trouble(pods: Iterable[PodRecord], now: datetime) -> tuple[Reason, str] | None:
    """The first pod's trouble that there is."""
    return next((found for pod in pods if (found := trouble(pod, now)) is not None), None)
