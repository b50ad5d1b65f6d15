"""A pod is admitted only when gVisor, walls and the closed network are proven at its boot, against the beacon."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import ProbeResult, SandboxStatus
from spade_operator.children.policies import CLOSING
from spade_operator.containers import ContainerRecord
from spade_operator.openings import Opening
from spade_operator.reconcile.isolation import DISCARD_GRACE_SECONDS, isolation
from spade_operator.reconcile.steps import Admit, Remove, Step
from spade_operator.records import Kind
from spade_operator.selectors import Expression

FRESH = p.pod(Role.SANDBOX, created_at=p.ago(10))
FRESH2 = p.pod(Role.SANDBOX, "mini-sandbox-fresh", ip="10.0.0.9", created_at=p.ago(5))
ISOLATED = RunCondition.ISOLATED


def probe(**changes: Any) -> ProbeResult:
    known = p.sandbox_says().probe
    assert known is not None
    return known.model_copy(update=changes)


def step_for(status: SandboxStatus | None, *, pod: Any = FRESH, beacon: Any = None, **parts: Any) -> Step:
    return isolation(p.seen(pods={pod: status, p.BEACON: beacon or p.beacon_says()}, **parts), p.NOW)


def test_proven_pod_is_admitted_for_its_boot() -> None:
    step = step_for(p.sandbox_says("boot-0009"))
    assert step.actions == (Admit(FRESH, "boot-0009"),)
    assert step.status["admitted"] == {FRESH.meta.name: "boot-0009"}
    assert p.wanted(step, ISOLATED)[:2] == ("True", Reason.PROVEN)
    assert not step.blocks


@given(
    gvisor=st.booleans(), wall=st.booleans(), reached=st.booleans(), served=st.booleans(), beacon=st.booleans(),
    probed=st.booleans(), tried=st.booleans(),
)  # fmt: skip
def test_nothing_short_of_all_proofs_admits_a_pod(
    gvisor: bool, wall: bool, reached: bool, served: bool, beacon: bool, probed: bool, tried: bool
) -> None:
    attempts = tuple(p.attempt(kind, reached=reached) for kind in p.KINDS) if tried else ()
    status = p.sandbox_says(
        walls={"seccomp": wall}, served=served, probe=probe(gvisor=gvisor, attempts=attempts) if probed else None
    )
    step = step_for(status, beacon=p.beacon_says(reached=beacon))
    proven = gvisor and wall and not reached and not served and beacon and probed and tried
    assert bool(p.actions_of(step, Admit)) == proven
    assert step.blocks != proven


def test_reasons_are_told_apart() -> None:
    open_network = probe(attempts=(p.attempt("dns"), p.attempt("outside", reached=True)))
    cases = {
        Reason.NOT_GVISOR: p.sandbox_says(probe=probe(gvisor=False)),
        Reason.WALL_MISSING: p.sandbox_says(walls={"seccomp": False, "memory": True}),
        Reason.NETWORK_OPEN: p.sandbox_says(probe=open_network),
        Reason.CONTROL_FAILED: p.sandbox_says(probe=probe(attempts=(p.attempt("metadata"),))),
    }
    cases[Reason.NOT_GVISOR] = p.sandbox_says(probe=probe(gvisor=False), walls={})
    for reason, status in cases.items():
        step = step_for(status)
        assert p.wanted(step, ISOLATED)[:2] == ("False", reason)
        assert step.blocks
    assert "outside-target" in p.wanted(step_for(cases[Reason.NETWORK_OPEN]), ISOLATED)[2]
    assert "seccomp" in p.wanted(step_for(cases[Reason.WALL_MISSING]), ISOLATED)[2]


def test_beacon_that_reaches_nothing_has_patience_and_then_fails_the_control() -> None:
    for age, reason in ((5, Reason.PROBING), (120, Reason.CONTROL_FAILED)):
        beacon = p.pod(Role.BEACON, created_at=p.ago(age))
        step = isolation(p.seen(pods={FRESH: p.sandbox_says(), beacon: p.beacon_says(reached=False)}), p.NOW)
        assert p.wanted(step, ISOLATED)[:2] == ("False", reason)
        assert not p.actions_of(step, Admit)


def test_pod_that_is_not_at_the_boot_it_was_admitted_for_is_replaced_and_counted() -> None:
    run = p.run_record(p.holding(admitted={p.SANDBOX.meta.name: "boot-0001"}))
    step = step_for(p.sandbox_says("boot-0002"), pod=p.SANDBOX, run=run)
    assert [action.record for action in p.actions_of(step, Remove)] == [p.SANDBOX]
    assert not p.actions_of(step, Admit)
    assert step.restarts == {Role.SANDBOX: 1}
    assert step.status["admitted"] == {}


def test_restart_that_the_kubelet_tells_is_enough_before_the_new_process_answers() -> None:
    restarted = p.pod(Role.SANDBOX, admitted_boot="boot-0001", containers=(ContainerRecord("sandbox", 1),))
    assert p.actions_of(step_for(None, pod=restarted), Remove)
    before = p.pod(Role.SANDBOX, admitted_boot="boot-0001", admitted_restarts=1, containers=restarted.containers)
    assert not p.actions_of(step_for(p.sandbox_says(), pod=before), Remove)


def test_pod_removed_by_scaling_down_is_no_loss() -> None:
    run = p.run_record(p.holding(admitted={p.SANDBOX.meta.name: "boot-0001", "mini-sandbox-gone": "boot-0003"}))
    step = step_for(p.sandbox_says(), pod=p.SANDBOX, run=run, deployments=[p.deployment(Role.SANDBOX, 1)])
    assert step.restarts == {}


def test_used_pod_that_was_never_admitted_is_replaced_because_its_word_is_no_proof() -> None:
    step = step_for(p.sandbox_says(served=True))
    assert len(p.actions_of(step, Remove)) == 1


def test_own_address_as_target_says_nothing_about_the_network() -> None:
    step = step_for(p.sandbox_says(probe=probe(attempts=(p.attempt("neighbour", reached=True, host=FRESH.ip),))))
    assert p.wanted(step, ISOLATED)[1] == Reason.PROBING
    assert len(p.actions_of(step, Remove)) == 1


def test_refused_pod_is_probed_again_by_a_fresh_one_later_and_the_finding_stands_meanwhile() -> None:
    refused = p.sandbox_says(probe=probe(gvisor=False))
    assert not p.actions_of(step_for(refused), Remove)
    assert p.actions_of(step_for(refused, pod=p.pod(Role.SANDBOX, created_at=p.ago(90))), Remove)
    before = p.condition(ISOLATED, False, Reason.NOT_GVISOR, "the finding")
    run = p.run_record(p.SpadeRunStatus(conditions=(before,)))
    assert p.wanted(step_for(None, run=run), ISOLATED) == ("False", Reason.NOT_GVISOR, "the finding")


OPEN = probe(attempts=(p.attempt("dns"), p.attempt("outside", reached=True)))
POOL = [p.deployment(Role.SANDBOX, 2), p.deployment(Role.ENGINE)]


def mid_run(*finding: Any, **status: Any) -> Any:
    known = p.holding(RunCondition.ACCEPTED, admitted={p.SANDBOX.meta.name: "boot-0001"}, **status)
    return p.run_record(known.model_copy(update={"conditions": (*known.conditions, *finding)}))


def test_network_that_a_fresh_pod_finds_open_takes_the_older_pods_with_it_and_admits_none() -> None:
    fine = p.pod(Role.SANDBOX, "mini-sandbox-fine", ip="10.0.0.8", created_at=p.ago(5))
    pods = {
        p.SANDBOX: p.sandbox_says(),
        FRESH2: p.sandbox_says("boot-0009", probe=OPEN),
        fine: p.sandbox_says("boot-0008"),
    }
    step = isolation(p.seen(mid_run(), pods=pods | {p.BEACON: p.beacon_says()}, deployments=POOL), p.NOW)
    assert [action.record for action in p.actions_of(step, Remove)] == [p.SANDBOX]
    assert not p.actions_of(step, Admit)
    assert (step.status["admitted"], step.restarts, step.phase, step.blocks) == ({}, {}, None, True)
    status, reason, message = p.wanted(step, ISOLATED)
    assert (status, reason) == ("False", Reason.NETWORK_OPEN)
    assert "outside-target" in message
    assert "until fresh pods have proven a closed network" in message
    assert p.wanted(step, RunCondition.PROGRESSING)[:2] == ("False", Reason.NETWORK_OPEN)
    assert step.doing.startswith("paused: ")


@pytest.mark.parametrize("finding", [{"probe": probe(gvisor=False)}, {"walls": {"seccomp": False}}])
def test_fresh_pod_without_gvisor_or_walls_says_nothing_of_older_ones_and_holds_new_work_up(finding: Any) -> None:
    pods = {p.SANDBOX: p.sandbox_says(), FRESH2: p.sandbox_says("boot-0009", **finding), p.BEACON: p.beacon_says()}
    step = isolation(p.seen(mid_run(), pods=pods, deployments=POOL), p.NOW)
    assert not p.actions_of(step, Remove)
    assert step.status["admitted"] == {p.SANDBOX.meta.name: "boot-0001"}
    assert (step.blocks, step.phase) == (True, None)
    assert p.wanted(step, RunCondition.PROGRESSING)[0] == "False"


def test_after_an_open_network_pods_are_admitted_only_all_together() -> None:
    before = p.condition(ISOLATED, False, Reason.NETWORK_OPEN, "the finding")
    one, two = (p.pod(Role.SANDBOX, f"new-{n}", ip=f"10.0.0.{n}", created_at=p.ago(5)) for n in (7, 8))
    for pods, admitted in (
        ({one: p.sandbox_says()}, 0),
        ({one: p.sandbox_says(), two: p.sandbox_says("boot-0008")}, 2),
    ):
        seen = p.seen(mid_run(before), pods=pods | {p.BEACON: p.beacon_says()}, deployments=POOL)
        assert len(p.actions_of(isolation(seen, p.NOW), Admit)) == admitted


@pytest.mark.parametrize(("disruption", "paid"), [("EvictionByEvictionAPI", False), ("", True)])
def test_sandbox_that_the_infrastructure_took_is_counted_at_no_cost(disruption: str, paid: bool) -> None:
    going = p.pod(Role.SANDBOX, deleting=True, disruption=disruption, admitted_boot="boot-0001")
    step = isolation(p.seen(mid_run(), pods={going: None}, deployments=POOL[1:]), p.NOW)
    once = {Role.SANDBOX: 1}
    assert (step.restarts, step.disruptions) == ((once, {}) if paid else ({}, once))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (None, ({}, {})),
        ({"deleting": True}, ({}, {})),
        ({"deleting": True, "disruption": "EvictionByEvictionAPI"}, ({}, {Role.SANDBOX: 1})),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on resource: memory"}, ({Role.SANDBOX: 1}, {})),
        ({"containers": (p.ended(137, restarts=1),), "admitted_boot": "boot-0001"}, ({Role.SANDBOX: 1}, {})),
    ],
    ids=["gone", "going", "drained", "evicted", "crashed in place"],
)
def test_where_others_scale_only_a_pod_that_left_a_trace_was_lost(
    changes: dict[str, Any] | None, told: tuple[dict[Role, int], dict[Role, int]]
) -> None:
    run = p.run_record(mid_run().status, sandbox={"autoscaling": "External"})
    pods = {} if changes is None else {p.pod(Role.SANDBOX, **changes): None}
    # The pool was scaled down and up again: its Deployment wants as many as were admitted.
    step = isolation(p.seen(run, pods=pods, deployments=POOL[:1]), p.NOW)
    assert (step.restarts, step.disruptions) == told


def test_lost_pool_in_mid_run_does_not_hold_up_what_needs_no_sandbox() -> None:
    step = step_for(None, deployments=[p.deployment(Role.ENGINE)])
    assert p.wanted(step, ISOLATED)[:2] == ("False", Reason.PROBING)
    assert not step.blocks


def test_finding_in_mid_run_stands_and_holds_the_run_up_until_the_fresh_pod_is_proven() -> None:
    before = p.condition(ISOLATED, False, Reason.NETWORK_OPEN, "the finding")
    run = p.run_record(p.holding(RunCondition.ACCEPTED).model_copy(update={"conditions": (before,)}))
    pool = [p.deployment(Role.SANDBOX, 2), p.deployment(Role.ENGINE)]
    fresh = p.pod(Role.SANDBOX, "mini-sandbox-fresh", ip="10.0.0.9", created_at=p.ago(5))
    pods = {p.SANDBOX: p.sandbox_says(), p.BEACON: p.beacon_says()}
    for more in ({}, {fresh: None}):
        step = isolation(p.seen(run, pods=pods | more, deployments=pool), p.NOW)
        assert p.wanted(step, ISOLATED) == ("False", Reason.NETWORK_OPEN, "the finding")
        assert step.blocks
    proven = isolation(p.seen(run, pods=pods | {fresh: p.sandbox_says("boot-0009")}, deployments=pool), p.NOW)
    assert p.wanted(proven, ISOLATED)[0] == "True"
    assert not proven.blocks


CLOSED_AT = 300.0
"""Seconds ago: when the policies were whole again."""


@pytest.mark.parametrize("told_by", ["repair", "age of the policy"])
def test_pod_that_ran_programs_while_the_network_was_open_is_replaced_and_is_no_loss(told_by: str) -> None:
    before = p.pod(Role.SANDBOX, "mini-sandbox-before", admitted_boot="boot-0001", created_at=p.ago(CLOSED_AT + 1))
    after = p.pod(Role.SANDBOX, "mini-sandbox-after", admitted_boot="boot-0002", created_at=p.ago(CLOSED_AT))
    run = p.run_record(p.holding(admitted={before.meta.name: "boot-0001", after.meta.name: "boot-0002"}))
    policies = [p.ChildRecord(p.meta(Kind.NETWORK_POLICY, f"mini-{end}", created_at=p.ago(600))) for end in CLOSING]
    if told_by != "repair":
        policies[0] = p.ChildRecord(p.meta(Kind.NETWORK_POLICY, "mini-closed", created_at=p.ago(CLOSED_AT)))
    pods = {before: p.sandbox_says(), after: p.sandbox_says("boot-0002"), p.BEACON: p.beacon_says()}
    pool = [p.deployment(Role.SANDBOX, 2), p.deployment(Role.ENGINE)]
    seen = p.seen(run, pods=pods, deployments=pool, others=policies)
    if told_by == "repair":
        seen = replace(seen, breached_at=p.ago(CLOSED_AT))
    step = isolation(seen, p.NOW)
    assert p.actions_of(step, Remove) == [Remove(before, DISCARD_GRACE_SECONDS)]
    assert p.wanted(step, ISOLATED)[:2] == ("False", Reason.POLICY_CHANGED)
    assert step.blocks
    assert step.restarts == {}
    assert step.status["admitted"] == {after.meta.name: "boot-0002"}


def test_run_goes_on_when_all_that_are_wanted_were_proven_after_the_repair() -> None:
    found = p.condition(ISOLATED, False, Reason.POLICY_CHANGED, "somebody changed it")
    run = p.run_record(p.SpadeRunStatus(conditions=(found,)))
    pool = [p.deployment(Role.SANDBOX, 1), p.deployment(Role.ENGINE)]
    fresh = p.pod(Role.SANDBOX, "mini-sandbox-fresh", created_at=p.ago(10))
    waiting = isolation(
        replace(p.seen(run, pods={fresh: None, p.BEACON: p.beacon_says()}, deployments=pool), breached_at=p.ago(60)),
        p.NOW,
    )
    assert p.wanted(waiting, ISOLATED) == ("False", Reason.POLICY_CHANGED, "somebody changed it")
    proven = isolation(
        replace(
            p.seen(run, pods={fresh: p.sandbox_says(), p.BEACON: p.beacon_says()}, deployments=pool),
            breached_at=p.ago(60),
        ),
        p.NOW,
    )
    assert p.actions_of(proven, Remove) == []
    assert p.wanted(proven, ISOLATED)[:2] == ("True", Reason.PROVEN)


def test_pod_that_was_not_admitted_in_the_gap_is_left_to_its_probe() -> None:
    seen = replace(p.seen(pods={FRESH: p.sandbox_says(), p.BEACON: p.beacon_says()}), breached_at=p.ago(1))
    assert isolation(seen, p.NOW).actions == (Admit(FRESH, "boot-0001"),)


def test_policy_of_others_that_lets_sandboxes_out_opens_the_network_before_any_probe_finds_it() -> None:
    theirs = Opening("default", "allow-all")
    opened = replace(p.at_work(), openings=(theirs,))
    step = isolation(opened, p.NOW)
    status, reason, message = p.wanted(step, ISOLATED)
    assert (status, reason) == ("False", Reason.NETWORK_OPEN)
    assert message.startswith("The NetworkPolicy allow-all of this namespace is none of the run's")
    assert [action.record for action in p.actions_of(step, Remove)] == [p.SANDBOX], "it may have been out"
    fresh = replace(p.seen(pods={FRESH: p.sandbox_says(), p.BEACON: p.beacon_says()}), openings=(theirs,))
    waiting = isolation(fresh, p.NOW)
    assert not p.actions_of(waiting, Admit)
    assert not p.actions_of(waiting, Remove), "it ran nothing"


@pytest.mark.parametrize(
    "opening",
    [
        Opening("default", "mini-sandbox"),
        Opening("default", "other-worker", (("spade.dev/run", "other"),)),
        Opening("default", "workers", (), (Expression("spade.dev/role", "NotIn", ("sandbox",)),)),
    ],
    ids=["our own, which drift mends", "another run's", "not for sandboxes"],
)
def test_policy_that_lets_no_sandbox_of_the_run_out_is_nobodys_business(opening: Opening) -> None:
    step = isolation(replace(p.at_work(), openings=(opening,)), p.NOW)
    assert p.wanted(step, ISOLATED)[0] == "True"


def test_installation_that_manages_its_network_answers_for_its_policies() -> None:
    site = p.SITE.model_copy(update={"manage_network_policies": False})
    step = isolation(replace(p.at_work(), site=site, openings=(Opening("default", "theirs"),)), p.NOW)
    assert p.wanted(step, ISOLATED)[0] == "True"


def test_pod_that_is_proven_at_its_admitted_boot_is_no_loss_while_its_gate_is_not_known_to_be_set() -> None:
    fresh = p.pod(Role.SANDBOX)
    status = p.holding(*p.AT_WORK, admitted={fresh.meta.name: "boot-0001"})
    seen = p.seen(p.run_record(status), pods={fresh: p.sandbox_says(), p.BEACON: p.beacon_says()})
    step = isolation(seen, p.NOW)
    assert p.actions_of(step, Admit) == [Admit(fresh, "boot-0001")]
    assert not step.restarts
