"""A pool whose new pods fail to start grows by one trial pod at a time, until that has come up."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.autoscale import pool_size, scaling_limited
from spade_operator.reconcile.breaker import FAILING_STARTS, REMEMBERED_SECONDS
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.records import PodRecord

LIMITED = RunCondition.SCALING_LIMITED
CRASHED = ContainerRecord("sandbox", 1, last_exit_code=1)
NO_IMAGE = ContainerRecord("sandbox", 0, waiting_reason="ErrImagePull", waiting_message="not found")
HELD = p.SpadeRunStatus(conditions=(p.condition(LIMITED, True, Reason.STARTS_FAIL, "earlier words"),))


def up(number: int) -> list[PodRecord]:
    return [p.pod(Role.SANDBOX, f"up-{n}", admitted_boot="boot-0001", ready=True) for n in range(number)]


def starting(number: int, *containers: ContainerRecord, **changes: Any) -> list[PodRecord]:
    return [p.pod(Role.SANDBOX, f"new-{n}", containers=containers, **changes) for n in range(number)]


def picture(
    pods: list[PodRecord], replicas: int, *, demand: int = 100, status: p.SpadeRunStatus | None = None, **spec: Any
) -> p.Observed:
    run = p.run_record(status, sandbox={"minPods": 1, "maxPods": 10, "sessionsPerPod": 10, **spec})
    answers: dict[PodRecord, Any] = dict.fromkeys(pods)
    worker = {p.pod(Role.WORKER): p.worker_says(wanted=demand)}
    return p.seen(run, pods=answers | worker, deployments=[p.deployment(Role.SANDBOX, replicas)])


@pytest.mark.parametrize("container", [CRASHED, NO_IMAGE])
def test_pool_with_failing_starts_shrinks_at_once_to_one_trial_pod_and_says_why(container: ContainerRecord) -> None:
    seen = picture([*up(2), *starting(FAILING_STARTS, container)], 10)
    assert pool_size(seen, p.NOW).pods == 3
    (told,) = scaling_limited(seen, p.NOW)
    assert (told.type, str(told.status), told.reason) == (LIMITED, "True", Reason.STARTS_FAIL)
    assert "pod new-0" in told.message


def test_few_failing_starts_hold_nothing_up() -> None:
    seen = picture([*up(2), *starting(FAILING_STARTS - 1, CRASHED)], 4)
    assert pool_size(seen, p.NOW).pods == 10
    assert scaling_limited(seen, p.NOW) == ()


def test_pods_that_fit_on_no_node_are_no_failing_starts() -> None:
    pending = starting(9, phase="Pending", unschedulable="0/3 nodes: 3 Insufficient cpu.")
    assert pool_size(picture([*up(1), *pending], 10), p.NOW).pods == 10


def test_pods_of_which_their_node_would_have_none_count_for_a_while() -> None:
    refused = starting(FAILING_STARTS, phase="Failed", reason="OutOfcpu", created_at=p.ago(30))
    assert pool_size(picture([*up(1), *refused], 10), p.NOW).pods == 2
    old = [replace(pod, meta=replace(pod.meta, created_at=p.ago(REMEMBERED_SECONDS + 1))) for pod in refused]
    assert pool_size(picture([*up(1), *old], 10), p.NOW).pods == 10


def test_pods_that_were_preempted_are_no_failing_starts() -> None:
    taken = starting(FAILING_STARTS, phase="Failed", reason="Preempting", created_at=p.ago(30))
    assert pool_size(picture([*up(1), *taken], 10), p.NOW).pods == 10


def test_hold_outlives_its_pods_until_the_trial_has_come_up() -> None:
    trying = picture([*up(2), *starting(1)], 3, status=HELD)
    assert pool_size(trying, p.NOW).pods == 3
    assert p.wanted(sandboxes(trying, p.NOW), LIMITED) == ("True", Reason.STARTS_FAIL, "earlier words")
    missing = picture(up(2), 3, status=HELD)
    assert pool_size(missing, p.NOW).pods == 3
    proven = picture(up(3), 3, status=HELD)
    assert pool_size(proven, p.NOW).pods == 10
    assert p.wanted(sandboxes(proven, p.NOW), LIMITED)[:2] == ("False", Reason.WITHIN_LIMITS)


def test_minimum_is_kept_whatever_fails() -> None:
    seen = picture(starting(FAILING_STARTS, CRASHED), 4, minPods=4)
    assert pool_size(seen, p.NOW).pods == 4
    assert p.wanted(sandboxes(seen, p.NOW), RunCondition.SANDBOXES_READY)[1] == Reason.RESTARTING


def test_hold_stays_when_demand_goes_away_for_a_moment() -> None:
    seen = picture([*up(2), *starting(1, CRASHED)], 3, demand=0, status=HELD)
    assert p.wanted(sandboxes(seen, p.NOW), LIMITED)[0] == "True"
