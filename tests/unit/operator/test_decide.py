"""A decision is pure and settles: what it wants, once it is so, is not wanted again."""

from dataclasses import replace

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import ConditionStatus, Phase, Reason, RunCondition
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.statuses import ProbeResult
from spade_operator.reconcile.decide import POLICIES, decide
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.status import joined
from spade_operator.reconcile.steps import Apply, Create, Step, Wanted

PICTURES: dict[str, Observed] = {
    "new": p.seen(),
    "invalid": p.seen(p.run_record(problem="wrong")),
    "starting": p.seen(p.run_record(p.holding(RunCondition.ACCEPTED))),
    "proving isolation": p.seen(
        p.run_record(p.holding(RunCondition.ACCEPTED)), pods={p.pod(Role.SANDBOX): p.sandbox_says(), p.BEACON: None}
    ),
    "designing": p.at_work(batches=[p.batch(0)]),
    "playing": p.at_work(batches=[p.batch(0, "Complete")], rollouts=[p.plays(0)]),
    "training": p.at_work(rollouts=[p.plays(0, "Complete")]),
    "suspended": p.at_work(run=p.run_record(p.holding(*p.AT_WORK), suspend="Now")),
    "paused by an open network": p.at_work(
        rollouts=[p.plays(0)],
        batches=[p.batch(0, "Complete")],
        pods={
            p.pod(Role.SANDBOX, "mini-sandbox-y", ip="10.0.0.9"): p.sandbox_says(
                probe=ProbeResult(
                    gvisor=True, kernel="4.4.0", attempts=(p.attempt("outside", reached=True),), seconds=1
                )
            )
        },
    ),
    "worker without a node": p.at_work(
        batches=[p.batch(0, "Complete")],
        rollouts=[p.plays(0)],
        pods={p.pod(Role.WORKER, phase="Pending", unschedulable="0/1 nodes: 1 Insufficient cpu."): None},
    ),
    "complete": p.at_work(4),
    "failed": p.at_work(
        run=p.run_record(p.SpadeRunStatus(conditions=(p.condition("Failed", True, Reason.JOB_FAILED),)))
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_same_picture_and_time_give_the_same_decision(name: str) -> None:
    assert decide(PICTURES[name], p.NOW) == decide(PICTURES[name], p.NOW)


@pytest.mark.parametrize("name", PICTURES)
def test_status_settles_after_it_was_written(name: str) -> None:
    seen = PICTURES[name]
    for _ in range(4):
        seen = replace(seen, head=replace(seen.run, status=decide(seen, p.NOW).status))
    assert decide(seen, p.NOW).status == seen.status


@pytest.mark.parametrize("name", PICTURES)
def test_time_alone_changes_no_status(name: str) -> None:
    seen = PICTURES[name]
    for _ in range(4):
        seen = replace(seen, head=replace(seen.run, status=decide(seen, p.NOW).status))
    later = p.ago(-20)
    assert decide(seen, later).status == seen.status


def test_every_child_is_made_in_the_runs_namespace_and_named_for_it() -> None:
    for name, seen in PICTURES.items():
        for action in decide(seen, p.NOW).actions:
            if isinstance(action, Apply | Create):
                meta = action.manifest["metadata"]
                assert meta["namespace"] == "default", name
                assert meta["name"].startswith("mini-"), name


def test_nothing_but_sandboxes_beacon_and_preparation_runs_before_isolation_is_proven() -> None:
    for name in ("new", "starting", "proving isolation"):
        for action in decide(PICTURES[name], p.NOW).actions:
            if isinstance(action, Apply | Create) and action.manifest["kind"] in ("Deployment", "Job"):
                role = action.manifest["metadata"]["labels"]["spade.dev/role"]
                assert role in ("prepare", "sandbox", "beacon"), name


def test_blocking_policy_is_the_last_that_is_asked() -> None:
    seen = PICTURES["invalid"]
    assert POLICIES[0](seen, p.NOW).blocks
    assert [c.type for c in decide(seen, p.NOW).status.conditions] == ["Accepted"]


def test_run_that_is_held_up_in_its_work_does_not_say_that_it_progresses() -> None:
    progressing = p.condition(RunCondition.PROGRESSING, True, Reason.PLAYING)
    status = p.holding(*p.AT_WORK, policy_version=0, phase=Phase.PLAYING)
    status = status.model_copy(update={"conditions": (*status.conditions, progressing)})
    spied = p.attempt("outside", reached=True)
    probe = ProbeResult(gvisor=True, kernel="4.4.0", attempts=(spied,), seconds=1)
    spy = {p.pod(Role.SANDBOX, "mini-sandbox-y", ip="10.0.0.9"): p.sandbox_says(probe=probe)}
    for held_up, phase, reason in (
        (p.at_work(run=p.run_record(status), pods=spy), Phase.PLAYING, Reason.NETWORK_OPEN),
        (p.at_work(run=p.run_record(status, problem="wrong")), Phase.PENDING, Reason.WAITING),
        (p.at_work(run=p.run_record(status), pods={p.LEARNER: p.learner_says(3)}), Phase.STARTING, Reason.WAITING),
    ):
        after = decide(held_up, p.NOW).status
        (found,) = (c for c in after.conditions if c.type == RunCondition.PROGRESSING)
        assert after.phase is phase
        assert (found.status, found.reason) == ("False", reason)
        assert after.doing in found.message


def test_pod_that_waits_for_a_node_is_named_where_people_look_until_it_has_one() -> None:
    waiting = PICTURES["worker without a node"]
    after = decide(waiting, p.NOW).status
    assert after.doing == "playing rollout 0 (Unschedulable: mini-worker-x)"
    (found,) = (c for c in after.conditions if c.type == RunCondition.PROGRESSING)
    assert (found.status, found.reason) == ("False", Reason.UNSCHEDULABLE)
    beside = p.pod(Role.WORKER, "another")
    pods = {**dict.fromkeys(waiting.pods), beside: None}
    more = decide(p.at_work(batches=[p.batch(0, "Complete")], rollouts=[p.plays(0)], pods=pods), p.NOW).status
    (found,) = (c for c in more.conditions if c.type == RunCondition.PROGRESSING)
    assert found.status == "True", "one worker is enough to get on"


def test_status_with_the_longest_causes_of_all_roles_stays_small() -> None:
    log = "x" * 5000
    dead = [
        p.pod(Role.SANDBOX, "s", containers=(p.ended(1, restarts=99),)),
        p.pod(Role.ENGINE, "e", containers=(p.ended(1, restarts=99),)),
    ]
    logs = {(pod.meta.uid, "main", 99): log for pod in dead}
    lost = p.learner_pod(phase="Failed", containers=(p.ended(1),))
    group = [p.job("mini-learner-a0", Role.LEARNER)]
    logs[lost.meta.uid, "main", 0] = log
    status = p.holding(*p.AT_WORK, engine_restarts_seen={"e": 0})
    whole = decide(
        p.at_work(
            run=p.run_record(status, sandbox={"restarts": 999}),
            pods=dict.fromkeys([*dead, lost]),
            jobs=group,
            logs=logs,
        ),
        p.NOW,
    ).status
    spent = whole.model_copy(update={"restarts": {"learner": Restarts(since_progress=99, total=99)}})
    end = decide(p.at_work(run=p.run_record(spent), pods=dict.fromkeys(dead), logs=logs), p.NOW).status
    assert end.phase is Phase.FAILED
    for found in (whole, end):
        assert sum(len(c.message) > 700 for c in found.conditions) >= 2
        assert len(found.model_dump_json(by_alias=True, exclude_none=True)) < 8 * 1024


def test_condition_keeps_its_time_until_its_status_changes() -> None:
    before = p.SpadeRunStatus(conditions=(p.condition("Isolated", True, Reason.PROVEN),))
    same = Step(conditions=(Wanted(RunCondition.ISOLATED, ConditionStatus.TRUE, Reason.READY, "new words"),))
    other = Step(conditions=(Wanted(RunCondition.ISOLATED, ConditionStatus.FALSE, Reason.PROBING),))
    kept = joined(before, [same], 1, p.NOW).conditions[0]
    assert (kept.last_transition_time, kept.message) == (p.ago(60), "new words")
    assert joined(before, [other], 1, p.NOW).conditions[0].last_transition_time == p.NOW


def test_restarts_of_several_policies_add_up_on_what_another_reset() -> None:
    steps = [Step(restarts={Role.ENGINE: 1}), Step(status={"restarts": {}}), Step(restarts={Role.ENGINE: 2})]
    found = joined(p.SpadeRunStatus(), steps, 1, p.NOW).restarts
    assert (found["engine"].since_progress, found["engine"].total) == (3, 3)
