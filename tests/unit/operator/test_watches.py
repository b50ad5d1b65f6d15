"""Watches that fail begin again, later each time; only what does not heal, or a signal, ends them."""

import asyncio
import os
import signal

import pytest

from spade_operator.watches import MAX_FAILURES, MAX_PAUSE_SECONDS, keep_watching, pause_seconds


class Watches:
    """Fails so many times, then ends as kopf does when it is told to stop."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.told: list[str] = []

    async def watch(self) -> None:
        self.told.append("watch")
        if self.failures:
            self.failures -= 1
            raise ValueError("Error in the watch-stream")

    async def catch_up(self) -> None:
        self.told.append("list")

    async def kept(self) -> list[str]:
        await keep_watching(self.watch, self.catch_up, lambda failures: 0.0)
        return self.told


async def test_what_was_missed_is_listed_before_the_watches_begin_again() -> None:
    assert await Watches(2).kept() == ["watch", "list", "watch", "list", "watch"]


async def test_watches_that_never_heal_end_the_operator() -> None:
    watches = Watches(MAX_FAILURES)
    with pytest.raises(ValueError, match="watch-stream"):
        await watches.kept()
    assert watches.told.count("watch") == MAX_FAILURES


async def test_signal_in_the_pause_is_heard() -> None:
    watches = Watches(1)
    loop = asyncio.get_running_loop()

    def stopped_meanwhile(failures: int) -> float:
        loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)
        return 3600.0

    async with asyncio.timeout(20):
        await keep_watching(watches.watch, watches.catch_up, stopped_meanwhile)
    assert watches.told == ["watch"]


def test_pauses_grow_to_a_bound() -> None:
    pauses = [pause_seconds(failures) for failures in range(1, 10)]
    assert pauses == sorted(pauses)
    assert pauses[0] > 0
    assert pauses[-1] == MAX_PAUSE_SECONDS
