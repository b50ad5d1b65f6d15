"""Pods read the probe's targets once, at their start, so targets come first, and the beacon's address before them."""

import json

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.reconcile.steps import Apply, FetchLog, SetDeletionCost
from spade_operator.records import ChildRecord, Kind

READY = RunCondition.SANDBOXES_READY


def applied(seen: p.Observed) -> list[dict[str, object]]:
    return [action.manifest for action in p.actions_of(sandboxes(seen, p.NOW), Apply)]


def targets(seen: p.Observed) -> dict[str, str]:
    manifest = next(m for m in applied(seen) if m["kind"] == "ConfigMap")
    return {t["kind"]: t["host"] for t in json.loads(manifest["data"]["targets.json"])}  # type: ignore[index]


def test_targets_come_before_the_pods_that_read_them() -> None:
    assert [m["kind"] for m in applied(p.seen())] == ["ConfigMap", "Deployment", "Deployment"]


def test_beacon_is_a_target_and_an_admitted_pod_is_everybodys_neighbour() -> None:
    assert targets(p.seen()) == {"api-server": "10.96.0.10", "dns": "10.96.0.10", "outside": "10.96.0.10",
                                 "beacon": "10.96.0.77"}  # fmt: skip
    assert targets(p.seen(pods=[p.pod(Role.SANDBOX)])).keys() == targets(p.seen()).keys()
    assert targets(p.seen(pods=[p.SANDBOX]))["neighbour"] == p.SANDBOX.ip


def test_nothing_starts_without_the_beacons_address() -> None:
    nameless = ChildRecord(p.meta(Kind.SERVICE, "mini-beacon"), "")
    step = sandboxes(p.seen(others=[nameless]), p.NOW)
    assert (step.actions, step.blocks) == ((), True)


@pytest.mark.parametrize("role", [Role.SANDBOX, Role.BEACON])
def test_pod_that_does_not_come_up_is_told_with_its_last_lines_and_what_to_do(role: Role) -> None:
    waiting = ContainerRecord(
        str(role), 3, waiting_reason="CrashLoopBackOff", last_exit_code=137, last_reason="OOMKilled", memory_limit="1Gi"
    )
    pod = p.pod(role, containers=(waiting,))
    first = sandboxes(p.seen(pods=[pod]), p.NOW)
    assert p.actions_of(first, FetchLog) == [FetchLog(pod, str(role), 2, True)]
    step = sandboxes(p.seen(pods=[pod], logs={(pod.meta.uid, str(role), 2): "no user namespaces"}), p.NOW)
    status, reason, message = p.wanted(step, READY)
    assert (status, reason) == ("False", Reason.RESTARTING)
    assert "Its last lines: no user namespaces" in message
    assert "limits.memory above 1Gi" in message


def test_log_of_a_pod_that_ran_programs_is_not_asked_for() -> None:
    used = p.pod(Role.SANDBOX, admitted_boot="boot-0001", containers=(p.ended(1, restarts=1),))
    assert not p.actions_of(sandboxes(p.seen(pods=[used]), p.NOW), FetchLog)


def test_ready_pool_tells_of_pods_that_it_waits_for() -> None:
    more = p.pod(Role.SANDBOX, "more", phase="Pending", unschedulable="0/1 nodes: 1 Insufficient memory.")
    status, _, message = p.wanted(sandboxes(p.seen(pods=[p.SANDBOX, more]), p.NOW), READY)
    assert status == "True"
    assert "pod more fits on no node" in message


def test_pool_is_ready_when_its_least_number_of_pods_is() -> None:
    run = p.run_record(sandbox={"minPods": 2})
    one = p.seen(run, pods=[p.SANDBOX])
    two = p.seen(run, pods=[p.SANDBOX, p.pod(Role.SANDBOX, "second", ready=True)])
    assert p.wanted(sandboxes(one, p.NOW), READY)[:2] == ("False", Reason.STARTING)
    assert p.wanted(sandboxes(two, p.NOW), READY)[0] == "True"


def test_busy_pods_are_made_dear_before_the_deployment_shrinks() -> None:
    run = p.run_record(p.holding(quiet_since=p.ago(999).isoformat()))
    pods = {p.SANDBOX: p.sandbox_says(sessions=3), p.pod(Role.SANDBOX, "idle"): p.sandbox_says()}
    actions = sandboxes(p.seen(run, pods=pods, deployments=[p.deployment(Role.SANDBOX, 2)]), p.NOW).actions
    shrinking = next(
        i for i, a in enumerate(actions)
        if isinstance(a, Apply) and a.manifest["metadata"]["name"] == "mini-sandbox"
    )  # fmt: skip
    costs = [i for i, a in enumerate(actions) if isinstance(a, SetDeletionCost)]
    assert costs
    assert max(costs) < shrinking
