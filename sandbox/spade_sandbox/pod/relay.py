"""Many connections over one pair of pipes, so that a pod without any network can be talked to.

Frames: kind, connection number, length, payload. The outer end opens connections, the inner end connects each to a port
of its own. The inner end speaks first: one REPORT frame. Neither end believes the other: whatever does not fit ends the
relay, and with it all connections.
"""

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable
from enum import IntEnum

CHUNK_BYTES = 64 * 2**10
_HEAD = struct.Struct(">BII")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Kind(IntEnum):
    """What a frame is."""

    REPORT = 0
    OPEN = 1
    DATA = 2
    CLOSE = 3


class RelayBroken(Exception):
    """The other end is gone, or sent what does not fit."""


class Relay:
    """One end. First `report` or `read_report`, then `run`; the outer end adds each connection by `carry`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._connections: dict[int, asyncio.StreamWriter] = {}
        self._carrying: set[asyncio.Task[None]] = set()
        self._number = 0

    async def report(self, payload: bytes) -> None:
        """Say the inner end's first word."""
        await self._send(Kind.REPORT, 0, payload)

    async def read_report(self) -> bytes:
        """The inner end's first word. Raises RelayBroken."""
        kind, _, payload = await self._receive()
        if kind is not Kind.REPORT:
            raise RelayBroken("the other end did not begin with its report")
        return payload

    async def run(self, connect: Callable[[], Awaitable[Streams]] | None = None) -> None:
        """Pass on what the other end sends until it is gone. Raises RelayBroken; all connections are closed then.

        `connect` makes a connection that the other end asks for; without it none may be asked for.
        """
        try:
            while True:
                kind, number, payload = await self._receive()
                if kind is Kind.OPEN and connect is not None and number not in self._connections:
                    self._start(number, await connect())
                elif kind is Kind.DATA:
                    await self._deliver(number, payload)
                elif kind is Kind.CLOSE:
                    self._drop(number)
                else:
                    raise RelayBroken(f"an unexpected frame: {kind.name}")
        finally:
            for task in tuple(self._carrying):
                task.cancel()
            for number in tuple(self._connections):
                self._drop(number)

    async def carry(self, streams: Streams) -> None:
        """Open a connection at the other end and carry this one there. Raises RelayBroken."""
        self._number += 1
        await self._send(Kind.OPEN, self._number, b"")
        self._start(self._number, streams)

    def _start(self, number: int, streams: Streams) -> None:
        reader, writer = streams
        self._connections[number] = writer
        task = asyncio.get_running_loop().create_task(self._pump(number, reader))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def _pump(self, number: int, reader: asyncio.StreamReader) -> None:
        """From a connection into the pipe, until either ends."""
        with contextlib.suppress(OSError, RelayBroken):
            while data := await reader.read(CHUNK_BYTES):
                await self._send(Kind.DATA, number, data)
        if number in self._connections:
            self._drop(number)
            with contextlib.suppress(RelayBroken):
                await self._send(Kind.CLOSE, number, b"")

    async def _deliver(self, number: int, payload: bytes) -> None:
        writer = self._connections.get(number)
        if writer is None:
            return  # closed on this side a moment ago
        with contextlib.suppress(OSError):
            writer.write(payload)
            await writer.drain()

    def _drop(self, number: int) -> None:
        writer = self._connections.pop(number, None)
        if writer is not None:
            writer.close()

    async def _send(self, kind: Kind, number: int, payload: bytes) -> None:
        try:
            self._writer.write(_HEAD.pack(kind, number, len(payload)) + payload)
            await self._writer.drain()
        except OSError as error:
            raise RelayBroken(f"the other end is gone: {error}") from error

    async def _receive(self) -> tuple[Kind, int, bytes]:
        try:
            kind, number, length = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
            if length > CHUNK_BYTES:
                raise RelayBroken(f"a frame of {length} bytes")
            return Kind(kind), number, await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise RelayBroken("the other end is gone") from error
        except ValueError as error:
            raise RelayBroken("a frame of an unknown kind") from error
