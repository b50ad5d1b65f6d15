"""Of two operators at most one acts; a lease that is not renewed is taken, and one that is given back at once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_operator.kube import Conflict, Kube, NotFound, Object, Unavailable
from spade_operator.lease import Claim, Leadership, NotLeading, Seen, keep, may_take

SECONDS = 12.0


class OneLease:
    """The API server as far as one Lease goes."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.version = 0
        self.silent = False
        self.hanging = 0
        """Calls to come that are never answered."""
        self.holders: list[str] = []
        self.marks: Object = {}
        """Labels and annotations."""

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        await asyncio.sleep(0.01)
        if self.hanging:
            self.hanging -= 1
            await asyncio.sleep(10 * SECONDS)
        if self.silent:
            raise Unavailable("get", 0, "no answer")
        if self.lease is None:
            raise NotFound("get", 404, "")
        return {**self.lease, "metadata": {**self.marks, "resourceVersion": str(self.version)}}

    async def create(self, manifest: Object) -> Object:
        if self.lease is not None:
            raise Conflict("create", 409, "")
        return await self._write(manifest)

    async def update(self, manifest: Object) -> Object:
        if manifest["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict("update", 409, "")
        return await self._write(manifest)

    async def _write(self, manifest: Object) -> Object:
        if self.silent:
            raise Unavailable("update", 0, "no answer")
        self.version += 1
        self.lease = {"spec": dict(manifest["spec"])}
        self.marks = {
            key: manifest["metadata"][key] for key in ("labels", "annotations") if key in manifest["metadata"]
        }
        self.holders.append(manifest["spec"]["holderIdentity"])
        return manifest


def start(
    server: Any, identity: str, wanted: Callable[[], bool] = lambda: True
) -> tuple[Leadership, "asyncio.Task[None]"]:
    leadership = Leadership(clock=asyncio.get_running_loop().time)
    kube: Kube = server
    return leadership, asyncio.create_task(keep(kube, leadership, Claim("ns", "lease", identity, SECONDS), wanted))


async def stop(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.looptime
async def test_at_most_one_leads_and_the_other_takes_over_when_it_is_given_back() -> None:
    server = OneLease()
    first, keeping_first = start(server, "first")
    await first.gained.wait()
    second, keeping_second = start(server, "second")
    await asyncio.sleep(5 * SECONDS)
    assert (first.holds(), second.holds()) == (True, False)
    await stop(keeping_first)
    began = asyncio.get_running_loop().time()
    await second.gained.wait()
    assert asyncio.get_running_loop().time() - began < SECONDS / 2
    assert not first.holds()
    await stop(keeping_second)
    assert server.holders[-1] == ""


@pytest.mark.looptime
async def test_lease_that_somebody_else_made_keeps_its_labels_and_annotations() -> None:
    server = OneLease()
    server.lease = {}
    server.marks = {"labels": {"managed-by": "Helm"}, "annotations": {"release": "spade"}}
    leadership, task = start(server, "one")
    await asyncio.sleep(SECONDS)
    assert leadership.holds()
    assert len(server.holders) > 1
    assert server.marks == {"labels": {"managed-by": "Helm"}, "annotations": {"release": "spade"}}
    await stop(task)


@pytest.mark.looptime
async def test_lease_of_a_killed_operator_is_taken_when_its_duration_has_passed() -> None:
    server = OneLease()
    server.lease = {"spec": {"holderIdentity": "dead", "renewTime": "long ago", "leaseDurationSeconds": SECONDS}}
    began = asyncio.get_running_loop().time()
    successor, keeping = start(server, "successor")
    await successor.gained.wait()
    assert SECONDS <= asyncio.get_running_loop().time() - began < SECONDS + 3
    await stop(keeping)


@pytest.mark.looptime
async def test_operator_that_is_not_ready_takes_no_lease_and_yet_waits_for_a_dead_rivals_to_expire() -> None:
    server = OneLease()
    server.lease = {"spec": {"holderIdentity": "dead", "renewTime": "long ago", "leaseDurationSeconds": SECONDS}}
    listed = asyncio.Event()
    successor, keeping = start(server, "successor", listed.is_set)
    await asyncio.sleep(2 * SECONDS)
    assert not successor.holds()
    assert server.holders == []
    listed.set()
    async with asyncio.timeout(3):
        await successor.gained.wait()
    await stop(keeping)


@pytest.mark.looptime
async def test_lease_that_nobody_holds_is_left_alone_by_an_operator_that_is_not_ready() -> None:
    server = OneLease()
    leadership, keeping = start(server, "one", lambda: False)
    await asyncio.sleep(2 * SECONDS)
    assert not leadership.holds()
    assert server.lease is None
    await stop(keeping)
    assert server.lease is None


@pytest.mark.looptime
async def test_holder_that_cannot_renew_stops_acting_before_anybody_else_may_start() -> None:
    server = OneLease()
    first, keeping = start(server, "first")
    await first.gained.wait()
    server.silent = True
    await first.lost.wait()
    with pytest.raises(NotLeading):
        first.require()
    server.silent = False
    await first.gained.wait()
    first.require()
    await stop(keeping)


@pytest.mark.looptime
async def test_renewal_that_gets_no_answer_is_tried_again_before_the_lease_runs_out() -> None:
    server = OneLease()
    first, keeping = start(server, "first")
    await first.gained.wait()
    for _ in range(4):
        server.hanging = 1
        await asyncio.sleep(2 * SECONDS)
        assert not server.hanging
    assert not first.lost.is_set(), "it led all the time"
    await stop(keeping)


@given(st.sampled_from(["", "me", "rival"]), st.floats(0, 100), st.floats(1, 50))
def test_rivals_lease_may_be_taken_only_after_its_whole_duration_on_our_clock(
    holder: str, elapsed: float, duration: float
) -> None:
    seen = Seen(holder, "then", 1000.0)
    assert may_take(seen, holder, "me", 1000.0 + elapsed, duration) == (
        holder != "rival" or 1000.0 + elapsed - 1000.0 >= duration
    )
