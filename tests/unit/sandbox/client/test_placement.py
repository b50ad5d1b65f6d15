"""Sessions go to the least loaded pod; when all are full they wait in line, and first come is first served."""

import asyncio
from typing import Any

import pytest
from tests.support.fake_pods import LOAD, FakePods, Json, Said, Truth, answering, honest, lying, refusal, until

from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client import NoCapacity, SandboxPool, SandboxSession
from spade_sandbox.client.pool import PROBE_SECONDS

pytestmark = pytest.mark.looptime

LIMITS = SandboxLimits()


class Places:
    """A pod with so many places, which says how many are taken or what it is told to say."""

    def __init__(self, capacity: int, claims: Json | None = None) -> None:
        self.capacity = capacity
        self.claims = claims
        self.most = 0
        self.opened: list[int] = []
        """`max_turns` of each session, which the tests use as its name."""
        self._live: set[int] = set()

    def __call__(self, request: Json) -> Said:
        if request["op"] == "open":
            if len(self._live) == self.capacity:
                return refusal("capacity")
            self.opened.append(request["max_turns"])
            number = len(self.opened)
            self._live.add(number)
            self.most = max(self.most, len(self._live))
            return {"ok": {"op": "open", "session": number, "load": self._load()}}
        if request["op"] == "close":
            self._live.discard(request["session"])
        return Truth(self._load())(request)

    def _load(self) -> Json:
        return self.claims or {"sessions": len(self._live), "capacity": self.capacity}


async def connected(pool: SandboxPool, pods: int) -> None:
    """All pods are connected."""
    await until(lambda: list(pool.pods.values()) == [True] * pods)


async def test_least_loaded_pod_gets_the_session() -> None:
    full, idle = ({"sessions": sessions, "capacity": 10} for sessions in (9, 2))
    places = [Places(10, full), Places(10, idle)]
    async with FakePods(*map(answering, places)) as pods, pods.pool() as pool:
        await connected(pool, 2)
        for _ in range(3):
            async with pool.session("source", LIMITS, max_turns=5):
                pass
    assert [len(place.opened) for place in places] == [0, 3]


async def test_sessions_that_are_opened_at_once_spread_over_all_pods() -> None:
    places = [Places(8) for _ in range(4)]
    async with FakePods(*map(answering, places)) as pods, pods.pool() as pool:
        await connected(pool, 4)
        await asyncio.gather(*(hold(pool, n, 1.0) for n in range(1, 17)))
    assert [len(place.opened) for place in places] == [4, 4, 4, 4]


async def test_pod_that_others_have_left_is_found_to_be_empty_again() -> None:
    crowded, quiet = Places(8, {"sessions": 8, "capacity": 8}), Places(8, {"sessions": 4, "capacity": 8})
    async with FakePods(answering(crowded), answering(quiet)) as pods, pods.pool() as pool:
        await connected(pool, 2)
        await hold(pool, 1, 0.1)
        crowded.claims = {"sessions": 0, "capacity": 8}
        await asyncio.sleep(PROBE_SECONDS + 1)
        await hold(pool, 2, 0.1)
    assert (quiet.opened, crowded.opened) == ([1], [2])


@pytest.mark.parametrize(
    "claims",
    [{"sessions": 0, "capacity": 8}, {"sessions": 0, "capacity": 1_000_000}],
    ids=["always empty", "endless"],
)
async def test_pod_that_hides_its_load_gets_no_more_than_its_claim_and_the_others_go_on(claims: Json) -> None:
    liar, good = Places(3, claims), Places(8)
    async with FakePods(answering(liar), answering(good)) as pods, pods.pool() as pool:
        await connected(pool, 2)
        await asyncio.gather(*(hold(pool, n, 1.0) for n in range(1, 33)))
        assert pool.stats.sessions == {"ok": 32}
    assert liar.most <= 3
    assert good.opened


async def test_pod_that_claims_to_be_full_is_asked_all_the_same() -> None:
    async with FakePods(answering(Places(4, {"sessions": 4, "capacity": 4}))) as pods, pods.pool() as pool:
        await asyncio.gather(*(hold(pool, n, 1.0) for n in range(1, 9)))
        assert pool.stats.sessions == {"ok": 8}


async def hold(pool: SandboxPool, name: int, seconds: float, **settings: Any) -> None:
    """A session that lives so long."""
    async with pool.session("source", LIMITS, max_turns=name, **settings):
        await asyncio.sleep(seconds)


async def test_session_waits_while_all_pods_are_full_and_counts_as_wanted() -> None:
    places = Places(1)
    async with FakePods(answering(places)) as pods, pods.pool() as pool:
        first = asyncio.create_task(hold(pool, 1, 10.0))
        second = asyncio.create_task(hold(pool, 2, 10.0))
        await asyncio.sleep(5)
        assert (pool.stats.open, pool.stats.wanted) == (1, 1)
        await first
        await until(lambda: pool.stats.open == 1)
        assert pool.stats.wanted == 0
        await second
        assert (pool.stats.open, pool.stats.wanted) == (0, 0)


async def test_line_is_served_in_the_order_of_arrival() -> None:
    places = Places(3)
    async with FakePods(answering(places)) as pods, pods.pool() as pool:
        tasks = []
        for name in range(1, 31):
            tasks.append(asyncio.create_task(hold(pool, name, 1 + name % 3)))
            await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)
    assert places.opened == list(range(1, 31))


async def test_refused_session_keeps_its_place_in_the_line() -> None:
    closed = True
    places = Places(1, LOAD)

    def closed_at_first(request: Json) -> Said:
        return refusal("not_isolated") if closed and request["op"] == "open" else places(request)

    async with FakePods(answering(closed_at_first)) as pods, pods.pool() as pool:
        tasks = []
        for name in range(1, 7):
            tasks.append(asyncio.create_task(hold(pool, name, 0.1)))
            await asyncio.sleep(0.7)
        closed = False
        await asyncio.gather(*tasks)
    assert places.opened == list(range(1, 7))


async def test_who_leaves_the_line_holds_up_nobody() -> None:
    places = Places(1)
    async with FakePods(answering(places)) as pods, pods.pool() as pool:
        first = asyncio.create_task(hold(pool, 1, 10.0))
        await until(lambda: pool.stats.open == 1)
        leaving = asyncio.create_task(hold(pool, 2, 1.0))
        last = asyncio.create_task(hold(pool, 3, 1.0))
        await until(lambda: pool.stats.wanted == 2)
        leaving.cancel()
        await asyncio.gather(first, last)
        assert pool.stats.sessions == {"ok": 2}
    assert places.opened == [1, 3]


async def test_session_that_was_cancelled_while_it_opened_leaves_no_place_taken() -> None:
    places = Places(1)

    async def slow(request: Json) -> Said:
        said = places(request)
        if request["op"] == "open":
            await asyncio.sleep(5)
        return said

    async with FakePods(answering(slow)) as pods, pods.pool() as pool:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hold(pool, 1, 1.0), 2)
        await hold(pool, 2, 1.0, wait_seconds=30)
    assert places.opened == [1, 2]


@pytest.mark.parametrize("kind", ["capacity", "not_isolated"])
async def test_wait_for_room_ends_with_the_reason(kind: str) -> None:
    async with FakePods(lying("open", refusal(kind))) as pods, pods.pool() as pool:
        with pytest.raises(NoCapacity, match=kind):
            await hold(pool, 1, 0, wait_seconds=3)
        assert pool.stats.sessions == {"no_capacity": 1}


async def test_no_pod_at_all_is_no_capacity() -> None:
    async with FakePods(None) as pods, pods.pool() as pool:
        with pytest.raises(NoCapacity, match="cannot be reached"):
            await hold(pool, 1, 0, wait_seconds=3)


async def test_draining_pod_is_left_for_another_and_keeps_its_sessions() -> None:
    draining = False
    old, new = Places(8), Places(8)

    def drains(request: Json) -> Said:
        if not draining:
            return old(request)
        old.claims = {"sessions": 1, "capacity": 0}
        return refusal("capacity") if request["op"] == "open" else old(request)

    async with (
        FakePods(answering(drains), None) as pods,
        pods.pool() as pool,
        pool.session("source", LIMITS, max_turns=1) as session,
    ):
        draining = True
        waiting = asyncio.create_task(hold(pool, 2, 0.1))
        await until(lambda: pool.stats.wanted == 1)
        pods.behaviours[1] = answering(new)
        await waiting
        assert (await session.step("x")).observation == "fine"
    assert (old.opened, new.opened) == ([1], [2])


async def test_pool_that_ends_ends_its_sessions() -> None:
    async with FakePods(honest()) as pods:
        async with pods.pool() as pool:
            context = pool.session("source", LIMITS, max_turns=1)
            session: SandboxSession = await context.__aenter__()
        with pytest.raises(Exception, match="closed"):
            await session.step("x")
        await context.__aexit__(None, None, None)
