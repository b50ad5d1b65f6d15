"""One worker's connection: hello first, then any number of sessions, which die with it.

The WebSocket is the library's, but messages are taken where it has parsed them and answers are written where they
arise, without a queue or a task between: each turn of the event loop is a system call, and those are what a step costs
in gVisor. What has to wait (opening, closing, the end of a program) runs in tasks.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from websockets.asyncio.server import ServerConnection
from websockets.frames import DATA_OPCODES, CloseCode, Frame
from websockets.protocol import Event, State

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

HELLO_SECONDS = 10.0
MAX_REQUESTS_IN_FLIGHT = 512
"""Above it the connection is not read."""
MESSAGES_IN_A_TURN = 64
"""Of one connection; then others have their turn."""
CHUNK_BYTES = 32 * 2**10
DEAF_SECONDS = 60.0
"""A worker that does not read its answers for so long is gone."""
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
    sockets: set["Socket"] = field(default_factory=set)
    """Open connections."""
    broken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Fails with what broke the pod."""

    def cells_for(self, source: str, request: Open) -> Spares | OnDemand:
        """Where a cell for this program comes from. The walls must stand."""
        assert self.spares is not None
        if request.other_hash_seed:
            return self.other_hash_seed
        return self.with_numpy if names_numpy(source) else self.spares


class Socket(ServerConnection):
    """The library's connection, whose messages are handed on at once, so many in a turn of the loop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._on_message: Callable[[bytes], None] | None = None
        self._waiting: deque[bytes] = deque()
        """Messages of this turn beyond its share, and those that came before anybody listened."""
        self._share = 0
        self._refused = False
        self._in_flight = 0
        self._flush_is_due = False
        self._deaf: asyncio.TimerHandle | None = None

    def deliver_to(self, on_message: Callable[[bytes], None]) -> None:
        """Hand on messages from now on, those that came with the handshake first."""
        self._on_message = on_message
        self._take_waiting()

    def refuse(self) -> None:
        """Take no further message; what has been answered is still sent."""
        self._refused = True
        self._waiting.clear()

    def answer(self, answer: Answer) -> None:
        """Send it: at once if nothing else is under way, else together with what else is answered in this turn."""
        self._in_flight -= 1
        if self.protocol.state is not State.OPEN:
            return
        self.protocol.send_text(answer.model_dump_json().encode())
        if not self._in_flight:
            self.send_data()
        elif not self._flush_is_due:
            self._flush_is_due = True
            self.loop.call_soon(self._flush)
        self._heed_room()

    # ── called by the library and the loop ──────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Read less at a time: thousands of tiny frames fit into what asyncio would read, and are parsed in one go."""
        transport.max_size = CHUNK_BYTES  # type: ignore[attr-defined]  # of asyncio's own transports
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of the worker."""
        self._share = MESSAGES_IN_A_TURN
        super().data_received(data)

    def process_event(self, event: Event) -> None:
        """Take a whole message; the library does the rest."""
        if not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
        elif not event.fin:
            self.refuse()
            self.protocol.fail(CloseCode.UNSUPPORTED_DATA, "a message comes in one piece")
            self.send_data()
            self.loop.call_later(DEAF_SECONDS, self.transport.abort)
        elif self._refused:
            return
        elif self._on_message is None or self._waiting or not self._share:
            self._waiting.append(bytes(event.data))
            if self._on_message is not None and len(self._waiting) == 1:
                self.loop.call_soon(self._take_waiting)
            self._heed_room()
        else:
            self._share -= 1
            self._hand_on(bytes(event.data))

    def pause_writing(self) -> None:
        """The worker does not read its answers; one that goes on like that is gone, and its sessions with it."""
        super().pause_writing()
        self._deaf = self.loop.call_later(DEAF_SECONDS, self.transport.abort)
        self._heed_room()

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._hears()
        self._heed_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._hears()
        super().connection_lost(exc)

    def _hears(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None

    def _take_waiting(self) -> None:
        for _ in range(min(MESSAGES_IN_A_TURN, len(self._waiting))):
            if self._waiting:  # the first one may have been refused, and the rest with it
                self._hand_on(self._waiting.popleft())
        if self._waiting:
            self.loop.call_soon(self._take_waiting)
        self._heed_room()

    def _hand_on(self, message: bytes) -> None:
        assert self._on_message is not None
        if self.protocol.state is State.OPEN:
            self._in_flight += 1
            self._heed_room()
            self._on_message(message)

    def _heed_room(self) -> None:
        """Read on only while there is room for requests and for their answers."""
        if self._waiting or self._in_flight > MAX_REQUESTS_IN_FLIGHT or self.paused:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _flush(self) -> None:
        self._flush_is_due = False
        if self.protocol.state is State.OPEN:
            self.send_data()


class Connection:
    """Serves one WebSocket."""

    def __init__(self, pod: Pod, socket: Socket) -> None:
        self._pod = pod
        self._socket = socket
        self._sessions: dict[int, Session] = {}
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._greeted = False

    async def serve(self) -> None:
        """Serve until the worker goes; whatever it had open is killed then."""
        loop = asyncio.get_running_loop()
        self._pod.sockets.add(self._socket)
        self._socket.deliver_to(self._take)
        ungreeted = loop.call_later(HELLO_SECONDS, self._hang_up)
        try:
            await self._socket.wait_closed()
        finally:
            ungreeted.cancel()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for number in tuple(self._sessions):
                await self._end(number)
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._pod.sockets.discard(self._socket)

    def _hang_up(self) -> None:
        if not self._greeted:
            self._socket.transport.abort()

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._pod.broken.done():
            self._pod.broken.set_exception(error)

    def _take(self, message: bytes) -> None:
        request = _parse(message)
        if not self._greeted:
            self._greet(request)
        elif isinstance(request, Answer):
            self._socket.answer(request)
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
        self._socket.answer(answer)
        if not self._greeted:
            self._socket.refuse()
            self._background(self._socket.close())

    def _serve(self, request: Request) -> None:
        match request:
            case Hello():
                self._socket.answer(fault(request.id, FaultKind.BAD_REQUEST, "hello was said already"))
            case Put():
                self._socket.answer(self._put(request))
            case Look():
                self._socket.answer(Answer(id=request.id, ok=LookResult(load=self._pod.state.load())))
            case Open():
                self._background(self._answer_with(self._open(request)))
            case Close():
                self._background(self._answer_with(self._close(request)))
            case _:
                self._do(request)

    async def _answer_with(self, work: Coroutine[Any, Any, Answer]) -> None:
        self._socket.answer(await work)

    def _put(self, request: Put) -> Answer:
        if not self._pod.sources.put(request.sha256, request.source):
            return fault(request.id, FaultKind.BAD_REQUEST, "sha256 is not the digest of source")
        return Answer(id=request.id, ok=PutResult())

    def _do(self, request: SessionRequest) -> None:
        session = self._sessions.get(request.session)
        if session is None:
            message = f"there is no session {request.session} here"
            self._socket.answer(fault(request.id, FaultKind.BAD_REQUEST, message))
        else:
            session.do(request, self._answered(session))

    def _answered(self, session: Session) -> Callable[[Answer], None]:
        def answered(answer: Answer) -> None:
            if session.ended is not None:
                self._pod.cells.discard(session.cell)
            self._socket.answer(answer)

        return answered

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
            session = await load_program(cell, source, request, self._background)
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
