"""Cells forked ahead, so that an open need not wait for namespaces."""

import asyncio
from collections import deque

from spade_sandbox.pod.forking import Zygote
from spade_sandbox.pod.supervisor import Cell


class Spares:
    """Cells forked ahead, so that an open need not wait for namespaces."""

    def __init__(self, zygote: Zygote, count: int) -> None:
        self._zygote = zygote
        self._count = count
        self._cells: deque[Cell] = deque()
        self._filling: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        """Cells that wait for a program."""
        return sum(1 for cell in self._cells if not cell.ended.done())

    async def take(self) -> Cell:
        """A spare, or a new cell. Raises PodBroken."""
        while self._cells:
            cell = self._cells.popleft()
            if not cell.ended.done():
                self.fill()
                return cell
            await cell.destroy(None)
        cell = await self._zygote.fork()
        self.fill()
        return cell

    def fill(self) -> None:
        """Begin to fork what is missing."""
        if self._filling is None or self._filling.done():
            self._filling = asyncio.get_running_loop().create_task(self._fill())

    def close(self) -> None:
        """Fork no more. Those that wait end with their zygote."""
        if self._filling is not None:
            self._filling.cancel()

    async def _fill(self) -> None:
        while len(self._cells) < self._count and not self._zygote.broken.done():
            self._cells.append(await self._zygote.fork())
