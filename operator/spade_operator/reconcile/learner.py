"""The learner is one group: when a pod of it is lost, all are replaced under the next attempt's name."""

import math
from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.statuses import LearnerState
from spade_operator.children.learner import learner_job
from spade_operator.children.names import learner_job_name
from spade_operator.reconcile.causes import (
    WITHOUT_POD_SECONDS,
    Cause,
    cause_of,
    first_trouble,
    of_job,
    weightiest,
    without_pod,
)
from spade_operator.reconcile.failure_rules import PACE_SECONDS, Answer, FailureCause, rule
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.release import releases
from spade_operator.reconcile.restarts import failed as run_failed
from spade_operator.reconcile.steps import Create, Step, Wanted, is_false, is_true
from spade_operator.records import JobRecord, PodRecord

SIGNALLED = 128
"""Exit codes above it are signals."""
LEAVING_SECONDS = 60.0
"""How long a pod of the last group may take to go before people are told."""
STARTING = {
    LearnerState.STARTING: "The learner loads its model.",
    LearnerState.REPLAYING: "The learner replays recorded rollouts up to its target.",
}


def learner(seen: Observed, now: datetime) -> Step:  # noqa: PLR0911  # one return for each state of the group
    """Make the group, replace it when it is broken, and say whether it is up."""
    name = learner_job_name(seen.run.meta.name, seen.status.learner_attempt)
    old_jobs = tuple(j for n, j in seen.jobs.items() if j.meta.role is Role.LEARNER and n != name)
    old_pods = tuple(p for p in seen.pods if p.meta.role is Role.LEARNER and p.job != name)
    if old_jobs or any(pod.phase in ("Pending", "Running") for pod in old_pods):
        # Two groups must not train at once.
        return Step(releases((*old_jobs, *old_pods)), (_leaving(seen, old_pods, now),), wake_after_seconds=2.0)
    pods = tuple(pod for pod in seen.pods if pod.job == name)
    job = seen.jobs.get(name)
    if job is None:
        create = tuple(Create(m) for m in learner_job(seen.parent, seen.site, seen.status.learner_attempt))
        return Step(create, (_still(seen),))
    said = seen.learner()
    if said is not None and said[1].state is LearnerState.FAILED and said[1].failure in set(Reason):
        return run_failed(seen, Reason(said[1].failure), f"The learner gave up: {said[1].error}"[:1800])
    if job.failed or job.complete or any(map(_is_broken, pods)):
        return _replace(seen, job, pods, now)
    if said is not None and said[1].state in STARTING:
        return Step(conditions=(is_false(RunCondition.LEARNER_READY, Reason.STARTING, STARTING[said[1].state]),))
    if said is not None and said[1].state is not LearnerState.FAILED:
        ready = f"Attempt {seen.status.learner_attempt} is up."
        return Step(conditions=(is_true(RunCondition.LEARNER_READY, Reason.READY, ready),))
    stuck = first_trouble((pod for pod in pods if pod.live), now) or without_pod(seen, job, tuple(pods), now)
    condition = is_false(RunCondition.LEARNER_READY, *stuck) if stuck else _still(seen)
    return Step(conditions=(condition,), wake_after_seconds=None if pods else WITHOUT_POD_SECONDS)


def _is_broken(pod: PodRecord) -> bool:
    """Whether its group must be replaced. A pod with two containers runs on when one of them ended."""
    return pod.phase == "Failed" or pod.meta.deleting or any(c.exit_code is not None for c in pod.containers)


def _still(seen: Observed) -> Wanted:
    """Starting; after a loss its cause stands until the group is up again."""
    before = seen.condition(RunCondition.LEARNER_READY)
    if before is not None and before.reason in (Reason.RESTARTING, Reason.STORAGE_FULL):
        return is_false(RunCondition.LEARNER_READY, Reason(before.reason), before.message)
    return is_false(RunCondition.LEARNER_READY, Reason.STARTING, "The learner's pods start.")


def _leaving(seen: Observed, pods: tuple[PodRecord, ...], now: datetime) -> Wanted:
    """The last group goes; a pod of it that does not is told of, because nothing starts while it may run."""
    late = [pod for pod in pods if pod.phase in ("Pending", "Running") and _overdue(pod, now)]
    if not late:
        return _still(seen)
    text = (
        f"Pod {late[0].meta.name} of the last group does not end on node {late[0].node or 'unknown'}, and two groups "
        f"must not train at once. If the node is gone for good: kubectl delete node {late[0].node or 'NODE'}."
    )
    return is_false(RunCondition.LEARNER_READY, Reason.WAITING, text)


def _overdue(pod: PodRecord, now: datetime) -> bool:
    return pod.leaves_at is not None and (now - pod.leaves_at).total_seconds() > LEAVING_SECONDS


def _replace(seen: Observed, job: JobRecord, pods: tuple[PodRecord, ...], now: datetime) -> Step:
    lost = (pod for pod in seen.present_and_taken(Role.LEARNER) if pod.job == job.meta.name)
    group = sorted(lost, key=_went_down)
    causes = [cause for pod in group if (cause := cause_of(pod, seen.logs)) is not None]
    fetch = tuple(f for cause in causes for f in cause.fetch)
    if fetch:
        # The log goes with the pod, so it is read first.
        return Step(fetch, (_still(seen),))
    cause = weightiest(causes) or of_job(job, pods, seen.spec.learner.nodes)
    answer = rule(Role.LEARNER, cause.kind)
    if answer.answer is Answer.FAIL:
        return run_failed(seen, Reason.POD_FAILED, cause.words)
    before = seen.status.restarts.get(Role.LEARNER, Restarts())
    repeated = (before.last_cause, before.memory_limit or "") == (cause.kind, cause.memory_limit)
    if answer.fails_when_repeated and repeated:
        return run_failed(seen, Reason.OUT_OF_MEMORY, f"Twice in a row: {cause.words}")
    reason = Reason.STORAGE_FULL if cause.kind is FailureCause.STORAGE_FULL else Reason.RESTARTING
    restarting = is_false(RunCondition.LEARNER_READY, reason, cause.words)
    if not answer.counts:
        made = job.meta.created_at
        left = PACE_SECONDS - (now - made).total_seconds() if made is not None else 0.0
        if left > 0:
            return Step(releases(tuple(p for p in pods if p.live)), (restarting,), wake_after_seconds=left)
    return Step(
        actions=releases((job, *pods)),
        conditions=(restarting,),
        status={
            "learner_attempt": seen.status.learner_attempt + 1,
            "restarts": {**seen.status.restarts, Role.LEARNER.value: _with_cause(before, cause)},
        },
        restarts={Role.LEARNER: 1} if answer.counts else {},
        disruptions={} if answer.counts else {Role.LEARNER: 1},
    )


def _went_down(pod: PodRecord) -> tuple[float, bool]:
    """Order in which pods of a group ended: the first took the others with it.

    Kubernetes tells whole seconds. Within one, a process that was killed was no follower: those end by themselves.
    """
    ends = [c.finished_at.timestamp() for c in pod.containers if c.finished_at is not None]
    killed = any((c.exit_code or 0) > SIGNALLED for c in pod.containers)
    return min(ends, default=math.inf), not killed


def _with_cause(before: Restarts, cause: Cause) -> Restarts:
    """What tells the next loss whether it is the same again."""
    limit = cause.memory_limit or None
    return before.model_copy(update={"last_cause": str(cause.kind), "memory_limit": limit})
