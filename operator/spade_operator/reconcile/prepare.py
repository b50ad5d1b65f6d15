"""What a run needs before any of its pods can be useful, and the preparation Job whose result decides `Accepted`."""

from datetime import datetime

from pydantic import ValidationError

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.statuses import PrepareResult
from spade_operator.children.names import prepare_job_name
from spade_operator.children.prepare import prepare_job
from spade_operator.children.storage import storage_claim
from spade_operator.preflight.checks import of_level
from spade_operator.preflight.findings import Finding, Level
from spade_operator.reconcile.accept import preflight
from spade_operator.reconcile.causes import (
    WITHOUT_POD_SECONDS,
    cause_of,
    first_trouble,
    gave_up,
    of_job,
    weightiest,
    without_pod,
)
from spade_operator.reconcile.ground import ground
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.origin import LOOK_AGAIN_SECONDS, origin
from spade_operator.reconcile.release import releases, removals
from spade_operator.reconcile.steps import Action, Create, Remove, Step, Wanted, is_false, is_true
from spade_operator.records import JobRecord, Kind, PodRecord

RESULT_SECONDS = 20.0
"""How long a finished Job's pod may stay unseen before the Job is run again."""
TO_MEND = (
    "If that is mended outside of the spec, raise spec.retry to look again. Model and method of a spec cannot change: "
    "delete the run and apply the corrected one."
)

AT_WORK = frozenset({Reason.PREPARING, Reason.PREPARED})


def prepare(seen: Observed, now: datetime) -> Step:
    """Claim, Secrets, policies and Services first, so that no pod ever runs outside of them; then the Job."""
    if seen.leftovers:
        waiting = "Children of a deleted run of the same name are still going."
        condition = is_false(RunCondition.ACCEPTED, Reason.PREPARING, waiting)
        return Step(
            removals(seen.leftovers),
            (condition,),
            phase=Phase.PENDING,
            doing=waiting,
            blocks=True,
            wake_after_seconds=1.0,
        )
    owner = seen.owner
    claim = tuple(
        Create(manifest)
        for manifest in storage_claim(owner)
        if (Kind.CLAIM, manifest["metadata"]["name"]) not in seen.others
    )
    status = {
        "storage_uri": owner.storage_uri,
        "started_at": seen.status.started_at or now.isoformat(timespec="seconds"),
    }
    if seen.holds(RunCondition.ACCEPTED):
        accepted = is_true(RunCondition.ACCEPTED, Reason.PREPARED, _message(seen))
        return Step((*claim, *ground(seen)), (accepted,), status | {"images": seen.site.images})
    step = _job(seen, now)
    held_up = next((want.reason for want in step.conditions if want.reason not in AT_WORK), None)
    return Step(
        (*claim, *ground(seen), *step.actions),
        step.conditions,
        {**status, **step.status},
        phase=Phase.PENDING if held_up else Phase.PREPARING,
        doing=f"cannot be prepared: {held_up}" if held_up else "preparing run storage",
        blocks=True,
        wake_after_seconds=step.wake_after_seconds,
    )


def _message(seen: Observed) -> str:
    condition = seen.condition(RunCondition.ACCEPTED)
    return condition.message if condition is not None else ""


def _job(seen: Observed, now: datetime) -> Step:
    name = prepare_job_name(seen.run.meta.name, seen.status.handled_retry)
    job = seen.jobs.get(name)
    pods = [pod for pod in seen.pods if pod.job == name]
    preparing = is_false(RunCondition.ACCEPTED, Reason.PREPARING, "The preparation Job is at work.")
    if job is None:
        old = tuple(j for j in seen.jobs.values() if j.meta.role is Role.PREPARE)
        start = origin(seen)
        if isinstance(start, Wanted):
            return Step(releases(old), (start,), wake_after_seconds=LOOK_AGAIN_SECONDS)
        create = tuple(Create(m) for m in prepare_job(seen.parent, seen.site, seen.status.handled_retry, start))
        return Step((*releases(old), *create), (preparing,))
    result = _result(pods)
    if result is not None:
        rows = {"documents": result.corpus_documents, **result.corpus_left_out} if result.accepted else {}
        verdict = _verdict(result, of_level(preflight(seen), Level.WARNING))
        return Step(conditions=(verdict,), status={"corpus": rows} if rows else {})
    if job.failed or any(gave_up(pod) for pod in pods):
        return _failed(seen, pods, job)
    if job.complete:
        waited = (now - (job.ended_at or now)).total_seconds()
        again: tuple[Action, ...] = () if waited < RESULT_SECONDS or job.meta.deleting else (Remove(job),)
        return Step(again, (preparing,), wake_after_seconds=RESULT_SECONDS)
    stuck = first_trouble((pod for pod in pods if pod.live), now) or without_pod(seen, job, tuple(pods), now)
    condition = is_false(RunCondition.ACCEPTED, *stuck) if stuck else preparing
    return Step(conditions=(condition,), wake_after_seconds=None if pods else WITHOUT_POD_SECONDS)


def _result(pods: list[PodRecord]) -> PrepareResult | None:
    for pod in pods:
        for container in pod.containers:
            if container.exit_code is None or not container.ended_message:
                continue
            try:
                return PrepareResult.model_validate_json(container.ended_message)
            except ValidationError:
                continue
    return None


def _verdict(result: PrepareResult, warnings: tuple[Finding, ...]) -> Wanted:
    if result.accepted:
        experts = f", {result.model_experts} experts" if result.model_experts else ""
        size = f"{result.model_parameters} parameters{experts}"
        left_out = ", ".join(f"{number} {reason}" for reason, number in sorted(result.corpus_left_out.items()))
        without = f" ({left_out} left out)" if left_out else ""
        text = f"Model: {size}. Corpus: {result.corpus_documents} documents{without}."
        seen_then = " ".join(warning.words for warning in warnings)
        more = f" When it was accepted: {seen_then}" if warnings else ""
        return is_true(RunCondition.ACCEPTED, Reason.PREPARED, f"{text}{more}")
    reason = Reason(result.reason) if result.reason in set(Reason) else Reason.JOB_FAILED
    return is_false(RunCondition.ACCEPTED, reason, f"{result.message.rstrip('. ')}. {TO_MEND}")


def _failed(seen: Observed, pods: list[PodRecord], job: JobRecord) -> Step:
    """It spent its tries, or said that another would be of no use."""
    causes = [cause for pod in pods if (cause := cause_of(pod, seen.logs)) is not None]
    cause = weightiest(reversed(causes)) or of_job(job, tuple(pods), 0)
    message = f"The preparation Job failed: {cause.words} Raise spec.retry to try again."
    return Step(cause.fetch, (is_false(RunCondition.ACCEPTED, Reason.JOB_FAILED, message),))
