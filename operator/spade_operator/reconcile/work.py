"""A worker Job from its first attempt to its result: what EnvBatches, of a run or not, and RolloutJobs have in common.

The result is the termination message of the pod with index 0, which speaks for all workers once the unit's manifest
is written. A Job that ends without one is run again under the next attempt's number; finished work is a no-op.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from spade_contracts.labels import Role
from spade_contracts.resources import Condition, ConditionStatus, Reason, RolloutCondition, RunCondition
from spade_operator.children.manifests import Manifest
from spade_operator.making import told_after
from spade_operator.reconcile.causes import (
    WITHOUT_POD_SECONDS,
    cause_of,
    first_trouble,
    gave_up,
    is_counted,
    of_job,
    weightiest,
    without_pod,
)
from spade_operator.reconcile.conditions import ChildStatus, Mark, with_conditions
from spade_operator.reconcile.failure_rules import PACE_SECONDS, FailureCause
from spade_operator.reconcile.isolation import in_doubt
from spade_operator.reconcile.kueue import admitted
from spade_operator.reconcile.observe import AnyPicture, Observed
from spade_operator.reconcile.position import Stage, position
from spade_operator.reconcile.release import releases
from spade_operator.reconcile.steps import Action, Create, Remove
from spade_operator.reconcile.suspend import suspended_now
from spade_operator.records import JobRecord, PodRecord

Summary = TypeVar("Summary", bound=BaseModel)
MAX_FAILED_JOBS = 3
"""Jobs that may fail for one unit; each has replaced its lost pods up to the run's `workers.restarts`."""
STUCK = frozenset({
    Reason.UNSCHEDULABLE, Reason.IMAGE_UNAVAILABLE, Reason.INVALID_CONFIGURATION, Reason.RESTARTING, Reason.WAITING,
    Reason.QUOTA_EXCEEDED, Reason.REFUSED, Reason.NO_POD, Reason.STORAGE_FULL,
})  # fmt: skip
"""What a Job, or a pod that should run, may wait for."""
RESULT_SECONDS = 20.0
"""How long a finished Job's pod may stay unseen before the Job is run again."""
SETTLED_SECONDS = 60.0
"""A worker that has run for so long since it found storage full has found room."""
ATTEMPTS_PER_RETRY = 10
"""`retry` moves the numbers on, so that a new object's attempts differ from those of the one that failed."""


@dataclass(frozen=True)
class Unit(Generic[Summary]):
    """One EnvBatch's or RolloutJob's work."""

    owner_uid: str
    attempt: int
    paused: bool
    """No work is wanted now: what is at work gives its pods back."""
    may_start: bool
    """A Job may be made."""
    job_name: Callable[[int], str]
    job_manifests: Callable[[int], list[Manifest]]
    summary: type[Summary]


@dataclass(frozen=True)
class Progress(Generic[Summary]):
    """What a pass does for a unit, and what it learnt."""

    actions: tuple[Action, ...] = ()
    attempt: int | None = None
    """New number to be written to status."""
    result: Summary | None = None
    pod: PodRecord | None = None
    """The pod that told the result."""
    failure: str = ""
    """Why the unit failed for good."""
    stuck: tuple[Reason, str] | None = None
    """What a pod of its Job waits for."""
    settled: bool = True
    """Whether a pod has run for long enough not to end as the last one did."""
    wake_after_seconds: float | None = None


def attempt_number(written: int, retry: int) -> int:
    """The number of the next Job: from the unit's status, or the first one of a retry when none was written."""
    return written or retry * ATTEMPTS_PER_RETRY


def paused(seen: Observed) -> bool:
    """Whether the run wants no work done now."""
    if seen.run.problem or seen.run.meta.deleting or seen.holds(RunCondition.FAILED):
        return True
    # Sessions end with their workers, and their episodes are played again: none of an open network is scored.
    at_rest = suspended_now(seen) or not admitted(seen) or position(seen).stage is Stage.COMPLETE
    return in_doubt(seen) or at_rest


def may_start(seen: Observed) -> bool:
    """Whether a Job may be made: isolation and weights are proven."""
    return seen.holds(RunCondition.ISOLATED) and seen.holds(RunCondition.WEIGHTS_VERIFIED)


def advance(  # noqa: PLR0911  # one return for each state of the Job
    seen: AnyPicture, unit: Unit[Summary], now: datetime
) -> Progress[Summary]:
    """The next step of a unit that is not finished."""
    attempt = unit.attempt
    name = unit.job_name(attempt)
    jobs = {n: j for n, j in seen.jobs.items() if j.meta.owner_uid == unit.owner_uid}
    job = jobs.get(name)
    pods = tuple(pod for pod in seen.pods if pod.job == name)
    for pod in pods:
        result = _result(pod, unit.summary)
        if result is not None and job is not None:
            return Progress(result=result, pod=pod)
    if unit.paused:
        if job is None or job.complete or job.failed:
            return Progress()
        return Progress(releases((job, *pods)), attempt=attempt + 1)
    if job is None:
        return _start(seen, unit, attempt, name)
    hopeless = next((pod for pod in pods if gave_up(pod)), None)
    if hopeless is not None and (cause := cause_of(hopeless, seen.logs)) is not None:
        return Progress(cause.fetch) if cause.fetch else Progress(releases((job,)), failure=cause.words)
    if job.failed:
        return _after_failure(seen, attempt, jobs, job, now)
    if job.meta.deleting:
        return Progress(releases(pods), attempt=attempt + 1)
    if job.complete:
        left = RESULT_SECONDS - (now - (job.ended_at or now)).total_seconds()
        if left > 0:
            return Progress(wake_after_seconds=left)
        return Progress((Remove(job),), attempt=attempt + 1)
    evicted = [pod for pod in pods if pod.phase == "Failed" and pod.disruption and is_counted(pod)]
    if len(evicted) > seen.owner.worker_restarts and (cause := cause_of(evicted[-1], seen.logs)) is not None:
        # The Job's controller counts no disruption at all, so it would replace them for ever.
        failure = f"{len(evicted)} pods of the Job {name} were evicted; the last: {cause.words}"
        return Progress(releases((job, *pods)), failure=failure)
    return Progress(
        stuck=first_trouble((pod for pod in pods if pod.live), now) or without_pod(seen, job, pods, now),
        settled=_settled(pods, now),
        # No event comes of a pod that is not made.
        wake_after_seconds=told_after(pods, now) if pods else WITHOUT_POD_SECONDS,
    )


def stuck_condition(conditions: Iterable[Condition]) -> tuple[Reason, str] | None:
    """What a unit waits for, as its own condition tells."""
    known = next((c for c in conditions if c.type == RolloutCondition.COMPLETE and c.status == "False"), None)
    return (Reason(known.reason), known.message) if known is not None and known.reason in STUCK else None


def waiting(before: Iterable[Condition], progress: Progress[Summary]) -> Mark | None:
    """What Complete says while a pod of the unit waits for a node or an image, and once it waits no longer."""
    if progress.stuck is not None:
        return ConditionStatus.FALSE, *progress.stuck
    known = stuck_condition(before)
    if known is not None and known[0] is Reason.STORAGE_FULL and not progress.settled:
        return None
    if known is not None:
        return ConditionStatus.FALSE, Reason.RUNNING, "Its Job is at work."
    return None


def not_ended(before: ChildStatus, progress: Progress[Summary], generation: int, now: datetime) -> ChildStatus:
    """The status of a run's unit that has neither result nor failure: its attempt, and what it waits for."""
    if progress.attempt is not None:
        before = before.model_copy(update={"job_attempt": progress.attempt})
    mark = waiting(before.conditions, progress)
    if mark is None:
        return before
    return with_conditions(before, {RolloutCondition.COMPLETE: mark}, generation, now)


def _start(seen: AnyPicture, unit: Unit[Summary], attempt: int, name: str) -> Progress[Summary]:
    if name in seen.jobs:
        # A namesake of a deleted unit is still going.
        return Progress(wake_after_seconds=1.0)
    names = {n for n, j in seen.jobs.items() if j.meta.owner_uid == unit.owner_uid}
    own = (pod for pod in seen.pods if pod.meta.role is Role.WORKER and pod.job in names)
    late = tuple(pod for pod in own if pod.phase in ("Pending", "Running"))
    if late:
        return Progress(releases(late), wake_after_seconds=1.0)
    if not unit.may_start:
        return Progress()
    return Progress(tuple(Create(manifest) for manifest in unit.job_manifests(attempt)))


def _after_failure(
    seen: AnyPicture, attempt: int, jobs: dict[str, JobRecord], job: JobRecord, now: datetime
) -> Progress[Summary]:
    pods = _pods_of(seen, job)
    causes = [cause for pod in pods if (cause := cause_of(pod, seen.logs)) is not None]
    fetch = tuple(f for cause in causes for f in cause.fetch)
    if fetch:
        return Progress(fetch)
    made = job.meta.created_at
    left = PACE_SECONDS - (now - made).total_seconds() if made is not None else 0.0
    full = next((cause for cause in causes if cause.kind is FailureCause.STORAGE_FULL), None)
    stuck = (Reason.STORAGE_FULL, full.words) if full is not None else None
    if _spared(seen, job) and left > 0:
        return Progress(stuck=stuck, settled=False, wake_after_seconds=left)
    spent = sum(1 for other in jobs.values() if other.failed and not _spared(seen, other))
    if spent < MAX_FAILED_JOBS:
        return Progress(attempt=attempt + 1, stuck=stuck, settled=False)
    cause = weightiest(causes) or of_job(job, pods, 0)
    return Progress(failure=f"{spent} Jobs failed; the last, {job.meta.name}: {cause.words}")


def _settled(pods: tuple[PodRecord, ...], now: datetime) -> bool:
    started = (container.started_at for pod in pods if pod.live for container in pod.containers)
    return any(at is not None and (now - at).total_seconds() >= SETTLED_SECONDS for at in started)


def _spared(seen: AnyPicture, job: JobRecord) -> bool:
    """Whether a Job failed by what no budget pays for, which it does only when it may replace no pod itself."""
    return any(not is_counted(pod) for pod in _pods_of(seen, job))


def _pods_of(seen: AnyPicture, job: JobRecord) -> tuple[PodRecord, ...]:
    return tuple(pod for pod in seen.present_and_taken(Role.WORKER) if pod.job == job.meta.name)


def _result(pod: PodRecord, model: type[Summary]) -> Summary | None:
    """The summary of a worker that ended well and speaks for all."""
    if pod.index not in (None, 0):
        return None
    for container in pod.containers:
        if container.exit_code == 0 and container.ended_message:
            try:
                return model.model_validate_json(container.ended_message)
            except ValidationError:
                continue
    return None


def work_times(pod: PodRecord) -> tuple[str | None, str | None]:
    """When the pod's container began and ended, RFC 3339."""
    container = next(iter(pod.containers), None)
    if container is None:
        return None, None
    began, ended = container.started_at, container.finished_at
    return (began.isoformat() if began else None), (ended.isoformat() if ended else None)
