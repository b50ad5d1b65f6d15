"""Each key has at most one pass at a time, is never forgotten, and a failing key delays nobody else."""

import asyncio

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from spade_operator.queue import CALM_EVERY, MAX_BACKOFF_SECONDS, MAX_REST_SECONDS, WorkQueue, backoff_seconds


async def test_key_added_twice_is_handed_out_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("a")
    assert await queue.get() == "a"
    assert len(queue) == 0


async def test_key_added_during_its_pass_is_handed_out_after_it_and_not_before() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await queue.get() == "a"


@given(st.lists(st.floats(0.0, 0.003), min_size=2, max_size=6))
def test_the_operators_event_loop_takes_wakes_that_are_almost_due(waits: list[float]) -> None:
    async def handed_out() -> str:
        queue: WorkQueue[str] = WorkQueue()
        for seconds in waits:
            queue.add_after("a", seconds)
        return await asyncio.wait_for(queue.get(), 10)

    assert uvloop.run(handed_out()) == "a"


@pytest.mark.looptime
async def test_failing_key_waits_alone() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("bad")
    queue.add("good")
    assert await queue.get() == "bad"
    queue.done("bad", failed=True)
    queue.add("bad")
    assert await queue.get() == "good"
    queue.done("good")
    assert len(queue) == 0, "an event does not cut the back-off short"
    began = asyncio.get_running_loop().time()
    assert await queue.get() == "bad"
    assert asyncio.get_running_loop().time() - began == pytest.approx(backoff_seconds(1))


@pytest.mark.looptime
async def test_success_makes_the_next_back_off_short_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for failed in (True, True, True, False):
        queue.add_after("a", 0)
        await queue.get()
        queue.done("a", failed=failed)
    assert queue.failures("a") == 0


@pytest.mark.looptime
async def test_earliest_of_several_wakes_counts() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 50)
    queue.add_after("a", 5)
    queue.add_after("a", 500)
    began = asyncio.get_running_loop().time()
    await queue.get()
    assert asyncio.get_running_loop().time() - began == pytest.approx(5)


@given(st.integers(1, 200))
def test_back_off_grows_up_to_its_bound(failures: int) -> None:
    assert backoff_seconds(failures) <= backoff_seconds(failures + 1) <= MAX_BACKOFF_SECONDS


@given(st.lists(st.sampled_from("abc"), max_size=30))
async def test_no_key_that_was_added_is_lost(added: list[str]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    handed: list[str] = []
    for key in added:
        queue.add(key)
    while len(queue):
        handed.append(await queue.get())
        queue.done(handed[-1])
    assert sorted(handed) == sorted(set(added))


async def idle_pass(queue: WorkQueue[str]) -> float:
    """Make one pass of the next key that finds nothing to do; when it began."""
    key = await queue.get()
    queue.done(key, idle=True)
    return asyncio.get_running_loop().time()


@pytest.mark.looptime
async def test_burst_of_events_that_mean_nothing_costs_few_passes() -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop, passes = asyncio.get_running_loop(), 0
    began = loop.time()

    async def make_passes() -> None:
        nonlocal passes
        while True:
            await idle_pass(queue)
            passes += 1

    task = asyncio.create_task(make_passes())
    for _ in range(1000):
        queue.add("a")
        await asyncio.sleep(0.01)
    task.cancel()
    assert passes <= 4 + (loop.time() - began) / MAX_REST_SECONDS + 1


@pytest.mark.looptime
async def test_event_amid_a_burst_waits_no_longer_than_the_longest_rest_and_delays_no_other_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(20):
        queue.add("a")
        last = await idle_pass(queue)
        queue.add("a")
        queue.add("b")
        assert await queue.get() == "b"
        assert asyncio.get_running_loop().time() == last
        queue.done("b")
        assert await idle_pass(queue) - last <= MAX_REST_SECONDS + 0.001


@pytest.mark.looptime
async def test_event_after_a_pass_that_did_something_or_after_a_rest_is_handed_out_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop = asyncio.get_running_loop()
    queue.add("a")
    await idle_pass(queue)
    queue.add("a")
    await queue.get()
    queue.done("a")
    began = loop.time()
    queue.add("a")
    assert await idle_pass(queue) == began
    await asyncio.sleep(MAX_REST_SECONDS)
    began = loop.time()
    queue.add("a")
    assert await idle_pass(queue) == began


@pytest.mark.looptime
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans(), st.booleans()), max_size=20))
async def test_no_event_is_lost_to_a_rest(events: list[tuple[str, bool, bool, bool]]) -> None:
    """Each: the key, whether its pass is idle, whether it fails, and whether an event comes during the pass."""
    queue: WorkQueue[str] = WorkQueue()
    for key, idle, failed, during in events:
        queue.add(key)
        while (got := await queue.get()) != key:
            queue.done(got)
        if during:
            queue.add(key)
        queue.done(key, idle=idle and not failed, failed=failed)
        if during or failed:
            while (got := await queue.get()) != key:
                queue.done(got)
            queue.done(key)
    queue.close()


async def test_news_comes_before_keys_of_which_nothing_is_new() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "abcdefghijkl":
        queue.add_calmly(key)
    assert await queue.get() == "a", "nobody else was there"
    for key in "xyz":
        queue.add(key)
    assert [await queue.get() for _ in range(4)] == ["x", "y", "z", "b"]


async def test_news_of_a_key_without_news_moves_it_ahead_and_is_one_pass() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_calmly("a")
    queue.add_calmly("b")
    queue.add("b")
    queue.add_calmly("b")
    assert [await queue.get() for _ in range(2)] == ["b", "a"]
    assert len(queue) == 0


async def test_busy_queue_forgets_no_key_without_news() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_calmly("calm")
    for _ in range(2 * CALM_EVERY):
        queue.add("busy")
        key = await queue.get()
        if key == "calm":
            return
        queue.done(key)
    pytest.fail("it was never handed out")


async def test_key_without_news_waits_for_the_end_of_its_pass() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()
    queue.add_calmly("a")
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.done("a")
    assert await asyncio.wait_for(waiting, 30) == "a"


@pytest.mark.looptime
async def test_failing_key_waits_though_it_is_asked_for_without_news() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("bad")
    await queue.get()
    queue.add_calmly("bad")
    queue.done("bad", failed=True)
    queue.add_calmly("bad")
    began = asyncio.get_running_loop().time()
    assert await queue.get() == "bad"
    assert asyncio.get_running_loop().time() - began == pytest.approx(backoff_seconds(1))


async def test_news_of_first_keys_comes_before_that_of_others() -> None:
    queue: WorkQueue[str] = WorkQueue(first=str.isupper)
    for key in "abAcB":
        queue.add(key)
    queue.add_calmly("C")
    assert len(queue) == 6
    assert "".join([await queue.get() for _ in range(6)]) == "ABabcC"
