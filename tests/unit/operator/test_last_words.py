"""Every condition says what is true once an object is at its end, at rest, or on its way again."""

from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import (
    BatchCondition,
    Condition,
    EnvBatchStatus,
    Reason,
    RunCondition,
    SpadeRunStatus,
)
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.statuses import DesignSummary, PlaySummary
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.env_batch import decide_batch
from spade_operator.reconcile.pool import decide_pool
from spade_operator.reconcile.rollout_job import decide_rollout

Marks = dict[str, tuple[str, str]]
WAITING = {
    "Accepted": (True, Reason.PREPARED), "Isolated": (False, Reason.PROBING),
    "SandboxesReady": (False, Reason.STARTING), "EnginesReady": (True, Reason.READY),
    "LearnerReady": (False, Reason.RESTARTING), "WeightsVerified": (False, Reason.VERIFYING),
    "Progressing": (False, Reason.WAITING),
    "Suspended": (False, Reason.SUSPENDING), "Complete": (False, Reason.RUNNING), "Failed": (False, Reason.RUNNING),
}  # fmt: skip
"""A run in the midst of something, every condition of it."""
AT_WORK = {
    **WAITING, "Isolated": (True, Reason.PROVEN), "SandboxesReady": (True, Reason.READY),
    "LearnerReady": (True, Reason.READY), "WeightsVerified": (True, Reason.VERIFIED),
    "Progressing": (True, Reason.PLAYING),
}  # fmt: skip


def said(marks: dict[str, tuple[bool, Reason]]) -> tuple[Condition, ...]:
    return tuple(p.condition(kind, *mark, "stale words") for kind, mark in marks.items())


def marks(status: Any) -> Marks:
    return {c.type: (str(c.status), c.reason) for c in status.conditions}


def settled(status: SpadeRunStatus, **spec: Any) -> SpadeRunStatus:
    """What a run without pods says in the end."""
    for _ in range(4):
        status = decide(p.seen(p.run_record(status, **spec)), p.NOW).status
    return status


ACCEPTED = {"Accepted": ("True", Reason.PREPARED)}
GIVEN_BACK = ("False", Reason.FINISHED)
SPENT = ("False", Reason.RESTART_BUDGET_SPENT)
PAUSED = ("False", Reason.SUSPENDED_BY_USER)
COMPLETE = ACCEPTED | {
    "Isolated": GIVEN_BACK, "SandboxesReady": GIVEN_BACK, "EnginesReady": GIVEN_BACK, "LearnerReady": GIVEN_BACK,
    "WeightsVerified": ("True", Reason.VERIFIED), "Progressing": GIVEN_BACK, "Suspended": GIVEN_BACK,
    "Complete": ("True", Reason.FINISHED), "Failed": GIVEN_BACK,
}  # fmt: skip
FAILED = ACCEPTED | {
    "Isolated": SPENT, "SandboxesReady": SPENT, "EnginesReady": SPENT, "LearnerReady": SPENT,
    "WeightsVerified": SPENT, "Progressing": SPENT, "Suspended": SPENT, "Complete": SPENT,
    "Failed": ("True", Reason.RESTART_BUDGET_SPENT),
}  # fmt: skip
SUSPENDED = ACCEPTED | {
    "Isolated": PAUSED, "SandboxesReady": PAUSED, "EnginesReady": PAUSED, "LearnerReady": PAUSED,
    "WeightsVerified": PAUSED, "Progressing": PAUSED, "Suspended": ("True", Reason.SUSPENDED_BY_USER),
    "Complete": PAUSED, "Failed": PAUSED,
}  # fmt: skip
LOST: dict[str, Any] = {"restarts": {"learner": Restarts(since_progress=9, total=9)}}
DONE: dict[str, Any] = {"rollout": 4, "cycle": 2, "policy_version": 4}


@pytest.mark.parametrize(
    ("before", "status", "spec", "expected"),
    [
        (AT_WORK, DONE, {}, COMPLETE),
        (WAITING, DONE, {"suspend": "AtBoundary"}, COMPLETE),
        (AT_WORK, LOST, {}, FAILED),
        (AT_WORK, LOST, {"suspend": "Now"}, FAILED),
        (WAITING, LOST, {}, FAILED | {"LearnerReady": ("False", Reason.RESTARTING)}),
        (AT_WORK, {}, {"suspend": "Now"}, SUSPENDED),
        (WAITING, {}, {"suspend": "Now"}, SUSPENDED),
        ({"Accepted": (False, Reason.PREPARING)}, {}, {"suspend": "Now"}, SUSPENDED | {"Accepted": PAUSED}),
    ],
    ids=[
        "complete", "complete, to be suspended", "failed", "failed, to be suspended",
        "failed in the midst of something", "suspended", "suspended in the midst of something",
        "suspended in preparation",
    ],
)  # fmt: skip
def test_every_condition_of_a_run_at_an_end(
    before: dict[str, tuple[bool, Reason]], status: dict[str, Any], spec: dict[str, Any], expected: Marks
) -> None:
    after = settled(SpadeRunStatus(conditions=said(before), **status), **spec)
    assert marks(after) == expected
    stale = {c.type for c in after.conditions if c.message == "stale words"}
    findings = {kind for kind, (_, reason) in expected.items() if reason == Reason.RESTARTING}
    assert stale <= {"Accepted"} | findings, "a finding may be the cause of the end, and stands"


def test_message_of_a_failed_run_holds_the_finding_that_stands() -> None:
    after = settled(SpadeRunStatus(conditions=said(WAITING), **LOST))
    (failed,) = [c for c in after.conditions if c.type == "Failed"]
    assert "the last cause: stale words" in failed.message


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        (settled(SpadeRunStatus(conditions=said(AT_WORK), **DONE)), {"rollouts": 5}),
        (settled(SpadeRunStatus(conditions=said(AT_WORK), **LOST)), {"retry": 1}),
        (settled(SpadeRunStatus(conditions=said(AT_WORK)), suspend="Now"), {}),
    ],
    ids=["complete and more wanted", "failed and taken up", "suspended and resumed"],
)
def test_nothing_that_an_end_said_stands_when_the_run_goes_on(status: SpadeRunStatus, spec: dict[str, Any]) -> None:
    after = settled(status, **spec)
    ends = {Reason.FINISHED, Reason.RESTART_BUDGET_SPENT, Reason.SUSPENDED_BY_USER}
    assert {kind for kind, (_, reason) in marks(after).items() if reason in ends} == set()
    assert {kind for kind, (holds, _) in marks(after).items() if holds == "True"} == {"Accepted"}


POOL_WAITING = {
    "Isolated": (False, Reason.PROBING), "SandboxesReady": (True, Reason.READY),
    "Generated": (False, Reason.NOT_APPLICABLE), "Verified": (False, Reason.JUDGING),
    "Suspended": (False, Reason.SUSPENDING), "Complete": (False, Reason.RUNNING), "Failed": (False, Reason.RUNNING),
}  # fmt: skip
NONE_GENERATED = {"Generated": ("False", Reason.NOT_APPLICABLE)}
POOL_LOST: dict[str, Any] = {"restarts": {"sandbox": Restarts(since_progress=99, total=99)}}


@pytest.mark.parametrize(
    ("before", "status", "spec", "expected"),
    [
        (
            POOL_WAITING | {"Verified": (True, Reason.FINISHED), "Complete": (True, Reason.FINISHED)}, {},
            {"suspend": "AtBoundary"},
            NONE_GENERATED | {
                "Isolated": GIVEN_BACK, "SandboxesReady": GIVEN_BACK, "Verified": ("True", Reason.FINISHED),
                "Suspended": GIVEN_BACK, "Complete": ("True", Reason.FINISHED), "Failed": GIVEN_BACK,
            },
        ),
        (
            POOL_WAITING, POOL_LOST, {},
            NONE_GENERATED | {
                "Isolated": SPENT, "SandboxesReady": SPENT, "Verified": SPENT, "Suspended": SPENT, "Complete": SPENT,
                "Failed": ("True", Reason.RESTART_BUDGET_SPENT),
            },
        ),
        (
            POOL_WAITING | {"Isolated": (False, Reason.NETWORK_OPEN)}, POOL_LOST, {},
            NONE_GENERATED | {
                "Isolated": ("False", Reason.NETWORK_OPEN), "SandboxesReady": SPENT, "Verified": SPENT,
                "Suspended": SPENT, "Complete": SPENT, "Failed": ("True", Reason.RESTART_BUDGET_SPENT),
            },
        ),
        (
            POOL_WAITING, {}, {"suspend": "Now"},
            NONE_GENERATED | {
                "Isolated": PAUSED, "SandboxesReady": PAUSED, "Verified": PAUSED,
                "Suspended": ("True", Reason.SUSPENDED_BY_USER), "Complete": PAUSED, "Failed": PAUSED,
            },
        ),
    ],
    ids=["complete", "failed", "failed by a finding", "suspended"],
)  # fmt: skip
def test_every_condition_of_a_stand_alone_batch_at_an_end(
    before: dict[str, tuple[bool, Reason]], status: dict[str, Any], spec: dict[str, Any], expected: Marks
) -> None:
    after = EnvBatchStatus(conditions=said(before), **status)
    for _ in range(4):
        after = decide_pool(p.pool_seen(p.pool_record(after, **spec)), p.NOW)[1]
    assert marks(after) == expected


def test_nothing_that_an_end_said_stands_when_a_batch_is_taken_up() -> None:
    after = EnvBatchStatus(conditions=said(POOL_WAITING), **POOL_LOST)
    for spec in ({}, {}, {"retry": 1}, {"retry": 1}):
        after = decide_pool(p.pool_seen(p.pool_record(after, **spec)), p.NOW)[1]
    assert Reason.RESTART_BUDGET_SPENT not in {reason for _, reason in marks(after).values()}
    assert marks(after)["Suspended"] == ("False", Reason.RUNNING)


DESIGN = DesignSummary(cycle=0, requested=6, attempts=8, accepted=6, seconds=3, tokens=9, storage_uri="u")
PLAYS = PlaySummary(
    rollout=0, planned=12, outcomes={}, hinted=0, hinted_outcomes={}, learnable_fraction=0.5, mean_return=0.5, tokens=1,
    seconds=1, verifier_failures={}, storage_uri="u",
)  # fmt: skip
YES = ("True", Reason.FINISHED)


def no(reason: Reason) -> tuple[str, str]:
    return "False", reason


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (p.ended(0, DESIGN.model_dump_json()),
         {"Generated": YES, "Verified": YES, "Complete": YES, "Failed": no(Reason.FINISHED)}),
        (p.ended(0, DESIGN.model_copy(update={"accepted": 0}).model_dump_json()),
         {"Generated": YES, "Verified": YES, "Complete": no(Reason.ALL_REJECTED),
          "Failed": ("True", Reason.ALL_REJECTED)}),
        (p.ended(0, DESIGN.model_copy(update={"canaries": {"bad": 4, "false_accepts/order": 1}}).model_dump_json()),
         dict.fromkeys(("Generated", "Verified", "Complete"), no(Reason.GATE_FALSE_ACCEPT))
         | {"Failed": ("True", Reason.GATE_FALSE_ACCEPT)}),
        (p.ended(2, '{"error": "no"}'),
         dict.fromkeys(("Generated", "Verified", "Complete"), no(Reason.JOB_FAILED))
         | {"Failed": ("True", Reason.JOB_FAILED)}),
    ],
    ids=["complete", "all rejected", "unsound gate", "failed"],
)  # fmt: skip
def test_every_condition_of_a_runs_batch_at_an_end(container: p.ContainerRecord, expected: Marks) -> None:
    batch = p.batch(0)
    waited = p.condition(BatchCondition.COMPLETE, False, Reason.WAITING, "a quota")
    batch = p.BatchRecord(batch.meta, batch.spec, EnvBatchStatus(conditions=(waited,)))
    job = p.job("mini-c0000-design-a0", Role.WORKER, owner_uid=batch.meta.uid, cycle=0)
    phase = "Succeeded" if container.exit_code == 0 else "Failed"
    pod = p.pod(Role.WORKER, "designer", job=job.meta.name, index=0, phase=phase, containers=(container,))
    after = decide_batch(p.at_work(batches=[batch], jobs=[job], pods={pod: None}), batch, p.NOW)[1]
    assert marks(after) == expected


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (p.ended(0, PLAYS.model_dump_json()), {"Complete": YES, "Failed": no(Reason.FINISHED)}),
        (p.ended(2, '{"error": "no"}'), {"Complete": no(Reason.JOB_FAILED), "Failed": ("True", Reason.JOB_FAILED)}),
        (None, {"Complete": no(Reason.RUNNING)}),
    ],
    ids=["complete", "failed", "at work after a wait"],
)
def test_every_condition_of_plays(container: p.ContainerRecord | None, expected: Marks) -> None:
    plays = p.plays(0)
    waited = p.condition(RunCondition.COMPLETE, False, Reason.WAITING, "a quota")
    plays = p.RolloutRecord(plays.meta, plays.spec, plays.status.model_copy(update={"conditions": (waited,)}))
    job = p.job("mini-r0000-play-a0", Role.WORKER, owner_uid=plays.meta.uid, rollout=0)
    pod = p.pod(Role.WORKER, "player", job=job.meta.name, index=0, containers=(container,) if container else ())
    after = decide_rollout(p.at_work(rollouts=[plays], jobs=[job], pods={pod: None}), plays, p.NOW)[1]
    assert marks(after) == expected
