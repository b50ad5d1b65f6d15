"""A sandbox pool grows at once, shrinks late, and lets its busiest pods go last."""

from math import ceil
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_operator.reconcile.autoscale import PoolSize, pool_size

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
