"""A signal lets the work clean up and decides the exit code."""

import asyncio
import os
import signal

import pytest

from spade_cli import main
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


def test_interrupt_outside_of_a_command_ends_with_130_and_no_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "app", interrupted)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")
