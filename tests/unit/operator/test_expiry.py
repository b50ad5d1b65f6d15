"""A finished object goes when its time is over, not before, and not when somebody wants it to go on."""

from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.resources import BatchCondition, Phase, RunCondition
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.expiry import pool_expiry, run_expiry
from spade_operator.reconcile.pool import decide_pool
from spade_operator.reconcile.steps import Remove

SINCE_SECONDS = 60
"""How long ago `pictures` says that conditions came."""


def ended(kind: RunCondition, ttl: int | None, **spec: Any) -> Any:
    status = p.holding(kind, phase=Phase.COMPLETE, rollout=4, policy_version=4)
    return p.seen(p.run_record(status, **({} if ttl is None else {"ttlSecondsAfterFinished": ttl}), **spec))


@pytest.mark.parametrize("kind", [RunCondition.COMPLETE, RunCondition.FAILED])
@pytest.mark.parametrize("ttl", [0, SINCE_SECONDS])
def test_run_whose_time_is_over_is_deleted_and_nothing_else_is_done(kind: RunCondition, ttl: int) -> None:
    seen = ended(kind, ttl)
    assert decide(seen, p.NOW).actions == (Remove(seen.run, unchanged=True),)


def test_run_is_looked_at_again_when_its_time_is_over() -> None:
    step = run_expiry(ended(RunCondition.COMPLETE, SINCE_SECONDS + 30), p.NOW)
    assert (step.actions, step.blocks, step.wake_after_seconds) == ((), False, 30)


@pytest.mark.parametrize(
    "seen",
    [
        ended(RunCondition.COMPLETE, None),
        ended(RunCondition.COMPLETE, 0, rollouts=5),
        ended(RunCondition.FAILED, 0, retry=1),
        p.at_work(run=p.run_record(p.holding(*p.AT_WORK), ttlSecondsAfterFinished=0)),
        p.seen(p.run_record(p.holding(RunCondition.SUSPENDED), ttlSecondsAfterFinished=0)),
    ],
    ids=["no time is set", "more rollouts are wanted", "it is tried again", "it works", "it is suspended"],
)
def test_run_stays(seen: Any) -> None:
    step = run_expiry(seen, p.NOW)
    assert (step.actions, step.wake_after_seconds) == ((), None)


@pytest.mark.parametrize("kind", [BatchCondition.COMPLETE, BatchCondition.FAILED])
def test_batch_without_a_run_is_deleted_too(kind: BatchCondition) -> None:
    seen = p.pool_seen(p.pool_record(p.pool_holding(kind), ttlSecondsAfterFinished=30))
    assert decide_pool(seen, p.NOW)[0] == (Remove(seen.head, unchanged=True),)


def test_failed_batch_that_is_tried_again_stays() -> None:
    record = p.pool_record(p.pool_holding(BatchCondition.FAILED), ttlSecondsAfterFinished=0, retry=1)
    assert pool_expiry(p.pool_seen(record), p.NOW).actions == ()
