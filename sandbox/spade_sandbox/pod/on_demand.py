"""Cells of a kind that few programs need: from a zygote of their own, started when one is asked for, stopped when idle.

PYTHONHASHSEED and what is imported are properties of a process from its start, so one zygote cannot serve all.
"""

import asyncio
from dataclasses import dataclass

from spade_sandbox.pod.forking import CellKind, Zygote, start_zygote
from spade_sandbox.pod.spares import Spares
from spade_sandbox.pod.supervisor import Cell, PodBroken

PERIOD_SECONDS = 1.0


@dataclass(frozen=True)
class Habits:
    """How a kind of cells is kept."""

    kind: CellKind
    spares: int
    idle_seconds: float


OTHER_HASH_SEED = Habits(CellKind(hash_seed=1, numpy=True), spares=0, idle_seconds=60.0)
"""Verification opens a program in one to see whether it depends on the order of its sets."""
WITH_NUMPY = Habits(CellKind(numpy=True), spares=1, idle_seconds=600.0)
"""For programs that name numpy, whose objects alone are a third of a cell's memory."""


class OnDemand:
    """One such zygote, while there is one."""

    def __init__(self, habits: Habits) -> None:
        self._habits = habits
        self._running: tuple[Zygote, Spares] | None = None
        self._turn = asyncio.Lock()
        self._used_at = 0.0

    async def take(self) -> Cell:
        """A new cell. Raises PodBroken."""
        async with self._turn:
            _, spares = self._running or await self._started()
            self._used_at = asyncio.get_running_loop().time()
            return await spares.take()

    async def run(self) -> None:
        """Stop the zygote when it has been idle; runs until cancelled. Raises PodBroken when it dies."""
        try:
            while True:
                await asyncio.sleep(PERIOD_SECONDS)
                async with self._turn:
                    self._look(asyncio.get_running_loop().time())
        finally:
            self._stop()

    async def _started(self) -> tuple[Zygote, Spares]:
        zygote = start_zygote(self._habits.kind)
        self._running = zygote, Spares(zygote, self._habits.spares)
        await zygote.ready()
        return self._running

    def _look(self, now: float) -> None:
        if self._running is None:
            return
        zygote, spares = self._running
        if zygote.broken.done():
            raise PodBroken("a zygote that was started on demand died; the pod starts anew")
        if zygote.cells <= spares.held and now - self._used_at > self._habits.idle_seconds:
            self._stop()

    def _stop(self) -> None:
        if self._running is not None:
            zygote, spares = self._running
            self._running = None
            spares.close()
            zygote.close()
