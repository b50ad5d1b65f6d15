"""A link sends no more than its bound ahead of answers; who waits is let in by order of arrival."""

import asyncio

import pytest
from tests.support.fake_pods import FakePods, Json, Said, Truth, answering

from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client.gate import Gate
from spade_sandbox.client.link import MAX_BYTES_IN_FLIGHT, MAX_REQUESTS_IN_FLIGHT

pytestmark = pytest.mark.looptime


async def entering(gate: Gate, sizes: list[int]) -> tuple[list[int], list["asyncio.Task[None]"]]:
    """Tasks that enter in this order, and the positions of those that are inside."""
    inside: list[int] = []

    async def enter(position: int, size: int) -> None:
        await gate.enter(size)
        inside.append(position)

    tasks = [asyncio.create_task(enter(position, size)) for position, size in enumerate(sizes)]
    await asyncio.sleep(0.1)
    return inside, tasks


async def test_no_more_requests_are_inside_than_the_bound() -> None:
    gate = Gate(2, 100)
    inside, _ = await entering(gate, [1, 1, 1, 1])
    assert inside == [0, 1]
    gate.leave(1)
    await asyncio.sleep(0.1)
    assert inside == [0, 1, 2]


async def test_no_more_bytes_are_inside_than_the_bound_and_nobody_overtakes() -> None:
    gate = Gate(10, 100)
    inside, _ = await entering(gate, [60, 60, 1])
    assert inside == [0], "the small one waits behind the large one"
    gate.leave(60)
    await asyncio.sleep(0.1)
    assert inside == [0, 1, 2]


async def test_request_larger_than_all_the_room_goes_alone() -> None:
    gate = Gate(10, 100)
    inside, _ = await entering(gate, [1, 1000, 1])
    assert inside == [0]
    gate.leave(1)
    await asyncio.sleep(0.1)
    assert inside == [0, 1]
    gate.leave(1000)
    await asyncio.sleep(0.1)
    assert inside == [0, 1, 2]


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    gate = Gate(10, 100)
    inside, tasks = await entering(gate, [60, 60, 40])
    tasks[1].cancel()
    await asyncio.sleep(0.1)
    assert inside == [0, 2]


async def test_room_that_was_given_and_not_wanted_any_more_goes_to_the_next() -> None:
    gate = Gate(1, 100)
    inside, tasks = await entering(gate, [1, 1, 1])
    gate.leave(1)
    tasks[1].cancel()
    await asyncio.sleep(0.1)
    assert inside == [0, 2]


async def test_who_comes_while_one_that_waited_is_being_let_in_goes_behind_it() -> None:
    gate = Gate(2, 100)
    inside, _ = await entering(gate, [1, 1, 1])
    gate.leave(1)
    gate.leave(1)
    assert not gate.enter_now(1), "there is room, but the third has not gone in yet"
    await asyncio.sleep(0.1)
    assert inside == [0, 1, 2]
    assert gate.enter_now(1)


class Counting:
    """A pod that answers steps only when it is told to, and counts what lies unanswered."""

    def __init__(self) -> None:
        self.steps = self.bytes = self.most_steps = self.most_bytes = 0
        self.open = asyncio.Event()
        self._truth = Truth({"sessions": 0, "capacity": 1000})

    async def __call__(self, request: Json) -> Said:
        if request["op"] == "step":
            size = len(request["action"])
            self.steps += 1
            self.bytes += size
            self.most_steps, self.most_bytes = max(self.most_steps, self.steps), max(self.most_bytes, self.bytes)
            await self.open.wait()
            self.steps -= 1
            self.bytes -= size
        return self._truth(request)


@pytest.mark.parametrize(("sessions", "characters"), [(MAX_REQUESTS_IN_FLIGHT + 40, 1), (40, 500_000)])
async def test_slow_pod_is_sent_no_more_than_the_bound(sessions: int, characters: int) -> None:
    counting = Counting()
    limits = SandboxLimits(action_characters=500_000)
    async with FakePods(answering(counting)) as pods, pods.pool() as pool:

        async def one() -> None:
            async with pool.session("source", limits, max_turns=5) as session:
                await session.step("x" * characters)

        tasks = [asyncio.create_task(one()) for _ in range(sessions)]
        await asyncio.sleep(5)
        assert counting.most_steps <= MAX_REQUESTS_IN_FLIGHT
        assert counting.most_bytes <= MAX_BYTES_IN_FLIGHT
        assert max(counting.most_steps / MAX_REQUESTS_IN_FLIGHT, counting.most_bytes / MAX_BYTES_IN_FLIGHT) > 0.9
        counting.open.set()
        await asyncio.gather(*tasks)
        assert pool.stats.sessions == {"ok": sessions}
