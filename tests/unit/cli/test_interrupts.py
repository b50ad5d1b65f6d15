"""A signal lets the work clean up and decides the exit code."""

import asyncio
import os
import signal

import pytest

from spade_cli.interrupts import SIGNALS, run_until_signal


def test_work_that_ends_by_itself_gives_its_own_code() -> None:
    async def work() -> int:
        return 3

    assert run_until_signal(work()) == 3


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_cancels_the_work_and_waits_for_its_cleaning_up(number: signal.Signals) -> None:
    cleaned: list[str] = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(60)
        finally:
            os.kill(os.getpid(), number)  # impatience changes nothing
            await asyncio.sleep(0.01)
            cleaned.append("all")
        return 0

    assert run_until_signal(work()) == 128 + number
    assert cleaned == ["all"]


def test_errors_of_the_work_come_through() -> None:
    async def work() -> int:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        run_until_signal(work())
