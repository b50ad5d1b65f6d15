"""One connection to one pod: requests out, validated answers in. Nothing here knows of pools or episodes."""

import asyncio
import itertools
from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from spade_contracts.protocol import (
    MAX_MESSAGE_BYTES,
    PROTOCOL_VERSION,
    Answer,
    Hello,
    HelloResult,
    Load,
    Message,
    Request,
)
from spade_sandbox.client.errors import ProtocolViolation, Refused, SandboxLost, raise_fault

CONNECT_SECONDS = 10.0
PING_SECONDS = 10.0
PONG_SECONDS = 30.0
"""A pod that does not answer a ping for so long is lost, and its sessions with it."""
CLOSE_SECONDS = 2.0
MAX_ABANDONED = 10_000

ResultT = TypeVar("ResultT", bound=Message)


class PodLink:
    """An open, greeted connection. `lost` completes with the reason when it is gone."""

    def __init__(self, address: str, socket: ClientConnection) -> None:
        self.address = address
        self.boot_id = ""
        self.load = Load(sessions=0, capacity=0)
        self.sources: set[str] = set()
        """Digests that were put over this connection."""
        self.lost: asyncio.Future[SandboxLost] = asyncio.get_running_loop().create_future()
        self._socket = socket
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._abandoned: set[int] = set()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def request(
        self, make: Callable[[int], Request], expected: type[ResultT], deadline_seconds: float
    ) -> ResultT:
        """Send one request and return its result.

        Raises EnvironmentFault, SandboxLost (also when no answer comes in time), ProtocolViolation, or Refused.
        """
        if self.lost.done():
            raise self.lost.result()
        request = make(next(self._ids))
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = answered
        try:
            async with asyncio.timeout(deadline_seconds):
                await self._socket.send(request.model_dump_json())
                answer = await answered
        except TimeoutError:
            raise SandboxLost(f"{self.address} did not answer {request.op} within {deadline_seconds:.0f} s") from None
        except ConnectionClosed as error:
            raise SandboxLost(f"{self.address} went before {request.op}: {error}") from error
        finally:
            if self._waiting.pop(request.id, None) is not None and not answered.done():
                self._abandon(request.id)
        if answer.error is not None:
            raise_fault(answer.error)
        if not isinstance(answer.ok, expected):
            self._give_up(ProtocolViolation(f"{self.address} answered {request.op} with another operation's result"))
            raise self.lost.result()
        return answer.ok

    async def close(self) -> None:
        """Close the connection; its sessions end with it."""
        self._give_up(SandboxLost(f"the connection to {self.address} was closed"))
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._socket.close()

    def give_up(self, why: str) -> ProtocolViolation:
        """Stop believing this pod; every session on it is lost. Returns the error to raise."""
        error = ProtocolViolation(f"{self.address} {why}")
        self._give_up(error)
        return error

    def _give_up(self, reason: SandboxLost) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(self.lost.result())

    def _abandon(self, request_id: int) -> None:
        self._abandoned.add(request_id)
        if len(self._abandoned) > MAX_ABANDONED:
            self.give_up("left too many requests unanswered")

    async def _read(self) -> None:
        try:
            async for message in self._socket:
                answer = Answer.model_validate_json(message)
                waiting = self._waiting.get(answer.id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
                elif answer.id in self._abandoned:
                    self._abandoned.discard(answer.id)
                else:
                    self.give_up("answered what was not asked")
                    return
            self._give_up(SandboxLost(f"{self.address} closed the connection"))
        except ConnectionClosed as error:
            self._give_up(SandboxLost(f"the connection to {self.address} broke: {error}"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            self.give_up(f"sent an invalid answer ({where}: {first['msg']})")


async def connect_pod(host: str, port: int, token: str) -> PodLink:
    """Connect and greet. Raises SandboxLost when the pod is not there, Refused when it does not want us."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        socket = await connect(
            f"ws://{address}",
            max_size=MAX_MESSAGE_BYTES,
            compression=None,
            proxy=None,
            user_agent_header=None,
            open_timeout=CONNECT_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PONG_SECONDS,
            close_timeout=CLOSE_SECONDS,
        )
    except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed, ValueError) as error:
        raise SandboxLost(f"{address} cannot be reached: {error or type(error).__name__}") from error
    link = PodLink(address, socket)
    try:
        hello = await link.request(
            lambda number: Hello(id=number, version=PROTOCOL_VERSION, token=token), HelloResult, CONNECT_SECONDS
        )
    except (SandboxLost, Refused):
        await link.close()
        raise
    link.boot_id, link.load = hello.boot_id, hello.load
    return link
