"""The end of a run that trained all its rollouts: its pods go, its results stay. Raising `rollouts` resumes it."""

from datetime import datetime

from spade_contracts.resources import Phase, Reason, RunCondition
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.release import releases
from spade_operator.reconcile.steps import Step, is_false, is_true

GONE = "The run is complete; its pods were given back."


def complete(seen: Observed, now: datetime) -> Step:
    """Free everything when no rollout is left."""
    wanted = seen.spec.rollouts
    if seen.status.rollout < wanted:
        progressing = is_false(RunCondition.COMPLETE, Reason.RUNNING, f"{wanted} rollouts are wanted.")
        return Step(conditions=(progressing,), status={"finished_at": None})
    parts = (RunCondition.SANDBOXES_READY, RunCondition.ENGINES_READY, RunCondition.LEARNER_READY)
    return Step(
        actions=releases((*seen.pods, *seen.jobs.values(), *seen.deployments.values())),
        conditions=(
            *(is_false(part, Reason.FINISHED, GONE) for part in parts),
            is_false(RunCondition.PROGRESSING, Reason.FINISHED, GONE),
            is_true(RunCondition.COMPLETE, Reason.FINISHED, f"All {wanted} rollouts are trained and proven."),
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
