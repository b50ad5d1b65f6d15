"""A run with a queue has no pod before Kueue admits it, gives all back when Kueue says so, and tells its end."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import kueue as k
from tests.support import pictures as p

from spade_contracts.resources import Phase, Reason, RunCondition, SpadeRunStatus
from spade_operator.queueing import Queueing, Standing, flavor_place
from spade_operator.reconcile.accept import accept
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.kueue import admitted, queued, workload
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.pod_sets import asked
from spade_operator.reconcile.steps import Action, Create, MarkWorkload, Remove
from spade_operator.reconcile.work import paused
from spade_operator.records import Kind, WorkloadRecord

SITE = p.SITE.model_copy(update={"kueue": True})
READ = Queueing(True, flavors={k.FLAVOR: flavor_place({"spec": k.PLACE})})
RUNS = Standing(reserved=True, admitted=True, flavors={"worker": (k.FLAVOR,)})
SUSPENDED = RunCondition.SUSPENDED


def found(standing: Standing = RUNS, *, deleting: bool = False, **spec: Any) -> WorkloadRecord:
    """The Workload of a run with these fields."""
    run = p.run_record(**{"queueName": "team", **spec})
    assert run.spec is not None
    return WorkloadRecord(p.meta(Kind.WORKLOAD, "mini-workload", deleting=deleting), asked(run.spec), standing)


def seen(
    standing: Standing | None, *, queueing: Queueing = READ, holding: tuple[RunCondition, ...] = p.AT_WORK, **spec: Any
) -> Observed:
    """A run without pods that has a queue and such a Workload, or none."""
    picture = p.seen(p.run_record(p.holding(*holding), **{"queueName": "team", **spec}))
    record = None if standing is None else found(standing, **spec)
    return replace(picture, site=SITE, workload=record, queueing=queueing)


def at_work(standing: Standing = RUNS, **spec: Any) -> Observed:
    """The same with pods."""
    picture = p.at_work(0, run=p.run_record(p.holding(*p.AT_WORK), **{"queueName": "team", **spec}))
    return replace(picture, site=SITE, workload=found(standing, **spec), queueing=READ)


def marks(action: Action) -> dict[str, tuple[bool, str]]:
    assert isinstance(action, MarkWorkload)
    return {mark.type: (mark.holds, mark.reason) for mark in action.marks}


# Whether it may run


def test_a_run_without_a_queue_is_never_asked() -> None:
    picture = p.at_work()
    assert admitted(picture)
    assert (workload(picture, p.NOW).actions, queued(picture, p.NOW).blocks) == ((), False)


@pytest.mark.parametrize(
    "standing",
    [
        None,
        Standing(),
        replace(RUNS, admitted=False),
        replace(RUNS, evicted="Preempted"),
        replace(RUNS, finished=True),
        replace(RUNS, flavors={"worker": ("unread",)}),
    ],
)
def test_a_run_holds_no_pod_unless_its_workload_is_admitted(standing: Standing | None) -> None:
    step = queued(seen(standing), p.NOW)
    assert step.blocks
    assert step.phase is Phase.SUSPENDED
    assert p.wanted(step, SUSPENDED)[:2] == ("True", Reason.QUEUED)
    assert not queued(seen(RUNS), p.NOW).blocks


def test_what_changed_since_or_goes_already_is_not_admitted() -> None:
    assert admitted(at_work())
    assert not admitted(replace(at_work(), workload=found(engine={"replicas": 2})))
    assert not admitted(replace(at_work(), workload=found(deleting=True)))


def test_kueues_words_are_shown() -> None:
    status, _, message = p.wanted(queued(seen(Standing(words="insufficient quota")), p.NOW), SUSPENDED)
    assert (status, message) == ("True", "LocalQueue team: insufficient quota")
    unread = queued(seen(replace(RUNS, flavors={"worker": ("unread",)})), p.NOW)
    assert "ResourceFlavor unread" in p.wanted(unread, SUSPENDED)[2]


def test_pods_go_first_when_the_quota_is_wanted_back() -> None:
    step = queued(at_work(replace(RUNS, evicted="Preempted", words="preempted")), p.NOW)
    assert {a.record.meta.name for a in p.actions_of(step, Remove)} >= {pod.meta.name for pod in at_work().pods}
    assert p.wanted(step, SUSPENDED)[:2] == ("False", Reason.SUSPENDING)


# The Workload


def test_one_is_made_once_the_run_is_to_go_and_its_priority_is_known() -> None:
    (made,) = workload(seen(None), p.NOW).actions
    assert isinstance(made, Create)
    spec = made.manifest["spec"]
    assert spec["queueName"] == "team"
    assert "priorityClassRef" not in spec
    urgent: dict[str, Any] = {"learner": {"pod": {"priorityClassName": "urgent"}}}
    assert workload(seen(None, **urgent), p.NOW).actions == ()
    assert "urgent" in p.wanted(queued(seen(None, **urgent), p.NOW), SUSPENDED)[2]
    (made,) = workload(seen(None, queueing=Queueing(True, priorities={"urgent": 7}), **urgent), p.NOW).actions
    assert isinstance(made, Create)
    spec = made.manifest["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (7, "urgent")


@pytest.mark.parametrize(
    "change",
    [
        {"queueName": "other"},
        {"engine": {"replicas": 2}},
        {"sandbox": {"maxPods": 9}},
        {"workers": {"pod": {"resources": {"requests": {"cpu": 4}}}}},
    ],
)
def test_a_run_that_asks_for_something_else_gets_a_new_one_when_its_pods_are_gone(change: dict[str, Any]) -> None:
    changed = replace(at_work(**change), workload=found())
    assert workload(changed, p.NOW).actions == ()
    assert queued(changed, p.NOW).blocks
    gone = replace(seen(RUNS, **change), workload=found())
    assert workload(gone, p.NOW).actions == (Remove(found()),)


@pytest.mark.parametrize("suspend", ["Now", "AtBoundary"])
def test_a_suspended_run_gives_its_place_up_once_its_pods_are_gone(suspend: str) -> None:
    assert workload(at_work(suspend=suspend), p.NOW).actions == ()
    record = found(suspend=suspend)
    assert workload(seen(RUNS, suspend=suspend), p.NOW).actions == (Remove(record),)
    assert workload(seen(None, suspend=suspend), p.NOW).actions == ()


def test_a_workload_that_somebody_deleted_costs_the_pods_and_then_a_new_one_is_made() -> None:
    lost = replace(at_work(), workload=None)
    assert workload(lost, p.NOW).actions == ()
    assert p.actions_of(queued(lost, p.NOW), Remove)
    assert isinstance(workload(seen(None), p.NOW).actions[0], Create)


def test_one_that_is_of_no_use_any_more_goes() -> None:
    unqueued = replace(p.seen(), workload=found())
    assert workload(unqueued, p.NOW).actions == (Remove(found()),)
    assert workload(replace(unqueued, workload=found(deleting=True)), p.NOW).actions == ()


@pytest.mark.parametrize(
    ("reason", "at_once"), [("Preempted", True), ("NodeFailures", True), ("PodsReadyTimeout", False)]
)
def test_the_reservation_ends_when_no_pod_uses_it(reason: str, at_once: bool) -> None:
    standing = replace(RUNS, evicted=reason, pods_ready=True)
    assert workload(at_work(standing), p.NOW).actions == ()
    (action,) = workload(seen(standing), p.NOW).actions
    assert isinstance(action, MarkWorkload)
    assert action.gives_back
    assert marks(action) == {
        "Requeued": (at_once, reason),
        "QuotaReserved": (False, "Pending"),
        "Admitted": (False, "NoReservation"),
        "PodsReady": (False, "WaitForStart"),
    }
    assert workload(seen(replace(standing, reserved=False, admitted=False)), p.NOW).actions == ()


def test_kueue_is_told_once_that_everything_is_ready() -> None:
    (action,) = workload(at_work(), p.NOW).actions
    assert marks(action) == {"PodsReady": (True, "Started")}
    assert workload(at_work(replace(RUNS, pods_ready=True)), p.NOW).actions == ()
    assert workload(seen(RUNS, holding=(RunCondition.ACCEPTED,)), p.NOW).actions == ()


@pytest.mark.parametrize(
    ("end", "reason", "again"),
    [(RunCondition.COMPLETE, "Succeeded", {"rollouts": 9}), (RunCondition.FAILED, "Failed", {"retry": 1})],
)
def test_the_end_is_told_when_the_pods_are_gone_and_a_run_that_goes_on_gets_a_new_one(
    end: RunCondition, reason: str, again: dict[str, Any]
) -> None:
    def ended(standing: Standing = RUNS, **spec: Any) -> Observed:
        picture = p.seen(p.run_record(p.holding(end, rollout=4), queueName="team", **spec))
        return replace(picture, site=SITE, workload=found(standing), queueing=READ)

    (action,) = workload(ended(), p.NOW).actions
    assert marks(action) == {"Finished": (True, reason)}
    still = replace(ended(), pods=(p.ENGINE,))
    assert workload(still, p.NOW).actions == ()
    assert workload(ended(replace(RUNS, finished=True)), p.NOW).actions == ()
    assert workload(replace(ended(), workload=None), p.NOW).actions == ()
    (action,) = workload(ended(replace(RUNS, finished=True), **again), p.NOW).actions
    assert isinstance(action, Remove)


# Without Kueue


def test_a_queue_needs_the_installations_consent_and_kueue() -> None:
    refused = p.wanted(accept(replace(seen(None), site=p.SITE), p.NOW), RunCondition.ACCEPTED)
    assert (refused[1], "kueue.enabled" in refused[2]) == (Reason.NOT_ALLOWED, True)
    missing = accept(seen(None, queueing=Queueing(False)), p.NOW)
    assert p.wanted(missing, RunCondition.ACCEPTED)[1] == Reason.KUEUE_MISSING
    assert missing.blocks
    waiting = queued(replace(seen(None), head=p.run_record(refused_for_kueue(), queueName="team")), p.NOW)
    assert p.wanted(waiting, RunCondition.ACCEPTED)[1] == Reason.QUEUED
    assert not accept(seen(None), p.NOW).blocks
    over = p.seen(p.run_record(p.holding(RunCondition.COMPLETE, rollout=4), queueName="team"))
    assert not accept(over, p.NOW).blocks, "what is over needs no queue"
    assert not accept(replace(p.seen(), queueing=Queueing(False)), p.NOW).blocks


def refused_for_kueue() -> SpadeRunStatus:
    """Of a run that waited for Kueue."""
    return SpadeRunStatus(conditions=(p.condition(RunCondition.ACCEPTED, False, Reason.KUEUE_MISSING),))


def test_nothing_changes_before_kueue_was_looked_at() -> None:
    unknown = replace(at_work(), workload=None, queueing=Queueing())
    decision = decide(unknown, p.NOW)
    assert decision.actions == ()
    assert decision.status.conditions == unknown.status.conditions
    assert not paused(unknown)
