"""The work queue: each key at most once at a time, late wakes, and longer and longer waits for keys that fail.

A key added while its pass runs is handed out again after that pass. A failing key waits alone: no other key is
delayed by it.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

FIRST_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 30.0

Key = TypeVar("Key", bound=Hashable)


def backoff_seconds(failures: int) -> float:
    """Wait after so many failures in a row: doubles from a quarter of a second to half a minute."""
    return float(min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(failures - 1, 20)))


class WorkQueue(Generic[Key]):
    """Keys that want a pass. Used from one event loop only."""

    def __init__(self) -> None:
        self._ready: deque[Key] = deque()
        self._waiting: set[Key] = set()
        """Keys in `_ready`, or to be put there when their pass ends."""
        self._running: set[Key] = set()
        self._wakes: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._arrival = asyncio.Event()

    def add(self, key: Key) -> None:
        """Ask for a pass as soon as possible; a key that is backing off waits its turn."""
        if key in self._waiting or (key in self._failures and key in self._wakes):
            return
        self._waiting.add(key)
        if key not in self._running:
            self._ready.append(key)
            self._arrival.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """Ask for a pass in so many seconds; an earlier wake that is already set stays."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        known = self._wakes.get(key)
        if known is not None:
            if known.when() <= at:
                return
            known.cancel()
        self._wakes[key] = loop.call_at(at, self._wake, key)

    def _wake(self, key: Key) -> None:
        self._wakes.pop(key, None)
        self.add(key)

    async def get(self) -> Key:
        """The next key; its pass has begun and ends with `done`."""
        while not self._ready:
            self._arrival.clear()
            await self._arrival.wait()
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._running.add(key)
        return key

    def done(self, key: Key, *, failed: bool = False) -> None:
        """The pass ended. A failed one is repeated after its back-off."""
        self._running.discard(key)
        if failed:
            self._failures[key] = self._failures.get(key, 0) + 1
        else:
            self._failures.pop(key, None)
        again = key in self._waiting
        self._waiting.discard(key)
        if failed:
            self.add_after(key, backoff_seconds(self._failures[key]))
        elif again:
            self.add(key)

    def failures(self, key: Key) -> int:
        """Failed passes of a key in a row."""
        return self._failures.get(key, 0)

    def __len__(self) -> int:
        """Keys that are ready."""
        return len(self._ready)

    def close(self) -> None:
        """Cancel all late wakes."""
        for handle in self._wakes.values():
            handle.cancel()
        self._wakes.clear()
