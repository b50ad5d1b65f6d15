"""Deadlines of all open questions of a pod, or of a worker to one, kept by one timer.

A timer for each step would be heap work on code and memory that are cold at every step; here a step writes a number.
"""

import asyncio
from collections.abc import Callable

TICK_SECONDS = 0.05
"""A deadline passes by at most so much unnoticed, where the loop is not held up."""


class Deadlines:
    """One deadline for each key. The timer runs only while there are any."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._set: dict[object, tuple[float, Callable[[], None]]] = {}
        self.ticking = False
        """Whether the timer runs."""

    def set(self, key: object, seconds: float, passed: Callable[[], None]) -> None:
        """Call `passed` once when so many seconds have gone, unless it is cleared or set anew."""
        self._set[key] = self._loop.time() + seconds, passed
        if not self.ticking:
            self.ticking = True
            self._loop.call_later(TICK_SECONDS, self._tick)

    def clear(self, key: object) -> None:
        """Forget this one; clearing what is not set is no error."""
        self._set.pop(key, None)

    def _tick(self) -> None:
        now = self._loop.time()
        for key, (at, passed) in tuple(self._set.items()):
            if at <= now and self._set.get(key) == (at, passed):  # what passes may clear others
                del self._set[key]
                passed()
        self.ticking = bool(self._set)
        if self.ticking:
            self._loop.call_later(TICK_SECONDS, self._tick)
