"""Restart budgets, and what becomes of a run that spent one: it fails with the real cause, until `retry` is raised.

Each policy counts the losses of its own role (Step.restarts); this one judges the counts that were written, and sees
to what no number of restarts would mend.
"""

from collections.abc import Mapping
from datetime import datetime

from spade_contracts.config.environments import AllRejected
from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.resources.spade_run import SpadeRunSpec
from spade_operator.reconcile.causes import Cause, cause_of, rule_for
from spade_operator.reconcile.conditions import MAX_MESSAGE
from spade_operator.reconcile.failure_rules import Answer
from spade_operator.reconcile.figures import without_attempts, without_canaries
from spade_operator.reconcile.last_words import RUN_PARTS, anew, last_words
from spade_operator.reconcile.observe import AnyPicture, Observed
from spade_operator.reconcile.position import condition_true
from spade_operator.reconcile.release import releases
from spade_operator.reconcile.spending import with_spending, without_spending
from spade_operator.reconcile.steps import Remove, Step, Wanted, is_false, is_true, known_reason
from spade_operator.records import BatchRecord, Record

READINESS = {
    Role.SANDBOX: RunCondition.SANDBOXES_READY,
    Role.ENGINE: RunCondition.ENGINES_READY,
    Role.LEARNER: RunCondition.LEARNER_READY,
}
"""Condition of each role with a budget; its message holds the latest cause."""

RETRY = "Then raise spec.retry."
AFTERWARDS: Mapping[Reason, str] = {
    # A cycle's verdicts stay in run storage, and a worker that is started again adopts them.
    Reason.ALL_REJECTED: "",
    Reason.NON_FINITE: (
        "The step was not taken; earlier policies are whole. A retry takes the same step from the same data, so raise "
        "spec.retry after a change of images or nodes; else make a run of another name from the last good policy, "
        "with a lower spec.learner.optimizer.learningRate."
    ),
}
"""What is said after the message of a failure, where it is not RETRY."""


def budget(spec: SpadeRunSpec, role: Role) -> int:
    """Losses of a role without progress that a run outlives."""
    budgets = {
        Role.SANDBOX: spec.sandbox.restarts,
        Role.ENGINE: spec.engine.restarts,
        Role.LEARNER: spec.learner.restarts,
    }
    return budgets[role]


def restarts(seen: Observed, now: datetime) -> Step:
    """Take up a failed run when `retry` was raised, keep it failed otherwise, and fail it past a budget."""
    before = seen.condition(RunCondition.FAILED)
    if before is not None and before.status == "True":
        if seen.spec.retry > seen.status.handled_retry:
            return _taken_up(seen)
        reason = known_reason(before.reason, Reason.POD_FAILED)
        return _stays_failed(seen, is_true(RunCondition.FAILED, reason, before.message))
    for role, condition in READINESS.items():
        lost, text = spent(seen, role)
        if lost > budget(seen.spec, role):
            cause = text or getattr(seen.condition(condition), "message", "")
            allowed = budget(seen.spec, role)
            return failed(seen, Reason.RESTART_BUDGET_SPENT, over_budget(role, lost, allowed, cause))
    given_up = hopeless(seen)
    if given_up is not None and not given_up.fetch:
        return failed(seen, Reason.POD_FAILED, given_up.words)
    return Step(
        actions=given_up.fetch if given_up is not None else (),
        conditions=(is_false(RunCondition.FAILED, Reason.RUNNING),),
        status={"handled_retry": max(seen.spec.retry, seen.status.handled_retry)},
    )


def failed(seen: Observed, reason: Reason, message: str) -> Step:
    """The run fails now; every policy may say so."""
    afterwards = AFTERWARDS.get(reason, RETRY)
    text = f"{message[: MAX_MESSAGE - len(afterwards) - 2].rstrip('. ')}. {afterwards}".rstrip()
    return _stays_failed(seen, is_true(RunCondition.FAILED, reason, text))


def over_budget(role: Role, lost: int, allowed: int, cause: str) -> str:
    """What is said of a role that was lost too often."""
    return f"{role} was lost {lost} times without progress ({allowed} are allowed); the last cause: {cause}"


def hopeless(seen: AnyPicture) -> Cause | None:
    """A sandbox or an engine that ended in a way that its Deployment would repeat for ever.

    A sandbox that ran programs is not heard: one of them may have chosen its exit code.
    """
    unused = (pod for pod in seen.pods_of(Role.SANDBOX) if not pod.admitted_boot)
    engines = (pod for pod in seen.pods if pod.meta.role is Role.ENGINE and pod.live)
    for pod in (*unused, *engines):
        cause = cause_of(pod, seen.logs)
        if cause is not None and rule_for(pod, cause).answer is Answer.FAIL:
            return cause
    return None


def spent(seen: AnyPicture, role: Role) -> tuple[int, str]:
    """Losses of a role since progress, with those of pods that never came up, and the cause if a pod tells it."""
    counted = seen.head.status.restarts.get(role, Restarts()).since_progress
    if role is not Role.SANDBOX:
        return counted, ""
    pods = seen.pods_of(role)
    never_up = [pod for pod in pods if not pod.admitted_boot]
    if len(pods) - len(never_up) >= seen.owner.sandbox.min_pods:
        return counted, ""  # what would have come on top costs nothing but itself; ScalingLimited tells of it
    loops = sum(pod.restarts for pod in never_up)
    causes = [cause.words for pod in never_up if (cause := cause_of(pod, seen.logs)) is not None]
    return counted + loops, causes[0] if causes else ""


def _stays_failed(seen: Observed, condition: Wanted) -> Step:
    """The verdict is written before anything goes: until it stands, a unit would replace its lost Job, and the cause
    could be lost with its pod.
    """
    compute: tuple[Record, ...] = (*seen.pods, *seen.jobs.values(), *seen.deployments.values())
    reason, trained = condition.reason, f"{seen.status.rollout} of {seen.spec.rollouts} rollouts are trained."
    return Step(
        actions=releases(compute) if seen.holds(RunCondition.FAILED) else (),
        conditions=(
            condition,
            is_false(RunCondition.PROGRESSING, reason, "The run has failed."),
            *last_words(seen, RUN_PARTS, reason, "The run has failed; its pods were given back."),
            is_false(RunCondition.SUSPENDED, reason, "The run has failed; there is nothing to suspend."),
            is_false(RunCondition.COMPLETE, reason, f"The run has failed; {trained}"),
        ),
        status={"admitted": {}, "engine_restarts_seen": {}, "quiet_since": None},
        phase=Phase.FAILED,
        doing="failed",
        blocks=True,
    )


def _taken_up(seen: Observed) -> Step:
    """Budgets are full again, failed children are made anew, and the learner's group gets the next number."""
    broken = [child for child in seen.units if condition_true(child.status.conditions, "Failed")]
    environments, canaries = seen.status.environments, seen.status.canaries
    spent = with_spending(seen.status, None)
    for child in broken:
        if isinstance(child, BatchRecord):
            if seen.method.environments.designer.all_rejected is not AllRejected.PAUSE:
                environments = without_attempts(environments, child.status)
                spent = without_spending(spent, child.status)
            canaries = without_canaries(canaries, child.status)
    refilled = {role: Restarts(total=known.total) for role, known in seen.status.restarts.items()}
    return Step(
        actions=(
            *(Remove(child) for child in broken),
            *releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values())),
        ),
        conditions=(
            is_false(RunCondition.FAILED, Reason.RUNNING, f"Taken up by retry {seen.spec.retry}."),
            is_false(RunCondition.SUSPENDED, Reason.RUNNING),
            *anew(seen, RUN_PARTS, "The run is taken up again."),
        ),
        status={
            "handled_retry": seen.spec.retry,
            "restarts": refilled,
            "environments": environments,
            "canaries": canaries,
            **spent,
            "learner_attempt": seen.status.learner_attempt + 1,
        },
        phase=Phase.STARTING,
        doing="taking the run up again",
        blocks=True,
    )
