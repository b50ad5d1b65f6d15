"""The work queue: each key at most once at a time, late wakes, and longer and longer waits for keys that fail.

A key added while its pass runs is handed out again after that pass. A failing key waits alone: no other key is
delayed by it. A key whose passes find nothing to do rests a little after each, longer after several in a row, so that
a burst of events that mean nothing to it, such as those of its many pods' starts, costs few passes. What comes after a
rest, or after a pass that did something, is handed out at once. Keys of which nothing is known to have changed are
handed out when no other key is ready, so that looking at everything again delays no news. Some keys can come first
among those with news: few, and with short passes.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

FIRST_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 30.0
FIRST_REST_SECONDS = 0.05
MAX_REST_SECONDS = 0.4
"""What is news of something is acted on so late at most, if it comes amid events that are not."""
FORGET_SECONDS = 2.0
"""A key that was left alone for so long after its rest begins with the first one again."""
CALM_EVERY = 8
"""One of so many passes is for a key without news, though others are ready: a busy queue forgets none."""

Key = TypeVar("Key", bound=Hashable)


def backoff_seconds(failures: int) -> float:
    """Wait after so many failures in a row: doubles from a quarter of a second to half a minute."""
    return float(min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(failures - 1, 20)))


@dataclass(frozen=True, slots=True)
class _Rest:
    """A rest after an idle pass, in the loop's time."""

    until: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Wake:
    """A late wake, in the loop's time. The handle itself need not know when: uvloop's does not, if it is soon."""

    at: float
    handle: asyncio.Handle


class WorkQueue(Generic[Key]):
    """Keys that want a pass. Used from one event loop only."""

    def __init__(self, first: Callable[[Key], bool] = lambda key: False) -> None:
        """`first`: whether news of a key come before those of others."""
        self._is_first = first
        self._first: deque[Key] = deque()
        self._ready: deque[Key] = deque()
        self._calm: OrderedDict[Key, None] = OrderedDict()
        """Keys without news, in order."""
        self._passes = 0
        self._waiting: set[Key] = set()
        """Keys in `_first` or `_ready`, or to be put there when their pass ends."""
        self._running: set[Key] = set()
        self._wakes: dict[Key, _Wake] = {}
        self._failures: dict[Key, int] = {}
        self._rests: OrderedDict[Key, _Rest] = OrderedDict()
        """Those that ended longest ago first, as far as that matters for forgetting them."""
        self._arrival = asyncio.Event()

    def add(self, key: Key) -> None:
        """Ask for a pass as soon as possible; a key that is backing off or rests waits its turn."""
        if key in self._waiting or self._backs_off(key):
            return
        rest = self._rests.get(key)
        if rest is not None and key not in self._running:
            left = rest.until - asyncio.get_running_loop().time()
            if left > 0:
                self.add_after(key, left)
                return
        self._waiting.add(key)
        self._calm.pop(key, None)
        if key not in self._running:
            (self._first if self._is_first(key) else self._ready).append(key)
            self._arrival.set()

    def add_calmly(self, key: Key) -> None:
        """Ask for a pass when there is nothing else to do: nothing is known to have happened."""
        if key in self._waiting or self._backs_off(key):
            return
        self._calm[key] = None
        self._arrival.set()

    def _backs_off(self, key: Key) -> bool:
        return key in self._failures and key in self._wakes

    def add_after(self, key: Key, seconds: float) -> None:
        """Ask for a pass in so many seconds; an earlier wake that is already set stays."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        known = self._wakes.get(key)
        if known is not None:
            if known.at <= at:
                return
            known.handle.cancel()
        self._wakes[key] = _Wake(at, loop.call_at(at, self._wake, key))

    def _wake(self, key: Key) -> None:
        self._wakes.pop(key, None)
        self.add(key)

    async def get(self) -> Key:
        """The next key; its pass has begun and ends with `done`."""
        while (key := self._next()) is None:
            self._arrival.clear()
            await self._arrival.wait()
        self._passes += 1
        self._waiting.discard(key)
        self._running.add(key)
        return key

    def _next(self) -> Key | None:
        """A ready key, or else one without news that has no pass at the moment."""
        ready = self._first or self._ready
        calm = next((key for key in self._calm if key not in self._running), None)
        if calm is not None and (not ready or (self._passes + 1) % CALM_EVERY == 0):
            del self._calm[calm]
            return calm
        return ready.popleft() if ready else None

    def done(self, key: Key, *, failed: bool = False, idle: bool = False) -> None:
        """The pass ended. A failed one is repeated after its back-off; after an idle one, which did nothing, the key
        rests.
        """
        self._running.discard(key)
        self._rest(key, idle=idle)
        if failed:
            self._failures[key] = self._failures.get(key, 0) + 1
        else:
            self._failures.pop(key, None)
        again = key in self._waiting
        self._waiting.discard(key)
        if failed:
            self._calm.pop(key, None)
            self.add_after(key, backoff_seconds(self._failures[key]))
        elif again:
            self.add(key)
        elif key in self._calm:
            self._arrival.set()

    def _rest(self, key: Key, *, idle: bool) -> None:
        before = self._rests.pop(key, None)
        if not idle:
            return
        now = asyncio.get_running_loop().time()
        again = before is not None and now < before.until + FORGET_SECONDS
        seconds = min(MAX_REST_SECONDS, 2 * before.seconds) if before is not None and again else FIRST_REST_SECONDS
        self._rests[key] = _Rest(now + seconds, seconds)
        while now >= next(iter(self._rests.values())).until + FORGET_SECONDS:
            self._rests.popitem(last=False)

    def failures(self, key: Key) -> int:
        """Failed passes of a key in a row."""
        return self._failures.get(key, 0)

    def __len__(self) -> int:
        """Keys that are ready, those without news among them."""
        return len(self._first) + len(self._ready) + len(self._calm)

    def close(self) -> None:
        """Cancel all late wakes."""
        for wake in self._wakes.values():
            wake.handle.cancel()
        self._wakes.clear()
