"""Sandbox pods that can do anything wrong: raw bytes over in-memory connections, so that tests run in virtual time.

A behaviour is a coroutine function that is given the server's end of each connection:

    async with FakePods(honest(), silent) as pods, pods.pool() as pool: ...
"""

import asyncio
import base64
import hashlib
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import looptime

from spade_contracts.protocol import PROTOCOL_VERSION
from spade_sandbox.client import SandboxPool

TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10
BOOT_ID = "0123456789abcdef"
Json = dict[str, Any]
Said = Json | str | None
"""What a pod says to a request: fields of the answer, raw text, or None for silence."""
ResultT = TypeVar("ResultT")


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.sent_bytes = 0
        """Bytes that the connection has taken."""

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are. Raises ConnectionError when the client has gone."""
        self._writer.write(data)
        await self._writer.drain()
        self.sent_bytes += len(data)

    async def handshake(self) -> None:
        """Become a WebSocket."""
        request = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line for line in request.split("\r\n") if line.lower().startswith("sec-websocket-key:"))
        digest = hashlib.sha1(key.split(":")[1].strip().encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        await self.raw(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
        )

    async def receive(self) -> Json:
        """The next request; pings are answered. Raises IncompleteReadError when the client has gone."""
        while True:
            opcode, payload = await self.receive_frame()
            if opcode == TEXT:
                request: Json = json.loads(payload)
                return request
            if opcode == PING:
                await self.raw(frame(payload, PONG))
            elif opcode == CLOSE:
                raise asyncio.IncompleteReadError(b"", None)

    async def receive_frame(self) -> tuple[int, bytes]:
        """The next frame, whatever it is."""
        head, length = await self._reader.readexactly(2)
        size = length & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", await self._reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", await self._reader.readexactly(8))
        mask = await self._reader.readexactly(4)
        data = await self._reader.readexactly(size)
        key = (mask * (size // 4 + 1))[:size]
        return head & 0x0F, (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")

    async def say(self, request: Json, said: Said) -> None:
        """Answer a request."""
        if said is not None:
            await self.raw(frame(said if isinstance(said, str) else json.dumps({"id": request["id"], **said})))


Behaviour = Callable[[Peer], Awaitable[None]]
Answerer = Callable[[Json], Said | Awaitable[Said]]


def frame(payload: str | bytes, opcode: int = TEXT, *, final: bool = True, length: int | None = None) -> bytes:
    """One frame of a server; `length` overrides the length that its head announces."""
    data = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
    size = len(data) if length is None else length
    head = bytes([(0x80 if final else 0) | opcode])
    if size < 126:
        return head + bytes([size]) + data
    if size < 1 << 16:
        return head + b"\x7e" + struct.pack(">H", size) + data
    return head + b"\x7f" + struct.pack(">Q", size) + data


LOAD = {"sessions": 0, "capacity": 4}
STEP = {"op": "step", "observation": "fine", "reward": 0.25, "terminated": False, "truncated": False, "info": {}}


class Truth:
    """What a good pod answers, with session numbers of its own."""

    def __init__(self, load: Json | None = None) -> None:
        self._load = load or LOAD
        self._sessions = 0

    def __call__(self, request: Json) -> Json:
        if request["op"] == "open":
            self._sessions += 1
        results: dict[str, Json] = {
            "hello": {"op": "hello", "version": PROTOCOL_VERSION, "boot_id": BOOT_ID, "load": self._load},
            "put": {"op": "put"},
            "open": {"op": "open", "session": self._sessions, "load": self._load},
            "reset": {"op": "reset", "observation": "begin", "info": {}},
            "step": STEP,
            "solution": {"op": "solution", "text": "s"},
            "inspect": {"op": "inspect", "values": {}, "instruction": 0, "instructions": [], "criteria": []},
            "look": {"op": "look", "load": self._load},
            "close": {"op": "close", "load": self._load, "cpu_seconds": 0.5},
        }
        return {"ok": results[request["op"]]}


def answering(answer: Answerer) -> Behaviour:
    """A pod that speaks the protocol and answers as it is told, each request on its own."""

    async def behave(peer: Peer) -> None:
        await peer.handshake()

        async def handle(request: Json) -> None:
            said = answer(request)
            await peer.say(request, await said if isinstance(said, Awaitable) else said)

        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(handle(await peer.receive()))

    return behave


def honest(load: Json | None = None) -> Behaviour:
    """A good pod."""
    return answering(Truth(load))


def lying(operation: str, said: Said) -> Behaviour:
    """An honest pod but for one operation."""
    truth = Truth()
    return answering(lambda request: said if request["op"] == operation else truth(request))


def refusal(kind: str) -> Json:
    """An error answer."""
    return {"error": {"kind": kind, "message": "because"}}


class FakePods:
    """Pods by behaviour; None refuses connections. A behaviour may be replaced while the pods run."""

    def __init__(self, *behaviours: Behaviour | None) -> None:
        self.behaviours = list(behaviours)
        self.peers: list[list[Peer]] = [[] for _ in behaviours]
        """Connections that were made to each pod."""
        self.dialled: list[list[float]] = [[] for _ in behaviours]
        """When the client tried to connect to each."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []

    @property
    def targets(self) -> list[str]:
        """What a SandboxPool is given."""
        return [f"127.0.0.1:{number}" for number in range(1, len(self.behaviours) + 1)]

    def pool(self, **settings: Any) -> SandboxPool:
        """A client of all of them."""
        return SandboxPool(self.targets, "token", dial=self.dial, **settings)

    async def dial(self, factory: Callable[[], asyncio.Protocol], host: str, port: int) -> None:
        """Connect to a pod without a network."""
        number = port - 1
        self.dialled[number].append(asyncio.get_running_loop().time())
        behaviour = self.behaviours[number]
        if behaviour is None:
            raise ConnectionRefusedError("connection refused")
        theirs, ours = socket.socketpair()
        await asyncio.get_running_loop().create_connection(factory, sock=theirs)
        reader, writer = await asyncio.open_connection(sock=ours)
        peer = Peer(reader, writer)
        self.peers[number].append(peer)
        task = asyncio.get_running_loop().create_task(self._serve(behaviour, peer, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, behaviour: Behaviour, peer: Peer, writer: asyncio.StreamWriter) -> None:
        try:
            await behaviour(peer)
        except* (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        except* Exception as failed:
            self._failures.append(failed)
        finally:
            writer.transport.abort()

    async def __aenter__(self) -> "FakePods":
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for failure in self._failures:
            raise failure


def in_virtual_time(work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
    """Run in an event loop whose clock jumps to the next timer when nothing else is to be done.

    Raises AssertionError if anything went wrong that nobody awaited.
    """
    unheard: list[str] = []
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: unheard.append(repr(context)))
        result = runner.run(work())
    assert not unheard
    return result


async def until(seen: Callable[[], bool], seconds: float = 60.0) -> None:
    """Let the loop run until something is seen; TimeoutError if it is not."""
    async with asyncio.timeout(seconds):
        while not seen():  # noqa: ASYNC110  # what is awaited belongs to the client
            await asyncio.sleep(0.01)
