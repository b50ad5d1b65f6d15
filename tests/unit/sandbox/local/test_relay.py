"""Connections pass a relay unchanged, and what does not fit ends it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_sandbox.pod.relay import CHUNK_BYTES, Kind, Relay, RelayBroken

WAIT_SECONDS = 10.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def pair() -> tuple[Streams, Streams]:
    one, other = socket.socketpair()
    return await asyncio.open_connection(sock=one), await asyncio.open_connection(sock=other)


@asynccontextmanager
async def relayed_echo() -> AsyncIterator[Relay]:
    """An outer end whose connections all lead to an echo."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ours, theirs = await pair()
    outer, inner = Relay(*ours), Relay(*theirs)
    async with server:
        tasks = [
            asyncio.create_task(outer.run()),
            asyncio.create_task(inner.run(lambda: asyncio.open_connection("127.0.0.1", port))),
        ]
        try:
            yield outer
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            ours[1].close()
            theirs[1].close()


async def through(relay: Relay, data: bytes) -> bytes:
    near, far = await pair()
    await relay.carry(far)
    near[1].write(data)
    echoed = await asyncio.wait_for(near[0].readexactly(len(data)), WAIT_SECONDS)
    near[1].close()
    return echoed


@settings(max_examples=20)
@given(st.lists(st.binary(min_size=1, max_size=2_000), min_size=1, max_size=5))
def test_connections_pass_side_by_side_and_unchanged(messages: list[bytes]) -> None:
    async def play() -> list[bytes]:
        async with relayed_echo() as relay:
            return list(await asyncio.gather(*(through(relay, message) for message in messages)))

    assert asyncio.run(play()) == messages


async def test_more_bytes_than_one_frame_holds_pass() -> None:
    async with relayed_echo() as relay:
        data = bytes(range(256)) * (CHUNK_BYTES // 64)
        assert await through(relay, data) == data


async def test_end_of_one_connection_is_told_to_the_other_end_only_there() -> None:
    async with relayed_echo() as relay:
        near, far = await pair()
        await relay.carry(far)
        near[1].write_eof()
        assert await asyncio.wait_for(near[0].read(), WAIT_SECONDS) == b""
        assert await through(relay, b"still here") == b"still here"


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">BII", 9, 1, 0),
        struct.pack(">BII", Kind.DATA, 1, CHUNK_BYTES + 1),
        struct.pack(">BII", Kind.OPEN, 1, 0),
        struct.pack(">BII", Kind.REPORT, 0, 0),
        b"\x02",
    ],
    ids=["unknown kind", "too long", "opened by the inner end", "second report", "cut short"],
)
async def test_frame_that_does_not_fit_ends_the_relay_and_its_connections(frame: bytes) -> None:
    ours, theirs = await pair()
    relay = Relay(*ours)
    near, far = await pair()
    await relay.carry(far)
    theirs[1].write(frame)
    theirs[1].write_eof()
    with pytest.raises(RelayBroken):
        await asyncio.wait_for(relay.run(), WAIT_SECONDS)
    assert await asyncio.wait_for(near[0].read(), WAIT_SECONDS) == b""


async def test_report_is_the_first_word() -> None:
    ours, theirs = await pair()
    await Relay(*theirs).report(b"hello")
    assert await Relay(*ours).read_report() == b"hello"
    theirs[1].write(struct.pack(">BII", Kind.DATA, 1, 0))
    with pytest.raises(RelayBroken, match="report"):
        await Relay(*ours).read_report()
