"""The verify Job of a stand-alone EnvBatch, and what its summary says of the programs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from spade_contracts.labels import Role
from spade_contracts.resources import BatchCondition, Reason
from spade_contracts.resources.env_batch import MutationScores
from spade_contracts.statuses import ScoreDistribution, VerifySummary
from spade_operator.children.names import verify_job_name
from spade_operator.children.verify import verify_job
from spade_operator.reconcile.canaries import unsound_gate
from spade_operator.reconcile.causes import WITHOUT_POD_SECONDS, first_trouble, without_pod
from spade_operator.reconcile.isolation import in_doubt
from spade_operator.reconcile.observe import ObservedPool
from spade_operator.reconcile.restarts import RETRY
from spade_operator.reconcile.steps import Step, Wanted, is_false, is_true
from spade_operator.reconcile.work import Progress, Unit, advance, attempt_number, work_times


def current_attempt(seen: ObservedPool) -> int:
    """Number of the Job in work."""
    return attempt_number(seen.head.status.job_attempt, seen.head.status.handled_retry)


def verification(seen: ObservedPool, now: datetime, *, isolated: bool) -> Step:
    """The next step of the Job; it is made only while the pool is isolated."""
    head, owner = seen.head, seen.owner
    unit = Unit(
        owner_uid=head.meta.uid,
        attempt=current_attempt(seen),
        paused=in_doubt(seen),
        may_start=isolated,
        job_name=lambda attempt: verify_job_name(head.meta.name, attempt),
        job_manifests=lambda attempt: verify_job(owner, head.spec, seen.site, attempt),
        summary=VerifySummary,
    )
    progress = advance(seen, unit, now)
    if progress.result is not None:
        return _result(seen, progress, progress.result)
    if progress.failure:
        failed = (BatchCondition.FAILED, BatchCondition.VERIFIED)
        message = f"{progress.failure.rstrip('. ')}. {RETRY}"
        return Step(
            progress.actions,
            (is_true(failed[0], Reason.JOB_FAILED, message), is_false(failed[1], Reason.JOB_FAILED, message)),
            doing="failed",
        )
    number: dict[str, Any] = {} if progress.attempt is None else {"job_attempt": progress.attempt}
    condition, wake = _at_work(seen, unit.job_name(unit.attempt), now, isolated=isolated)
    wakes = [seconds for seconds in (progress.wake_after_seconds, wake) if seconds is not None]
    return Step(
        progress.actions,
        (condition,),
        number,
        doing="verifying programs" if condition.reason is Reason.JUDGING else "",
        wake_after_seconds=min(wakes, default=None),
    )


def _at_work(seen: ObservedPool, name: str, now: datetime, *, isolated: bool) -> tuple[Wanted, float | None]:
    """What is to be said while there is no result, and when to look whether a Job without a pod has got one."""
    job = seen.jobs.get(name)
    if job is None:
        if not isolated:
            waiting = "Work begins when a sandbox pod has proven its isolation."
            return is_false(BatchCondition.VERIFIED, Reason.WAITING, waiting), None
        return is_false(BatchCondition.VERIFIED, Reason.JUDGING, "The programs are being verified."), None
    pods = tuple(pod for pod in seen.pods if pod.job == name)
    stuck = first_trouble((pod for pod in pods if pod.live), now) or without_pod(seen, job, pods, now)
    if stuck is not None:
        return is_false(BatchCondition.VERIFIED, *stuck), None
    judging = is_false(BatchCondition.VERIFIED, Reason.JUDGING, "The programs are being verified.")
    return judging, None if pods else WITHOUT_POD_SECONDS


def _result(seen: ObservedPool, progress: Progress[VerifySummary], summary: VerifySummary) -> Step:
    began, ended = work_times(progress.pod) if progress.pod is not None else (None, None)
    # The Job controller may be behind: a worker's last words come before its count.
    failed = sum(1 for pod in seen.pods if pod.meta.role is Role.WORKER and pod.phase == "Failed")
    lost = max(failed, sum(job.failed_pods for job in seen.jobs.values()))
    words = f"{summary.accepted} of {summary.programs} programs are accepted; every one has a verdict."
    status: Mapping[str, Any] = {
        "requested": summary.programs,
        "attempts": summary.programs,
        "accepted": summary.accepted,
        "rejected": dict(summary.rejected),
        "without_solution": summary.without_solution,
        "valid_per_attempt": f"{summary.accepted / summary.programs:.3f}" if summary.programs else None,
        "mutation_scores": _scores(summary.mutation_scores),
        "canaries": dict(summary.canaries),
        "diversity": None if summary.diversity is None else f"{summary.diversity:.3f}",
        "seconds": f"{summary.seconds:.1f}",
        "storage_uri": summary.storage_uri,
        "started_at": began or seen.head.status.started_at,
        "finished_at": ended,
    }
    unsound = unsound_gate(summary.canaries, summary.let_through, summary.storage_uri)
    if unsound is not None:
        wanted = tuple(Wanted(kind, *mark) for kind, mark in unsound.items())
        return Step(progress.actions, wanted, {**status, "attempts": None, "accepted": None}, doing="failed")
    return Step(
        progress.actions,
        (
            is_true(BatchCondition.VERIFIED, Reason.FINISHED, words),
            is_true(BatchCondition.COMPLETE, Reason.FINISHED, words),
        ),
        status,
        restarts={Role.WORKER: lost} if lost else {},
        doing="complete",
    )


def _scores(scores: ScoreDistribution | None) -> MutationScores | None:
    if scores is None:
        return None
    figures = {name: f"{value:.3f}" for name, value in scores.model_dump(exclude={"programs"}).items()}
    return MutationScores(programs=scores.programs, **figures)
