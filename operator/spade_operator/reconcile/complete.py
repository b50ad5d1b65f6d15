"""The end of a run that trained all its rollouts: its pods go, its results stay. Raising `rollouts` resumes it.

A run that finds them all in kept storage is not at its end before its own engines are proven at the last policy there.
"""

from datetime import datetime

from spade_contracts.resources import Phase, Reason, RunCondition
from spade_operator.reconcile.last_words import RUN_PARTS, anew
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.release import releases
from spade_operator.reconcile.steps import Step, is_false, is_true

GONE = "The run is complete; its pods were given back."


def complete(seen: Observed, now: datetime) -> Step:
    """Free everything when no rollout is left and the last policy is proven."""
    wanted, trained = seen.spec.rollouts, seen.status.rollout
    if trained < wanted or seen.status.policy_version != trained:
        unfinished = is_false(RunCondition.COMPLETE, Reason.RUNNING, f"{wanted} rollouts are wanted.")
        again = anew(seen, RUN_PARTS, "The run goes on.") if seen.holds(RunCondition.COMPLETE) else ()
        return Step(conditions=(unfinished, *again), status={"finished_at": None})
    parts = [part for part in RUN_PARTS if part is not RunCondition.WEIGHTS_VERIFIED]
    proven = f"Policy version {trained} was proven in every engine before the pods were given back."
    message = f"All {wanted} rollouts are trained and proven."
    if trained > wanted:
        message = (
            f"Run storage holds {trained} trained rollouts, more than the {wanted} wanted: nothing was left to do, and "
            f"policy version {trained} is proven."
        )
    return Step(
        actions=releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values())),
        conditions=(
            *(is_false(part, Reason.FINISHED, GONE) for part in parts),
            is_true(RunCondition.WEIGHTS_VERIFIED, Reason.VERIFIED, proven),
            is_false(RunCondition.PROGRESSING, Reason.FINISHED, GONE),
            is_false(RunCondition.SUSPENDED, Reason.FINISHED, "The run is complete; there is nothing to suspend."),
            is_false(RunCondition.FAILED, Reason.FINISHED, message),
            is_true(RunCondition.COMPLETE, Reason.FINISHED, message),
        ),
        status={
            "finished_at": seen.status.finished_at or now.isoformat(timespec="seconds"),
            "admitted": {},
            "engine_restarts_seen": {},
            "quiet_since": None,
        },
        phase=Phase.COMPLETE,
        doing="complete",
        blocks=True,
    )
