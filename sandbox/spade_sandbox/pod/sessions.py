"""Live programs of a pod: one session, one cell; and the sources that have been uploaded."""

import asyncio
import hashlib
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import (
    MAX_TEXT_CHARACTERS,
    Answer,
    Fault,
    FaultKind,
    Open,
    Reset,
    SessionRequest,
    Solution,
    Step,
    fault,
)
from spade_sandbox.pod.supervisor import Cell, CellFault, Zygote

MAX_SOURCES_CHARACTERS = 32 * 2**20
"""Sources kept; the least recently used go first, and clients upload them again."""


class Sources:
    """Uploaded programs by SHA-256."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._characters = 0

    def put(self, sha256: str, source: str) -> bool:
        """Keep a source; False when the digest is not its own."""
        if hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest() != sha256:
            return False
        if sha256 not in self._texts:
            self._texts[sha256] = source
            self._characters += len(source)
        while self._characters > MAX_SOURCES_CHARACTERS:
            _, dropped = self._texts.popitem(last=False)
            self._characters -= len(dropped)
        return True

    def get(self, sha256: str) -> str | None:
        """The source, or None when it was never put or has been dropped."""
        if sha256 in self._texts:
            self._texts.move_to_end(sha256)
        return self._texts.get(sha256)


class Spares:
    """Cells forked ahead, so that an open need not wait for namespaces."""

    def __init__(self, zygote: Zygote, count: int) -> None:
        self._zygote = zygote
        self._count = count
        self._cells: deque[Cell] = deque()
        self._filling: asyncio.Task[None] | None = None

    async def take(self) -> Cell:
        """A spare, or a new cell. Raises PodBroken."""
        while self._cells:
            cell = self._cells.popleft()
            if not cell.ended.done():
                self.fill()
                return cell
        cell = await self._zygote.fork()
        self.fill()
        return cell

    def fill(self) -> None:
        """Begin to fork what is missing."""
        if self._filling is None or self._filling.done():
            self._filling = asyncio.get_running_loop().create_task(self._fill())

    async def _fill(self) -> None:
        while len(self._cells) < self._count and not self._zygote.broken.done():
            self._cells.append(await self._zygote.fork())


@dataclass(eq=False)
class Session:
    """One live program."""

    cell: Cell
    limits: SandboxLimits
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Operations of a session run one after the other, in the order of their arrival."""
    ended: Fault | None = None
    """The fault that ended it; it answers every later operation."""

    async def do(self, request: SessionRequest) -> Answer:
        """Run one operation. A fault of the program ends the session, and its cell is dead by then."""
        async with self.turn:
            if self.ended is not None:
                return Answer(id=request.id, error=self.ended)
            order = _order(request)
            if order is None:
                return fault(request.id, FaultKind.UNSUPPORTED, f"games have no operation {request.op}")
            reset = isinstance(request, Reset)
            deadline = self.limits.load_seconds if reset else self.limits.step_seconds
            try:
                answer = await self.cell.ask(order, deadline)
            except CellFault as error:
                self.ended = Fault(kind=error.kind, message=str(error))
                return Answer(id=request.id, error=self.ended)
            assert isinstance(answer, Answer)
            return Answer(id=request.id, ok=answer.ok)


async def load_program(cell: Cell, source: str, request: Open) -> Session:
    """Load a program into a cell. Raises CellFault, after which the cell is dead."""
    limits = request.limits
    cell.memory_bytes, cell.cpu_seconds = limits.memory_bytes, limits.cpu_seconds
    order: dict[str, Any] = {
        "op": "open",
        "source": source,
        "max_turns": request.max_turns,
        "text_characters": min(limits.observation_characters, MAX_TEXT_CHARACTERS),
        "limits": {
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": limits.cpu_seconds,
            "open_files": limits.open_files,
            "file_bytes": limits.file_bytes,
        },
    }
    await cell.ask(order, limits.load_seconds)
    return Session(cell, limits)


def _order(request: SessionRequest) -> dict[str, Any] | None:
    """What the cell is told; None for operations that games do not have."""
    match request:
        case Reset():
            return {"op": "reset", "seed": request.seed}
        case Step():
            return {"op": "step", "action": request.action}
        case Solution():
            return {"op": "solution"}
        case _:
            return None
