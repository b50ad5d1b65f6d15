"""Cells in which strings hash otherwise: from a second zygote, started when one is asked for and stopped when idle.

Verification opens a program in one to see whether it depends on the order of its sets. PYTHONHASHSEED is a property of
a process from its start, so the first zygote cannot serve both.
"""

import asyncio

from spade_sandbox.pod.forking import Zygote, start_zygote
from spade_sandbox.pod.supervisor import Cell, PodBroken

OTHER_HASH_SEED = 1
IDLE_SECONDS = 60.0
PERIOD_SECONDS = 1.0


class OtherSeed:
    """The second zygote, while there is one."""

    def __init__(self) -> None:
        self._zygote: Zygote | None = None
        self._turn = asyncio.Lock()
        self._used_at = 0.0

    async def take(self) -> Cell:
        """A new cell. Raises PodBroken."""
        async with self._turn:
            zygote = self._zygote or await self._started()
            self._used_at = asyncio.get_running_loop().time()
            return await zygote.fork()

    async def run(self) -> None:
        """Stop the zygote when it has been idle; runs until cancelled. Raises PodBroken when it dies."""
        try:
            while True:
                await asyncio.sleep(PERIOD_SECONDS)
                async with self._turn:
                    self._look(asyncio.get_running_loop().time())
        finally:
            self._stop()

    async def _started(self) -> Zygote:
        zygote = self._zygote = start_zygote(OTHER_HASH_SEED)
        await zygote.ready()
        return zygote

    def _look(self, now: float) -> None:
        if self._zygote is None:
            return
        if self._zygote.broken.done():
            raise PodBroken("the second zygote died; the pod starts anew")
        if self._zygote.cells == 0 and now - self._used_at > IDLE_SECONDS:
            self._stop()

    def _stop(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
