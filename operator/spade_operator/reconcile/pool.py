"""What a stand-alone EnvBatch needs now: the pods, tokens, policies and proofs that a run has, and its verify Job.

Pure, like a run's decision, and made of the same steps. The order: an end that was reached, a pause, the ground, the
sandboxes, their isolation, the work.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import BatchCondition, ConditionStatus, EnvBatchStatus, Reason, Suspend
from spade_contracts.resources.run_parts import Restarts
from spade_operator.children.names import verify_job_name
from spade_operator.reconcile.expiry import pool_expiry
from spade_operator.reconcile.ground import ground
from spade_operator.reconcile.isolation import isolation
from spade_operator.reconcile.last_words import POOL_PARTS, anew, last_words, resumed, told
from spade_operator.reconcile.observe import ObservedPool
from spade_operator.reconcile.release import releases, remaining, removals
from spade_operator.reconcile.restarts import RETRY, hopeless, over_budget, spent
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.reconcile.status import joined_pool
from spade_operator.reconcile.steps import Action, Step, Wanted, is_false, is_true, known_reason
from spade_operator.reconcile.verification import current_attempt, verification

RUNNING = "The programs are yet to be verified."
PAUSED = "The batch is suspended; its pods are given back."
NOT_GENERATED = is_false(BatchCondition.GENERATED, Reason.NOT_APPLICABLE, "The programs exist; none is generated.")


def decide_pool(seen: ObservedPool, now: datetime) -> tuple[tuple[Action, ...], EnvBatchStatus, float | None]:
    """Actions, status and latest wake of one pass over a stand-alone EnvBatch."""
    steps = tuple(_steps(seen, now))
    wakes = [step.wake_after_seconds for step in steps if step.wake_after_seconds is not None]
    status = joined_pool(seen.head.status, steps, seen.head.meta.generation, now)
    return tuple(action for step in steps for action in step.actions), status, min(wakes, default=None)


def _steps(seen: ObservedPool, now: datetime) -> Iterator[Step]:
    for policy in (pool_expiry, _end, _suspend, _ground, sandboxes):
        step = policy(seen, now)
        yield step
        if step.blocks:
            return
    proof = isolation(seen, now)
    # A Job at work is looked after whatever becomes of the pool; none is begun in one that is not proven.
    yield replace(proof, blocks=False)
    isolated = any(c.type == BatchCondition.ISOLATED and c.status is ConditionStatus.TRUE for c in proof.conditions)
    yield verification(seen, now, isolated=isolated)


def _end(seen: ObservedPool, now: datetime) -> Step:
    """Keep an end that was reached, take a failed batch up when `retry` was raised, and fail it past its budget."""
    spec, status = seen.head.spec, seen.head.status
    failed = seen.condition(BatchCondition.FAILED)
    if failed is not None and failed.status is ConditionStatus.TRUE:
        if (spec.retry or 0) > status.handled_retry:
            return _taken_up(seen)
        return _over(seen, "failed", known_reason(failed.reason, Reason.JOB_FAILED))
    if seen.holds(BatchCondition.COMPLETE):
        return _over(seen, "complete", Reason.FINISHED)
    lost, text = spent(seen, Role.SANDBOX)
    allowed = seen.owner.sandbox.restarts
    if lost > allowed:
        ready = seen.condition(BatchCondition.SANDBOXES_READY)
        cause = text or (ready.message if ready is not None else "")
        return _failed(seen, Reason.RESTART_BUDGET_SPENT, over_budget(Role.SANDBOX, lost, allowed, cause))
    given_up = hopeless(seen)
    if given_up is not None and not given_up.fetch:
        return _failed(seen, Reason.POD_FAILED, given_up.words)
    return Step(
        actions=given_up.fetch if given_up is not None else (),
        conditions=(
            NOT_GENERATED,
            is_false(BatchCondition.COMPLETE, Reason.RUNNING, RUNNING),
            is_false(BatchCondition.FAILED, Reason.RUNNING),
        ),
        status={
            "handled_retry": max(spec.retry or 0, status.handled_retry),
            "started_at": status.started_at or now.isoformat(timespec="seconds"),
        },
    )


def _failed(seen: ObservedPool, reason: Reason, message: str) -> Step:
    """The batch fails now."""
    end = _over(seen, "failed", reason)
    said = is_true(BatchCondition.FAILED, reason, f"{message.rstrip('. ')}. {RETRY}"[:2000])
    return replace(end, conditions=(said, *end.conditions))


def _over(seen: ObservedPool, doing: str, reason: Reason) -> Step:
    """Nothing is left to do: the pods go, the claim stays. What was false keeps its own reason: it may be the cause."""
    gone = f"The batch is {doing}; its pods were given back."
    kinds = (*POOL_PARTS, BatchCondition.VERIFIED) if doing == "failed" else POOL_PARTS
    other = BatchCondition.COMPLETE if doing == "failed" else BatchCondition.FAILED
    return Step(
        actions=releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values())),
        conditions=(
            *last_words(seen, kinds, reason, gone),
            is_false(other, reason, gone),
            is_false(BatchCondition.SUSPENDED, reason, f"The batch is {doing}; there is nothing to suspend."),
        ),
        status={"admitted": {}, "images": None, "quiet_since": None},
        doing=doing,
        blocks=True,
    )


def _taken_up(seen: ObservedPool) -> Step:
    """The budget is full again, and the next Job gets a number that none had before."""
    retry = seen.head.spec.retry
    return Step(
        actions=releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values())),
        conditions=(
            is_false(BatchCondition.FAILED, Reason.RUNNING, f"Taken up by retry {retry}."),
            is_false(BatchCondition.COMPLETE, Reason.RUNNING, RUNNING),
            is_false(BatchCondition.SUSPENDED, Reason.RUNNING),
            *anew(seen, (*POOL_PARTS, BatchCondition.VERIFIED), "The batch is taken up again."),
        ),
        status={
            "handled_retry": retry,
            "job_attempt": 0,
            "restarts": {role: Restarts(total=known.total) for role, known in seen.head.status.restarts.items()},
            "finished_at": None,
        },
        doing="taking the batch up again",
        blocks=True,
    )


def _suspend(seen: ObservedPool, now: datetime) -> Step:
    """Free every pod while the batch is suspended; programs that were judged keep their verdicts."""
    wanted = seen.head.spec.suspend or Suspend.NEVER
    if wanted is Suspend.NEVER:
        return Step(conditions=(is_false(BatchCondition.SUSPENDED, Reason.RUNNING), *resumed(seen, POOL_PARTS)))
    attempt = current_attempt(seen)
    begun = verify_job_name(seen.head.meta.name, attempt) in seen.jobs
    if wanted is Suspend.AT_BOUNDARY and begun:
        waiting = "The batch gives its pods back when its programs are verified."
        return Step(conditions=(is_false(BatchCondition.SUSPENDED, Reason.SUSPENDING, waiting),))
    return Step(
        actions=releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values())),
        conditions=(
            _suspended(remaining(seen.pods)),
            *(
                is_false(kind, Reason.SUSPENDED_BY_USER, PAUSED)
                for kind in (*told(seen, POOL_PARTS), BatchCondition.VERIFIED)
            ),
            *(is_false(kind, Reason.SUSPENDED_BY_USER) for kind in (BatchCondition.COMPLETE, BatchCondition.FAILED)),
        ),
        # A Job of the old name may take a while to go; the next one must not wait for it.
        status={
            "admitted": {},
            "images": None,
            "quiet_since": None,
            "job_attempt": attempt + (1 if begun else 0),
        },
        doing="suspended",
        blocks=True,
    )


def _suspended(left: int) -> Wanted:
    if left:
        return is_false(BatchCondition.SUSPENDED, Reason.SUSPENDING, "Pods are being given back.")
    return is_true(BatchCondition.SUSPENDED, Reason.SUSPENDED_BY_USER, "Set spec.suspend: Never to go on.")


def _ground(seen: ObservedPool, now: datetime) -> Step:
    """Tokens, policies and Services, once nothing is left of a deleted namesake."""
    if seen.leftovers:
        waiting = "Children of a deleted batch of the same name are still going."
        return Step(
            removals(seen.leftovers),
            (is_false(BatchCondition.VERIFIED, Reason.WAITING, waiting),),
            doing=waiting,
            blocks=True,
            wake_after_seconds=1.0,
        )
    return Step(ground(seen), status={"images": seen.site.images}, doing="starting the sandboxes")
