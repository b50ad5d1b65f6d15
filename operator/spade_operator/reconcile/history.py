"""Old EnvBatches and RolloutJobs go; their results are in run storage."""

from collections.abc import Mapping
from datetime import datetime

from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.steps import Remove, Step
from spade_operator.records import BatchRecord, RolloutRecord


def history(seen: Observed, now: datetime) -> Step:
    """Prune what is older than the rollout in work beyond what `history` keeps; top-ups are EnvBatches like others."""
    keep, status = seen.spec.history, seen.status
    at_end = status.rollout >= seen.spec.rollouts
    first = {n: seen.method.environments.cycle_length * n for n in seen.batches}
    past_batches = {first[n]: r for n, r in seen.batches.items() if n < status.cycle or at_end}
    past_topups = {n: r for n, r in seen.topups.items() if n < status.rollout}
    past_rollouts = {n: r for n, r in seen.rollouts.items() if n < status.rollout}
    return Step(
        actions=(*_oldest(past_batches | past_topups, keep.env_batches), *_oldest(past_rollouts, keep.rollout_jobs)),
    )


def _oldest(past: Mapping[int, BatchRecord | RolloutRecord], kept: int) -> tuple[Remove, ...]:
    """All but the latest of these units, which are known by the rollout that they were made for."""
    numbers = sorted(past)[: max(0, len(past) - kept)]
    return tuple(Remove(past[number]) for number in numbers if not past[number].meta.deleting)
