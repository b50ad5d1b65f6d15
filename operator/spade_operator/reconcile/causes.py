"""Why a pod failed, or does not start, in words for a condition: exit code, memory, image, scheduling, last lines."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from spade_contracts.resources import Reason
from spade_operator.facts import LogKey
from spade_operator.reconcile.steps import FetchLog
from spade_operator.records import ContainerRecord, DeploymentRecord, JobRecord, PodRecord

EXIT_NEVER = 2
"""Exit code of our processes for what a second try would only repeat."""
MAX_LOG_CHARACTERS = 900
MAX_CAUSE_CHARACTERS = 1400
WITHOUT_POD_SECONDS = 15.0
"""How long the Job controller may take to make a pod before people are told."""
IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})


@dataclass(frozen=True)
class Cause:
    """What is known of a failure; `fetch` asks for a log that would tell more."""

    text: str
    fetch: tuple[FetchLog, ...] = ()


def cause_of(pod: PodRecord, logs: Mapping[LogKey, str]) -> Cause | None:
    """Why the pod, or a container of it, ended badly; None when nothing of it did."""
    for container in pod.containers:
        if container.exit_code not in (None, 0):
            return _ended(pod, container, container.exit_code or 0, container.ended_reason, logs, previous=False)
        if container.last_exit_code is not None and container.restarts > 0:
            return _ended(pod, container, container.last_exit_code, container.last_reason, logs, previous=True)
    if pod.phase == "Failed":
        return Cause(f"pod {pod.meta.name} failed ({pod.reason or 'no reason given'}): {pod.message}".rstrip(": "))
    return None


def _ended(
    pod: PodRecord, container: ContainerRecord, code: int, reason: str, logs: Mapping[LogKey, str], *, previous: bool
) -> Cause:
    text = f"container {container.name} of pod {pod.meta.name} ended with exit code {code}"
    if reason and reason != "Error":
        text += f" ({reason})"
    if pod.reason:
        text += f"; the pod: {pod.reason} {pod.message}".rstrip()
    said = _said(container.last_message if previous else container.ended_message)
    if said:
        return Cause(f"{text}: {said}"[:MAX_CAUSE_CHARACTERS])
    ended = container.restarts - 1 if previous else container.restarts
    log = logs.get((pod.meta.uid, container.name, ended))
    if log is None:
        return Cause(text, (FetchLog(pod, container.name, ended, previous),))
    if log.strip():
        text += f". Its last lines: {log.strip()[-MAX_LOG_CHARACTERS:]}"
    return Cause(text[:MAX_CAUSE_CHARACTERS])


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
    return any(container.exit_code == EXIT_NEVER for container in pod.containers)


def trouble(pod: PodRecord) -> tuple[Reason, str] | None:
    """Why a pod that should run does not, if the cluster says so."""
    if pod.unschedulable:
        return Reason.UNSCHEDULABLE, f"pod {pod.meta.name} fits on no node: {pod.unschedulable}"
    for container in pod.containers:
        where = f"container {container.name} of pod {pod.meta.name}"
        if container.waiting_reason in IMAGE_REASONS:
            return Reason.IMAGE_UNAVAILABLE, f"{where}: {container.waiting_reason} {container.waiting_message}"
        if container.waiting_reason in CONFIG_REASONS:
            return Reason.STARTING, f"{where}: {container.waiting_reason} {container.waiting_message}"
        if container.waiting_reason == "CrashLoopBackOff":
            return Reason.RESTARTING, f"{where} ended with exit code {container.last_exit_code} and is started again"
    return None


def without_pod(job: JobRecord, pods: tuple[PodRecord, ...], now: datetime) -> tuple[Reason, str] | None:
    """That a Job which is not ended has had no pod for a while. Only its events say why, and we may not read those."""
    created = job.meta.created_at
    if pods or created is None or (now - created).total_seconds() < WITHOUT_POD_SECONDS:
        return None
    look = f"kubectl -n {job.meta.namespace} describe job {job.meta.name}"
    return Reason.WAITING, f"Job {job.meta.name} gets no pod; a quota or an admission rule? Look with: {look}"


def without_replicas(deployment: DeploymentRecord | None) -> tuple[Reason, str] | None:
    """That a Deployment is refused pods, if it says so."""
    if deployment is None or not deployment.failure:
        return None
    return Reason.WAITING, f"Deployment {deployment.meta.name} gets no pod: {deployment.failure}"


def first_trouble(pods: tuple[PodRecord, ...]) -> tuple[Reason, str] | None:
    """The first pod's trouble that there is."""
    return next((found for pod in pods if (found := trouble(pod)) is not None), None)
