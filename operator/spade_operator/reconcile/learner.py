"""The learner is one group: when a pod of it is lost, all are replaced under the next attempt's name."""

from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import LearnerState
from spade_operator.children.learner import learner_job
from spade_operator.children.names import learner_job_name
from spade_operator.reconcile.causes import WITHOUT_POD_SECONDS, cause_of, first_trouble, without_pod
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.release import releases
from spade_operator.reconcile.restarts import failed as run_failed
from spade_operator.reconcile.steps import Create, Step, Wanted, is_false, is_true
from spade_operator.records import JobRecord, PodRecord

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
        return Step(releases((*old_jobs, *old_pods)), (_still(seen),), wake_after_seconds=2.0)
    pods = tuple(pod for pod in seen.pods if pod.job == name)
    job = seen.jobs.get(name)
    if job is None:
        create = tuple(Create(m) for m in learner_job(seen.parent, seen.site, seen.status.learner_attempt))
        return Step(create, (_still(seen),))
    said = seen.learner()
    if said is not None and said[1].state is LearnerState.FAILED and said[1].failure in set(Reason):
        return run_failed(seen, Reason(said[1].failure), f"The learner gave up: {said[1].error}"[:1800])
    if job.failed or job.complete or any(pod.phase == "Failed" for pod in pods):
        return _replace(seen, job, pods)
    if said is not None and said[1].state in STARTING:
        return Step(conditions=(is_false(RunCondition.LEARNER_READY, Reason.STARTING, STARTING[said[1].state]),))
    if said is not None and said[1].state is not LearnerState.FAILED:
        ready = f"Attempt {seen.status.learner_attempt} is up."
        return Step(conditions=(is_true(RunCondition.LEARNER_READY, Reason.READY, ready),))
    stuck = first_trouble(tuple(pod for pod in pods if pod.live)) or without_pod(job, tuple(pods), now)
    condition = is_false(RunCondition.LEARNER_READY, *stuck) if stuck else _still(seen)
    return Step(conditions=(condition,), wake_after_seconds=None if pods else WITHOUT_POD_SECONDS)


def _still(seen: Observed) -> Wanted:
    """Starting; after a loss its cause stands until the group is up again."""
    before = seen.condition(RunCondition.LEARNER_READY)
    if before is not None and before.reason == Reason.RESTARTING:
        return is_false(RunCondition.LEARNER_READY, Reason.RESTARTING, before.message)
    return is_false(RunCondition.LEARNER_READY, Reason.STARTING, "The learner's pods start.")


def _replace(seen: Observed, job: JobRecord, pods: tuple[PodRecord, ...]) -> Step:
    causes = [cause for pod in pods if (cause := cause_of(pod, seen.logs)) is not None]
    fetch = tuple(f for cause in causes for f in cause.fetch)
    if fetch:
        # The log goes with the pod, so it is read first.
        return Step(fetch, (_still(seen),))
    text = causes[0].text if causes else _ending(seen, job, pods)
    return Step(
        actions=releases((job, *pods)),
        conditions=(is_false(RunCondition.LEARNER_READY, Reason.RESTARTING, text),),
        status={"learner_attempt": seen.status.learner_attempt + 1},
        restarts={Role.LEARNER: 1},
    )


def _ending(seen: Observed, job: JobRecord, pods: tuple[PodRecord, ...]) -> str:
    """Why the group ended when no pod of it tells."""
    failure = job.failure.strip(": ")
    if sum(1 for pod in pods if not pod.meta.deleting) < seen.spec.learner.nodes:
        return f"a pod of the Job {job.meta.name} was deleted" + (f" ({failure})" if failure else "")
    return f"the Job {job.meta.name} ended: {failure or 'its processes left before the run was complete'}"
