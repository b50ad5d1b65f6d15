"""Work that a signal ends in order: what it started is stopped before the command exits."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end and return the exit code; after a signal cancel the work, wait for it, return 128 + its number."""
    return asyncio.run(_watched(work))


async def _watched(work: Coroutine[Any, Any, int]) -> int:
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    seen: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if not seen:  # a second signal must not cut the stopping short
            task.cancel()
        seen.append(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not seen:
            raise
        return 128 + seen[0]
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
