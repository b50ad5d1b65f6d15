"""One worker's connection: hello first, then any number of sessions, which die with it."""

import asyncio
import json
from dataclasses import dataclass, field

from pydantic import ValidationError
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

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
from spade_sandbox.pod.other_seed import OtherSeed
from spade_sandbox.pod.sessions import Session, Sources, Spares, load_program
from spade_sandbox.pod.state import PodState
from spade_sandbox.pod.supervisor import Cell, CellFault

HELLO_SECONDS = 10.0
MAX_REQUESTS_IN_FLIGHT = 512
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
    other_seed: OtherSeed = field(default_factory=OtherSeed)
    cells: set[Cell] = field(default_factory=set)
    """Cells that hold a program; the watch reads it."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a session ends."""
    broken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Fails with what broke the pod."""


class Connection:
    """Serves one WebSocket."""

    def __init__(self, pod: Pod, socket: ServerConnection) -> None:
        self._pod = pod
        self._socket = socket
        self._sessions: dict[int, Session] = {}
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MAX_REQUESTS_IN_FLIGHT)

    async def serve(self) -> None:
        """Serve until the worker goes; whatever it had open is killed then."""
        try:
            if await self._greet():
                async for message in self._socket:
                    await self._room.acquire()
                    task = asyncio.get_running_loop().create_task(self._handle(message))
                    self._tasks.add(task)
                    task.add_done_callback(self._forget)
        except ConnectionClosed:
            pass
        finally:
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for number in tuple(self._sessions):
                await self._end(number)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._room.release()
        if not task.cancelled() and (error := task.exception()) is not None and not self._pod.broken.done():
            self._pod.broken.set_exception(error)

    async def _greet(self) -> bool:
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                request = _parse(await self._socket.recv())
        except TimeoutError:
            return False
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
        await self._socket.send(answer.model_dump_json())
        return answer.ok is not None

    async def _handle(self, message: str | bytes) -> None:
        request = _parse(message)
        answer = request if isinstance(request, Answer) else await self._answer(request)
        try:
            await self._socket.send(answer.model_dump_json())
        except ConnectionClosed:
            return

    async def _answer(self, request: Request) -> Answer:
        match request:
            case Hello():
                return fault(request.id, FaultKind.BAD_REQUEST, "hello was said already")
            case Put():
                return self._put(request)
            case Open():
                return await self._open(request)
            case Look():
                return Answer(id=request.id, ok=LookResult(load=self._pod.state.load()))
            case Close():
                seconds = await self._end(request.session)
                return Answer(id=request.id, ok=CloseResult(load=self._pod.state.load(), cpu_seconds=seconds))
            case _:
                return await self._do(request)

    def _put(self, request: Put) -> Answer:
        if not self._pod.sources.put(request.sha256, request.source):
            return fault(request.id, FaultKind.BAD_REQUEST, "sha256 is not the digest of source")
        return Answer(id=request.id, ok=PutResult())

    async def _do(self, request: SessionRequest) -> Answer:
        session = self._sessions.get(request.session)
        if session is None:
            return fault(request.id, FaultKind.BAD_REQUEST, f"there is no session {request.session} here")
        answer = await session.do(request)
        if session.ended is not None:
            self._pod.cells.discard(session.cell)
        return answer

    async def _open(self, request: Open) -> Answer:
        source = self._pod.sources.get(request.sha256)
        if source is None:
            return fault(request.id, FaultKind.UNKNOWN_SOURCE, "put this source first")
        refusal = self._pod.state.refusal()
        if refusal is not None:
            return fault(request.id, *refusal)
        assert self._pod.spares is not None
        self._pod.state.sessions += 1
        self._pod.state.served = True
        cell = None
        try:
            cell = await (self._pod.other_seed if request.other_hash_seed else self._pod.spares).take()
            self._pod.cells.add(cell)
            session = await load_program(cell, source, request)
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


def _parse(message: str | bytes) -> Request | Answer:
    """The request, or the answer that says what is wrong with it."""
    try:
        return REQUEST.validate_json(message)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return fault(_id_of(message), FaultKind.BAD_REQUEST, f"{where}: {first['msg']}")


def _id_of(message: str | bytes) -> int:
    try:
        number = json.loads(message)["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return UNREADABLE_ID
    return number if type(number) is int and 0 <= number < 2**63 else UNREADABLE_ID
