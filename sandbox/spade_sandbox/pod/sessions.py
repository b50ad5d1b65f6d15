"""Live programs of a pod: one session, one cell; and the sources that have been uploaded."""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import (
    MAX_ERROR_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    Answer,
    Call,
    Fault,
    FaultKind,
    Limit,
    Message,
    Open,
    Reset,
    SessionRequest,
    Step,
    Tools,
    fault,
)
from spade_sandbox.pod.supervisor import Cell, CellBounds

MAX_SOURCES_CHARACTERS = 32 * 2**20
"""Sources kept; the least recently used go first, and clients upload them again."""
ORDERS_AHEAD = 16
"""Operations of one session that its cell is told before it has done the first."""


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


@dataclass(eq=False)
class Session:
    """One live program."""

    cell: Cell
    limits: SandboxLimits
    domain: Domain
    answered: "Callable[[Session, bytes], None]"
    """Called once for each operation, with the text of its answer."""
    background: Callable[[Coroutine[Any, Any, None]], object]
    """Runs what must be waited for; its failure breaks the pod."""
    ended: Fault | None = None
    """The fault that ended it; it answers every later operation."""
    _waiting: deque[SessionRequest] = field(default_factory=deque)
    """Operations of a session run one after the other, in the order of their arrival; the first one is under way."""
    _asked: int = 0
    """How many of them the cell has been told, which are the first."""
    _is_ending: bool = False

    def do(self, request: SessionRequest) -> None:
        """Run one operation and answer it. A fault of the program ends the session and its cell."""
        self._waiting.append(request)
        self._go_on()

    def _go_on(self) -> None:
        """Tell the cell some operations ahead: then it need not be woken for each.

        What the cell need not be asked is answered when its turn has come.
        """
        while self._asked < min(len(self._waiting), ORDERS_AHEAD) and not self._is_ending:
            request = self._waiting[self._asked]
            refusal = self._refusal(request)
            if refusal is None:
                self._asked += 1
                deadline = self.limits.load_seconds if isinstance(request, Reset) else self.limits.step_seconds
                self.cell.ask_soon(_order(request), deadline, self._heard)
                continue
            if self._asked:
                return
            try:
                self.answered(self, to_json(refusal))
            finally:
                self._waiting.popleft()

    def _refusal(self, request: SessionRequest) -> Answer | None:
        """The answer to what the cell need not be asked."""
        if self.ended is not None:
            return Answer(id=request.id, error=self.ended)
        if self.domain is not Domain.TOOLS and isinstance(request, Tools | Call):
            return fault(request.id, FaultKind.UNSUPPORTED, f"games have no operation {request.op}")
        if isinstance(request, Step) and len(request.action) > self.limits.action_characters:
            message = f"the action has more than {self.limits.action_characters} characters; cut it"
            return fault(request.id, FaultKind.BAD_REQUEST, message, Limit.ACTION)
        return None

    def _heard(self, answer: Answer | None) -> None:
        if answer is None:
            self._is_ending = True
            self.background(self._end())
        else:
            self._asked -= 1
            self._finish(result_text(self._waiting[0].id, answer.ok))

    async def _end(self) -> None:
        error = await self.cell.bury()
        self.ended = Fault(kind=error.kind, message=str(error)[:MAX_ERROR_CHARACTERS], limit=error.limit)
        self._asked, self._is_ending = 0, False
        self._finish(to_json(Answer(id=self._waiting[0].id, error=self.ended)))

    def _finish(self, answer: bytes) -> None:
        try:
            self.answered(self, answer)
        finally:
            self._waiting.popleft()
            self._go_on()


async def load_program(
    cell: Cell,
    source: str,
    request: Open,
    answered: Callable[[Session, bytes], None],
    background: Callable[[Coroutine[Any, Any, None]], object],
) -> Session:
    """Build a cell's walls by the session's limits and load the program. Raises CellFault; the cell is dead then."""
    limits = request.limits
    characters = min(limits.observation_characters, MAX_TEXT_CHARACTERS)
    bounds = CellBounds(
        memory_bytes=limits.memory_bytes,
        cpu_seconds=limits.cpu_seconds,
        output_bytes=limits.output_bytes,
        text_characters=characters,
    )
    walls = {
        "memory_bytes": limits.memory_bytes,
        "cpu_seconds": limits.cpu_seconds,
        "open_files": limits.open_files,
        "file_bytes": limits.file_bytes,
    }
    build = {"limits": walls, "recursion_depth": limits.recursion_depth, "text_characters": characters}
    await cell.build(build, bounds)
    order = {"op": "open", "domain": request.domain, "source": source, "max_turns": request.max_turns}
    await cell.ask(order, limits.load_seconds)
    return Session(cell, limits, request.domain, answered, background)


def result_text(request_id: int, result: Message | None) -> bytes:
    """The text of an answer with this result, which has been validated and is not validated again."""
    return b'{"id":%d,"ok":%b,"error":null}' % (request_id, to_json(result))


def _order(request: SessionRequest) -> dict[str, Any]:
    """What the cell is told."""
    if isinstance(request, Step):
        return {"op": "step", "action": request.action}
    return request.model_dump(exclude={"id", "session"})
