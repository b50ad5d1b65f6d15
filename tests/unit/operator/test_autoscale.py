"""A sandbox pool grows at once, shrinks late, and lets its busiest pods go last."""

from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_operator.reconcile.autoscale import LOOK_AGAIN_SECONDS, PoolSize, pool_size, scaling_limited
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.records import PodRecord

PER_POD, LOW, HIGH, QUIET = 10, 1, 5, 60


def size(open_: int, wanted: int, present: int, *, quiet_since: float | None = None, **parts: Any) -> PoolSize:
    """The pool's size for this demand; quiet_since: seconds ago."""
    since = p.ago(quiet_since).isoformat() if quiet_since is not None else None
    spec = {"minPods": LOW, "maxPods": HIGH, "sessionsPerPod": PER_POD, "quietSeconds": QUIET}
    run = p.run_record(p.holding(quiet_since=since), sandbox=spec | parts.pop("sandbox", {}))
    pods = {p.pod(Role.WORKER): p.worker_says(open_, wanted), **parts.pop("pods", {})}
    return pool_size(p.seen(run, pods=pods, deployments=[p.deployment(Role.SANDBOX, present)]), p.NOW)


def test_pool_grows_in_the_pass_that_first_sees_waiting_sessions() -> None:
    assert size(10, 11, 1).pods == 3


def test_pool_keeps_its_size_until_demand_was_low_for_quiet_seconds() -> None:
    first = size(0, 0, 4)
    assert (first.pods, first.quiet_since, first.wake_after_seconds) == (4, p.NOW.isoformat(), QUIET)
    assert size(0, 0, 4, quiet_since=QUIET - 1).pods == 4
    assert size(0, 0, 4, quiet_since=QUIET).pods == LOW


def test_demand_that_comes_back_ends_the_quiet() -> None:
    assert size(40, 0, 4, quiet_since=30) == PoolSize(4)


def test_pool_grows_again_only_after_the_pods_are_gone_that_its_shrinking_removed() -> None:
    spec = {"minPods": LOW, "maxPods": HIGH, "sessionsPerPod": PER_POD}
    for admitted, pods in (({"one": "boot-0001", "other": "boot-0002"}, 1), ({"one": "boot-0001"}, 3)):
        run = p.run_record(p.holding(admitted=admitted), sandbox=spec)
        seen = p.seen(run, pods={p.pod(Role.WORKER): p.worker_says(10, 11)}, deployments=[p.deployment(Role.SANDBOX)])
        assert pool_size(seen, p.NOW).pods == pods


def test_pool_grows_again_only_after_starting_pods_are_gone_that_its_shrinking_removes() -> None:
    starting = {p.pod(Role.SANDBOX, f"new-{n}"): None for n in range(3)}
    assert size(100, 0, 1, pods=starting).pods == 1
    assert size(100, 0, 3, pods=starting).pods == HIGH


def test_pod_with_open_sessions_is_made_dear_before_the_pool_shrinks() -> None:
    busy, idle = p.pod(Role.SANDBOX, "busy"), p.pod(Role.SANDBOX, "idle")
    pods = {busy: p.sandbox_says(sessions=7), idle: p.sandbox_says()}
    assert not size(0, 0, 2, pods=pods).costs, "not while nothing shrinks"
    assert [(c.pod, c.cost) for c in size(0, 0, 2, quiet_since=QUIET, pods=pods).costs] == [(busy, 7)]


def test_sandbox_cannot_make_itself_dearer_than_its_capacity() -> None:
    liar = p.pod(Role.SANDBOX, "liar")
    shrunk = size(0, 0, 2, quiet_since=QUIET, pods={liar: p.sandbox_says(sessions=10**9)})
    assert [c.cost for c in shrunk.costs] == [PER_POD]


def test_external_scaler_is_left_alone() -> None:
    assert size(1000, 0, 2, sandbox={"autoscaling": "External"}).pods is None


def test_lowered_maximum_holds_at_once() -> None:
    assert size(100, 0, 9).pods == HIGH


def test_spare_pods_come_on_top_of_the_demand_and_stay_within_the_maximum() -> None:
    assert size(10, 11, 1, sandbox={"sparePods": 2}).pods == HIGH
    assert size(0, 0, 1, sandbox={"sparePods": 2}).pods == 2
    assert size(1, 0, 1, sandbox={"sparePods": 1}).pods == 2
    assert size(100, 0, 1, sandbox={"sparePods": 9}).pods == HIGH


def leaving(number: int, *, seconds_left: float = 60) -> dict[PodRecord, Any]:
    """Pods that drain."""
    until = p.ago(-seconds_left)
    return {p.pod(Role.SANDBOX, f"leaving-{n}", deleting=True, leaves_at=until): None for n in range(number)}


def test_draining_pods_count_as_the_pools_until_they_are_gone_or_ought_to_be() -> None:
    assert size(100, 0, 1, pods=leaving(2)).pods == HIGH - 2
    assert size(100, 0, 4, pods=leaving(2)).pods == 4, "but what stands stays"
    assert size(100, 0, 1, pods=leaving(2, seconds_left=-1)).pods == HIGH


def capped(demand: int, present: int | None, beside: int, cap: int, **status: Any) -> p.Observed:
    """A pool in a namespace that may have `cap` pods, and has `beside` in other pools."""
    spec = {"minPods": LOW, "maxPods": HIGH, "sessionsPerPod": PER_POD, "quietSeconds": QUIET}
    pool = [p.deployment(Role.SANDBOX, present)] if present is not None else []
    run = p.run_record(p.SpadeRunStatus(**status), sandbox=spec)
    seen = p.seen(run, pods={p.pod(Role.WORKER): p.worker_says(demand)}, deployments=pool)
    site = seen.site.model_copy(update={"sandbox_pods_per_namespace": cap})
    return replace(seen, site=site, sandboxes_beside=beside)


@pytest.mark.parametrize(
    ("present", "beside", "pods"),
    [(1, 0, 5), (1, 5, 3), (1, 7, 1), (3, 8, 3), (None, 7, 1), (None, 8, 0), (None, 99, 0)],
)
def test_pool_grows_into_what_its_namespace_has_left_and_gives_nothing_back_for_it(
    present: int | None, beside: int, pods: int
) -> None:
    assert pool_size(capped(100, present, beside, cap=8), p.NOW).pods == pods


def test_full_namespace_is_told_and_looked_at_again_until_there_is_room() -> None:
    full = capped(100, 3, 5, cap=8)
    assert pool_size(full, p.NOW).wake_after_seconds == LOOK_AGAIN_SECONDS
    (told,) = scaling_limited(full, p.NOW)
    assert (str(told.status), told.reason) == ("True", Reason.NAMESPACE_FULL)
    assert "allows 8 sandbox pods in namespace default" in told.message
    known = (p.condition(told.type, True, Reason.NAMESPACE_FULL),)
    (still,) = scaling_limited(capped(0, 3, 5, cap=8, conditions=known), p.NOW)
    assert str(still.status) == "True", "demand comes and goes"
    (over,) = scaling_limited(capped(0, 3, 4, cap=8, conditions=known), p.NOW)
    assert (str(over.status), over.reason) == ("False", Reason.WITHIN_LIMITS)


def test_full_namespace_is_no_news_for_a_pool_that_has_enough() -> None:
    assert scaling_limited(capped(10, 3, 5, cap=8), p.NOW) == ()


def test_pool_that_the_namespace_has_no_room_for_says_so_in_its_readiness() -> None:
    status, reason, message = p.wanted(sandboxes(capped(10, None, 8, cap=8), p.NOW), RunCondition.SANDBOXES_READY)
    assert (status, reason) == ("False", Reason.WAITING)
    assert "allows 8 sandbox pods" in message


@given(
    st.integers(0, 500), st.integers(0, 500), st.integers(LOW, 2 * HIGH), st.one_of(st.none(), st.floats(0, 10 * QUIET))
)
def test_size_is_within_bounds_and_never_below_a_demand_that_the_bounds_allow(
    open_: int, wanted: int, present: int, quiet: float | None
) -> None:
    found = size(open_, wanted, present, quiet_since=quiet)
    assert found.pods is not None
    assert LOW <= found.pods <= HIGH
    assert found.pods >= min(HIGH, ceil((open_ + wanted) / PER_POD))
