"""Each key has at most one pass at a time, is never forgotten, and a failing key delays nobody else."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_operator.queue import MAX_BACKOFF_SECONDS, WorkQueue, backoff_seconds


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
