"""The end of a run with `storage.onDelete: Delete`: its pods go, then its folder in run storage, then the run.

A run that cannot be cleaned away stays and says why: what was asked for is that nothing is left. It never waits for
something that nobody can give: without a claim, or in a namespace that ends, it goes.
"""

from datetime import datetime

from spade_contracts.resources import Reason, RunCondition
from spade_contracts.resources.run_parts import OnDelete
from spade_operator.children.cleanup import cleanup_job
from spade_operator.children.names import cleanup_job_name
from spade_operator.reconcile.causes import cause_of, first_trouble, of_job, weightiest, without_pod
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.release import releases, remaining
from spade_operator.reconcile.steps import Create, HoldStorage, Step, Wanted, is_false
from spade_operator.records import Kind, PodRecord

LOOK_AGAIN_SECONDS = 2.0
TO_MEND = (
    "Delete that Job to have it tried again, or set spec.storage.onDelete: Retain to let the run go and keep its files."
)


def hold_storage(seen: Observed, now: datetime) -> Step:
    """The finalizer of a run that is not being deleted follows what its spec says, in every phase."""
    wanted = seen.spec.storage.on_delete is OnDelete.DELETE
    return Step((HoldStorage(seen.run, wanted),) if wanted != seen.run.meta.holds_storage else ())


def cleanup(seen: Observed, now: datetime) -> Step:
    """What a run that is being deleted needs before it may go."""
    name, release = cleanup_job_name(seen.run.meta.name), HoldStorage(seen.run, holds=False)
    if _needless(seen):
        return Step((release,))
    others = tuple(pod for pod in seen.pods if pod.job != name)
    jobs = tuple(job for job in seen.jobs.values() if job.meta.name != name)
    freed = releases((*others, *jobs, *seen.deployments.values()))
    if remaining(others):
        return Step(freed, (_deleting("The run's pods are given back."),), wake_after_seconds=LOOK_AGAIN_SECONDS)
    job, pods = seen.jobs.get(name), tuple(pod for pod in seen.pods if pod.job == name)
    if job is None:
        create = tuple(Create(manifest) for manifest in cleanup_job(seen.parent, seen.site))
        return Step((*freed, *create), (_deleting("The run's folder in run storage is being deleted."),))
    if job.complete:
        return Step((*freed, release))
    if job.failed:
        return _failed(seen, pods, name)
    stuck = first_trouble((pod for pod in pods if pod.live), now) or without_pod(seen, job, pods, now)
    words = f"Job {name} deletes the run's folder in run storage." + (f" It waits: {stuck[1]}" if stuck else "")
    return Step(freed, (_deleting(words),), wake_after_seconds=LOOK_AGAIN_SECONDS)


def _needless(seen: Observed) -> bool:
    """Nothing is to be deleted, or nobody can: a change of mind, or no claim or readable spec."""
    if seen.run.spec is None or seen.spec.storage.on_delete is OnDelete.RETAIN:
        return True
    made = seen.owner.claim is not None and seen.spec.storage.claim_name is None
    return made and (Kind.CLAIM, seen.owner.claim) not in seen.others


def _failed(seen: Observed, pods: tuple[PodRecord, ...], name: str) -> Step:
    causes = [cause for pod in pods if (cause := cause_of(pod, seen.logs)) is not None]
    cause = weightiest(reversed(causes)) or of_job(seen.jobs[name], pods, 0)
    text = f"The run's folder in run storage could not be deleted: {cause.words} The Job is {name}. {TO_MEND}"
    return Step(cause.fetch, (is_false(RunCondition.STORAGE_DELETED, Reason.JOB_FAILED, text),))


def _deleting(message: str) -> Wanted:
    return is_false(RunCondition.STORAGE_DELETED, Reason.DELETING, message)
