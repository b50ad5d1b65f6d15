"""Keeps kopf's watches going. kopf ends all of them at the first error that is not a version too old, or a lost
connection: at an error of the server's own in a stream, or when a list is refused for longer than its attempts last.

The store of facts outlives that, so the operator goes on with what it knows and watches again after a pause; what it
missed is listed then. What does not heal in a few tries ends the process, where everybody sees it.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable

MAX_FAILURES = 6
"""So many in a row, each soon after the watches began, end the process."""
HEALTHY_SECONDS = 60.0
"""Watches that lived for so long were in order, and their end is the first failure again."""
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 30.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
log = logging.getLogger("spade.watches")


def pause_seconds(failures: int) -> float:
    """How long after a failure, the first being 1, the watches begin again."""
    return float(min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (failures - 1)))


async def keep_watching(
    watch: Callable[[], Awaitable[None]],
    catch_up: Callable[[], Awaitable[None]],
    pause: Callable[[int], float] = pause_seconds,
) -> None:
    """Watch until a signal asks to stop. `catch_up` looks at everything once, after a gap.

    Raises what `watch` raised after MAX_FAILURES in a row.
    """
    loop, failures = asyncio.get_running_loop(), 0
    while True:
        began = loop.time()
        try:
            await watch()
        except Exception as error:
            # kopf's errors have no common class. Each is told, and the last of a row is raised.
            failures = 1 if loop.time() - began >= HEALTHY_SECONDS else failures + 1
            if failures >= MAX_FAILURES:
                raise
            seconds = pause(failures)
            log.error(
                "the watches ended (%s: %s), failure %d in a row; they begin again in %.0f s",
                type(error).__name__, error, failures, seconds,
            )  # fmt: skip
        else:
            return
        asked = _stop_signals(loop)
        if await _within(seconds, asked):
            return
        await catch_up()
        if asked.is_set():
            return


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def _stop_signals(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """Set when a signal asks to stop: kopf's own handlers serve the watches that ended, and those of the next ones,
    which replace these, are not there yet.
    """
    asked = asyncio.Event()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, asked.set)
    return asked
