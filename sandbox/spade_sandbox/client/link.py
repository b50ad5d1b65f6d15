"""One connection to one pod: requests out, validated answers in. Nothing here knows of pools or episodes."""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from spade_contracts.deadlines import Deadlines
from spade_contracts.errors import EnvironmentFault
from spade_contracts.json_shape import has_more_values
from spade_contracts.ports import authority
from spade_contracts.protocol import (
    PROTOCOL_VERSION,
    Answer,
    Close,
    Hello,
    HelloResult,
    Load,
    Look,
    LookResult,
    Message,
    OpenResult,
    Request,
)
from spade_sandbox.client.errors import ProtocolViolation, Refused, SandboxLost, again, raise_fault
from spade_sandbox.client.gate import Gate
from spade_sandbox.client.wire import Wire

CONNECT_SECONDS = 10.0
"""For all of connecting: TCP, the WebSocket handshake and the greeting."""
MAX_REQUESTS_IN_FLIGHT = 256
"""Sent and not answered; half of what a pod takes before it stops reading."""
MAX_BYTES_IN_FLIGHT = 8 * 2**20
MAX_ABANDONED = 1_000
"""Requests whose deadline has passed and whose answer may still come."""
_SHOWN_CHARACTERS = 200
_ANSWER = TypeAdapter(Answer)

ResultT = TypeVar("ResultT", bound=Message)
Dial = Callable[[Callable[[], asyncio.Protocol], str, int], Awaitable[object]]
"""Connects the protocol that the first argument makes to a host and port."""


class PodLink:
    """An open connection. `lost` completes with the reason when it is gone, and never fails."""

    def __init__(self, wire: Wire) -> None:
        self.address = wire.address
        self.boot_id = ""
        self.load = Load(sessions=0, capacity=0)
        self.sources: set[str] = set()
        """Digests that were put over this connection."""
        self.sessions: set[int] = set()
        """Numbers of our live sessions."""
        self.lost = wire.ended
        self._wire = wire
        self._ids = itertools.count(1)
        self._gate = Gate(MAX_REQUESTS_IN_FLIGHT, MAX_BYTES_IN_FLIGHT)
        self._deadlines = Deadlines()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._abandoned: dict[int, str] = {}
        """Operation of each request that was given up and may still be answered."""
        wire.on_message = self._on_message
        wire.ended.add_done_callback(self._on_lost)

    async def request(
        self, make: Callable[[int], Request], expected: type[ResultT], deadline_seconds: float, *, ahead: bool = False
    ) -> ResultT:
        """Send one request and return its result. The deadline counts from now, waiting for room included.

        `ahead` sends it whatever is in flight.

        Raises EnvironmentFault, SandboxLost (also when no answer comes in time), ProtocolViolation, or Refused.
        """
        request = make(next(self._ids))
        text, loop = to_json(request), asyncio.get_running_loop()
        deadline = loop.time() + deadline_seconds
        if not ahead and not self._gate.enter_now(len(text)):
            try:
                async with asyncio.timeout_at(deadline):
                    await self._gate.enter(len(text))
            except TimeoutError:
                raise self._late(request, deadline_seconds) from None
        answered: asyncio.Future[Answer] = loop.create_future()

        def give_up() -> None:
            if not answered.done():
                answered.set_exception(self._late(request, deadline_seconds))

        try:
            self._wire.send(text, at_once=not self._waiting)  # alone it need not wait for others to go with
            self._waiting[request.id] = answered
            self._deadlines.set(request.id, deadline - loop.time(), give_up)
            answer = await answered
        finally:
            self._deadlines.clear(request.id)
            if not ahead:
                self._gate.leave(len(text))
            if self._waiting.pop(request.id, None) is not None:
                self._abandon(request)
            elif answered.done() and not answered.cancelled():
                answered.exception()  # seen, even if the deadline passed in the same instant
        if answer.error is not None:
            raise_fault(answer.error)
        if not isinstance(answer.ok, expected):
            raise self.give_up(f"answered {request.op} with another operation's result")
        return answer.ok

    async def look(self, deadline_seconds: float) -> bool:
        """Ask how full the pod is, for `load`; whether it answered in time."""
        try:
            result = await self.request(lambda n: Look(id=n), LookResult, deadline_seconds, ahead=True)
        except SandboxLost:
            return False
        except (Refused, EnvironmentFault) as error:
            self.give_up(f"refused to say how full it is ({error})")
            return False
        self.load = result.load
        return True

    def close(self) -> None:
        """Close the connection; its sessions end with it."""
        self._wire.close()

    def give_up(self, why: str) -> SandboxLost:
        """Stop believing this pod; every session on it is lost. Returns the error to raise."""
        self._wire.end(ProtocolViolation(f"{self.address} {why}"))
        return again(self.lost.result())

    def give_up_silent(self, why: str) -> None:
        """Give up a pod that does not lie but does not answer either."""
        self._wire.end(SandboxLost(f"{self.address} {why}"))

    def _on_lost(self, lost: "asyncio.Future[SandboxLost]") -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(again(lost.result()))
        self._waiting.clear()

    def _late(self, request: Request, deadline_seconds: float) -> SandboxLost:
        return SandboxLost(f"{self.address} did not answer {request.op} within {deadline_seconds:.0f} s")

    def _abandon(self, request: Request) -> None:
        self._abandoned[request.id] = request.op
        if len(self._abandoned) > MAX_ABANDONED:
            self.give_up("left too many requests unanswered")

    def _on_message(self, message: bytes | bytearray) -> None:
        if has_more_values(message):
            self.give_up("sent an answer of more values than any holds")
            return
        try:
            answer = _ANSWER.validate_json(message)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part)[:_SHOWN_CHARACTERS] for part in first["loc"])
            self.give_up(f"sent an invalid answer ({where}: {first['msg'][:_SHOWN_CHARACTERS]})")
            return
        waiting = self._waiting.pop(answer.id, None)
        if waiting is not None:
            if not waiting.done():
                waiting.set_result(answer)
        elif (operation := self._abandoned.pop(answer.id, None)) is None:
            self.give_up("answered what was not asked")
        elif answer.ok is not None and answer.ok.op != operation:
            self.give_up(f"answered {operation} with another operation's result")
        elif isinstance(answer.ok, OpenResult):
            self._close_orphan(answer.ok.session)

    def _close_orphan(self, session: int) -> None:
        """End a session that was opened too late for whoever wanted it; it would hold a place of the pod."""
        request = Close(id=next(self._ids), session=session)
        self._abandon(request)
        with contextlib.suppress(SandboxLost):
            self._wire.send(to_json(request))


async def connect_pod(host: str, port: int, token: str, *, dial: Dial | None = None) -> PodLink:
    """Connect and greet. Raises SandboxLost when the pod is not there, Refused when it does not want us."""
    address = authority(host, port)
    wire = Wire(address)
    link = PodLink(wire)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await (dial or _dial_tcp)(lambda: wire, host, port)
            opened: set[asyncio.Future[Any]] = {wire.opened, wire.ended}
            await asyncio.wait(opened, return_when=asyncio.FIRST_COMPLETED)
            if wire.ended.done():
                raise again(wire.ended.result())
            hello = await link.request(
                lambda number: Hello(id=number, version=PROTOCOL_VERSION, token=token), HelloResult, CONNECT_SECONDS
            )
        if hello.version != PROTOCOL_VERSION:
            raise link.give_up(f"speaks protocol {hello.version}, not {PROTOCOL_VERSION}")
    except (OSError, TimeoutError) as error:
        wire.end(SandboxLost(f"{address} cannot be reached: {str(error) or 'it does not greet in time'}"))
        raise again(wire.ended.result()) from error
    except (SandboxLost, Refused):
        link.close()
        raise
    except asyncio.CancelledError:
        link.close()
        raise
    link.boot_id, link.load = hello.boot_id, hello.load
    return link


async def _dial_tcp(factory: Callable[[], asyncio.Protocol], host: str, port: int) -> None:
    await asyncio.get_running_loop().create_connection(factory, host, port)
