"""One worker's connection: hello first, then any number of sessions, which die with it.

Requests are taken where they are parsed and answers are written where they arise, without a queue or a task between:
each turn of the event loop is a system call, and those are what a step costs in gVisor. What has to wait (opening,
closing, the end of a program) runs in tasks.
"""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from picows import WSCloseCode
from pydantic import ValidationError
from pydantic_core import to_json

from spade_contracts.libraries import names_numpy
from spade_contracts.protocol import (
    PROTOCOL_VERSION,
    REQUEST,
    Answer,
    Close,
    CloseResult,
    FaultKind,
    Hello,
    HelloResult,
    Look,
    LookResult,
    Open,
    OpenResult,
    Put,
    PutResult,
    Request,
    SessionRequest,
    fault,
)
from spade_contracts.tokens import token_matches
from spade_sandbox.pod.on_demand import OTHER_HASH_SEED, WITH_NUMPY, OnDemand
from spade_sandbox.pod.sessions import Session, Sources, load_program
from spade_sandbox.pod.spares import Spares
from spade_sandbox.pod.state import PodState
from spade_sandbox.pod.supervisor import Cell, CellFault
from spade_sandbox.pod.worker_socket import Socket

HELLO_SECONDS = 10.0
UNREADABLE_ID = 0
"""Id of the answer to a request whose own id could not be read."""


@dataclass
class Pod:
    """What all connections of a pod share."""

    state: PodState
    sources: Sources
    token_digest: str
    spares: Spares | None = None
    """None until the walls stand."""
    with_numpy: OnDemand = field(default_factory=lambda: OnDemand(WITH_NUMPY))
    other_hash_seed: OnDemand = field(default_factory=lambda: OnDemand(OTHER_HASH_SEED))
    cells: set[Cell] = field(default_factory=set)
    """Cells that hold a program; the watch reads it."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a session ends."""
    connections: "dict[Socket, asyncio.Task[None]]" = field(default_factory=dict)
    """Open connections, and what serves each."""
    broken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Fails with what broke the pod."""

    def cells_for(self, source: str, request: Open) -> Spares | OnDemand:
        """Where a cell for this program comes from. The walls must stand."""
        assert self.spares is not None
        if request.other_hash_seed:
            return self.other_hash_seed
        return self.with_numpy if names_numpy(source) else self.spares


class Connection:
    """Serves one WebSocket from now on."""

    def __init__(self, pod: Pod, socket: Socket) -> None:
        self._pod = pod
        self._socket = socket
        self._sessions: dict[int, Session] = {}
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._greeted = False
        pod.connections[socket] = asyncio.get_running_loop().create_task(self._serve_until_gone())
        pod.connections[socket].add_done_callback(self._heed)

    async def _serve_until_gone(self) -> None:
        """Whatever the worker had open is killed when it goes."""
        ungreeted = asyncio.get_running_loop().call_later(HELLO_SECONDS, self._hang_up)
        try:
            await self._socket.gone
        finally:
            ungreeted.cancel()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for number in tuple(self._sessions):
                await self._end(number)
            await asyncio.gather(*self._tasks, return_exceptions=True)
            del self._pod.connections[self._socket]

    def _hang_up(self) -> None:
        if not self._greeted:
            self._socket.abort()

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._heed(task)

    def _heed(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._pod.broken.done():
            self._pod.broken.set_exception(error)

    def take(self, message: bytes) -> None:
        """One message of the worker."""
        request = _parse(message)
        if not self._greeted:
            self._greet(request)
        elif isinstance(request, Answer):
            self._answer(request)
        else:
            self._serve(request)

    def _greet(self, request: Request | Answer) -> None:
        if isinstance(request, Answer):
            answer = request
        elif not isinstance(request, Hello):
            answer = fault(request.id, FaultKind.BAD_REQUEST, "the first request must be hello")
        elif request.version != PROTOCOL_VERSION:
            answer = fault(request.id, FaultKind.BAD_REQUEST, f"this pod speaks protocol {PROTOCOL_VERSION}")
        elif not token_matches(request.token, self._pod.token_digest):
            answer = fault(request.id, FaultKind.UNAUTHORIZED, "the token opens nothing here")
        else:
            result = HelloResult(version=PROTOCOL_VERSION, boot_id=self._pod.state.boot_id, load=self._pod.state.load())
            answer = Answer(id=request.id, ok=result)
            self._greeted = True
        self._answer(answer)
        if not self._greeted:
            self._socket.close(WSCloseCode.OK, "")

    def _serve(self, request: Request) -> None:
        match request:
            case Hello():
                self._answer(fault(request.id, FaultKind.BAD_REQUEST, "hello was said already"))
            case Put():
                self._answer(self._put(request))
            case Look():
                self._answer(Answer(id=request.id, ok=LookResult(load=self._pod.state.load())))
            case Open():
                self._background(self._answer_with(self._open(request)))
            case Close():
                self._background(self._answer_with(self._close(request)))
            case _:
                self._do(request)

    def _answer(self, answer: Answer) -> None:
        self._socket.answer(to_json(answer))

    async def _answer_with(self, work: Coroutine[Any, Any, Answer]) -> None:
        self._answer(await work)

    def _put(self, request: Put) -> Answer:
        if not self._pod.sources.put(request.sha256, request.source):
            return fault(request.id, FaultKind.BAD_REQUEST, "sha256 is not the digest of source")
        return Answer(id=request.id, ok=PutResult())

    def _do(self, request: SessionRequest) -> None:
        session = self._sessions.get(request.session)
        if session is None:
            message = f"there is no session {request.session} here"
            self._answer(fault(request.id, FaultKind.BAD_REQUEST, message))
        else:
            session.do(request)

    def _answered(self, session: Session, answer: bytes) -> None:
        if session.ended is not None:
            self._pod.cells.discard(session.cell)
        self._socket.answer(answer)

    async def _open(self, request: Open) -> Answer:
        source = self._pod.sources.get(request.sha256)
        if source is None:
            return fault(request.id, FaultKind.UNKNOWN_SOURCE, "put this source first")
        refusal = self._pod.state.refusal()
        if refusal is not None:
            return fault(request.id, *refusal)
        self._pod.state.sessions += 1
        self._pod.state.served = True
        cell = None
        try:
            cell = await self._pod.cells_for(source, request).take()
            self._pod.cells.add(cell)
            session = await load_program(cell, source, request, self._answered, self._background)
        except BaseException as error:
            self._pod.state.sessions -= 1
            self._pod.changed.set()
            if cell is not None:
                self._pod.cells.discard(cell)
                await cell.destroy(None)
            if isinstance(error, CellFault):
                return fault(request.id, error.kind, str(error), error.limit)
            raise
        self._number += 1
        self._sessions[self._number] = session
        return Answer(id=request.id, ok=OpenResult(session=self._number, load=self._pod.state.load()))

    async def _close(self, request: Close) -> Answer:
        seconds = await self._end(request.session)
        return Answer(id=request.id, ok=CloseResult(load=self._pod.state.load(), cpu_seconds=seconds))

    async def _end(self, number: int) -> float:
        """Kill a session's cell; the CPU time that it had used, in seconds."""
        session = self._sessions.pop(number, None)
        if session is None:
            return 0.0
        try:
            await session.cell.destroy(CellFault(FaultKind.LOST, "the session was closed"))
        finally:
            self._pod.cells.discard(session.cell)
            self._pod.state.sessions -= 1
            self._pod.changed.set()
        return max(0.0, session.cell.ended.result().cpu_seconds)


def _parse(message: bytes) -> Request | Answer:
    """The request, or the answer that says what is wrong with it."""
    try:
        return REQUEST.validate_json(message)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return fault(_id_of(message), FaultKind.BAD_REQUEST, f"{where}: {first['msg']}")


def _id_of(message: bytes) -> int:
    try:
        number = json.loads(message)["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return UNREADABLE_ID
    return number if type(number) is int and 0 <= number < 2**63 else UNREADABLE_ID
