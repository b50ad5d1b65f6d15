"""Operations begun together: however many and slow they are, they lose nothing and crowd nobody out."""

import asyncio

import pytest
from tests.support.fake_pods import FakePods, Json, Said, Truth, answering

from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client.errors import SandboxLost
from spade_sandbox.client.session import MAX_UNDER_WAY

pytestmark = pytest.mark.looptime

LIMITS = SandboxLimits()
BEGUN = 300


class OneByOne:
    """A pod that takes its time for each step of a session, and counts those that wait for it."""

    def __init__(self, step_seconds: float) -> None:
        self.most_waiting = 0
        self.done = 0
        self._waiting = 0
        self._step_seconds = step_seconds
        self._turns: dict[object, asyncio.Lock] = {}
        self._truth = Truth({"sessions": 0, "capacity": 1000})

    async def __call__(self, request: Json) -> Said:
        if request["op"] == "step" and request["action"] == "slow":
            self._waiting += 1
            self.most_waiting = max(self.most_waiting, self._waiting)
            async with self._turns.setdefault(request["session"], asyncio.Lock()):
                await asyncio.sleep(self._step_seconds)
            self._waiting -= 1
            self.done += 1
        return self._truth(request)


async def test_steps_that_each_keep_their_limit_are_all_done_however_long_they_take_together() -> None:
    slow = OneByOne(LIMITS.step_seconds * 0.9)
    async with FakePods(answering(slow)) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            await asyncio.gather(*(session.step("slow") for _ in range(BEGUN)))
        assert pool.stats.sessions == {"ok": 1}
    assert slow.done == BEGUN
    assert slow.most_waiting == MAX_UNDER_WAY


async def test_step_of_another_session_does_not_wait_for_them() -> None:
    slow = OneByOne(LIMITS.step_seconds * 0.9)
    async with (
        FakePods(answering(slow)) as pods,
        pods.pool() as pool,
        pool.session("source", LIMITS, max_turns=5) as session,
        pool.session("source", LIMITS, max_turns=5) as other,
    ):
        begun = asyncio.gather(*(session.step("slow") for _ in range(BEGUN)))
        await asyncio.sleep(1)
        await other.step("x")
        assert slow.done == 0
        await begun


async def test_session_that_is_closed_before_they_are_done_ends_them_and_gives_its_place_back() -> None:
    slow = OneByOne(LIMITS.step_seconds * 0.9)
    async with FakePods(answering(slow)) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            begun = asyncio.gather(*(session.step("slow") for _ in range(BEGUN)), return_exceptions=True)
            await asyncio.sleep(1)
        assert pool.stats.sessions == {"ok": 1}
        ended = await begun
        assert all(isinstance(error, SandboxLost) for error in ended[MAX_UNDER_WAY:])
        assert slow.done <= MAX_UNDER_WAY
