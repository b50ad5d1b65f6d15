"""Deadlines by one timer: each passes once, in its time, unless it was cleared or set anew."""

import asyncio

import looptime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.deadlines import TICK_SECONDS, Deadlines

pytestmark = pytest.mark.looptime
SECONDS = st.floats(0.0, 5.0)


@given(st.lists(SECONDS, max_size=8))
def test_each_deadline_passes_once_and_at_most_a_tick_late(wanted: list[float]) -> None:
    async def passing() -> dict[int, list[float]]:
        loop = asyncio.get_running_loop()
        deadlines, seen, began = Deadlines(), dict[int, list[float]](), loop.time()
        for key, seconds in enumerate(wanted):
            seen[key] = []
            deadlines.set(key, seconds, lambda key=key: seen[key].append(loop.time() - began))
        await asyncio.sleep(max(wanted, default=0) + 3 * TICK_SECONDS)
        return seen

    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        seen = runner.run(passing())
    for key, times in seen.items():
        assert len(times) == 1
        assert wanted[key] <= times[0] <= wanted[key] + 1.01 * TICK_SECONDS


async def test_cleared_deadline_does_not_pass() -> None:
    deadlines, seen = Deadlines(), list[str]()
    deadlines.set("kept", 1.0, lambda: seen.append("kept"))
    deadlines.set("cleared", 1.0, lambda: seen.append("cleared"))
    deadlines.clear("cleared")
    deadlines.clear("never set")
    await asyncio.sleep(2.0)
    assert seen == ["kept"]


async def test_deadline_set_anew_passes_at_the_later_time() -> None:
    loop = asyncio.get_running_loop()
    deadlines, seen, began = Deadlines(), list[float](), loop.time()
    deadlines.set("one", 1.0, lambda: seen.append(loop.time() - began))
    deadlines.set("one", 3.0, lambda: seen.append(loop.time() - began))
    await asyncio.sleep(5.0)
    assert len(seen) == 1
    assert 3.0 <= seen[0] <= 3.0 + 2 * TICK_SECONDS


async def test_what_passes_may_clear_and_set_others() -> None:
    deadlines, seen = Deadlines(), list[str]()

    def first() -> None:
        seen.append("first")
        deadlines.clear("second")
        deadlines.set("third", 1.0, lambda: seen.append("third"))

    deadlines.set("first", 1.0, first)
    deadlines.set("second", 1.0, lambda: seen.append("second"))
    await asyncio.sleep(5.0)
    assert seen == ["first", "third"]


async def test_timer_rests_while_nothing_is_open() -> None:
    deadlines = Deadlines()
    deadlines.set("one", 0.1, lambda: None)
    await asyncio.sleep(1.0)
    assert not deadlines.ticking
    deadlines.set("two", 0.1, lambda: None)
    assert deadlines.ticking
