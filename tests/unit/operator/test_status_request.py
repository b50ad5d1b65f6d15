"""A pod's status is fetched in bounded time and size, from whoever answers, in whatever way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_operator.status_request import MAX_ANSWER_BYTES, MAX_HEAD_BYTES, BadAnswer, get_status

SECONDS = 20.0


@asynccontextmanager
async def pod(*parts: bytes, host: str = "127.0.0.1", then_waits: bool = False) -> AsyncIterator[tuple[int, list[str]]]:
    """Something that answers with these bytes and ends the connection, or waits; its port, and what it was asked."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
            if then_waits:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body


async def test_body_is_returned_as_it_was_sent() -> None:
    async with pod(answer(b'{"a": 1}', "Content-Encoding: gzip")) as (port, asked):
        assert await get_status("127.0.0.1", port, SECONDS) == b'{"a": 1}'
    (request,) = asked
    assert request.startswith("GET /status HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{port}\r\n" in request


async def test_answer_is_complete_before_the_pod_ends_the_connection() -> None:
    async with pod(answer(b"x"), then_waits=True) as (port, _):
        assert await get_status("127.0.0.1", port, SECONDS) == b"x"


async def test_answer_in_chunks_is_put_together() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with pod(head, b"3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n") as (port, _):
        assert await get_status("127.0.0.1", port, SECONDS) == b"abcde"


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="this kernel has no version 6")
async def test_pod_with_an_address_of_version_6_is_named_in_brackets() -> None:
    async with pod(answer(b"x"), host="::1") as (port, asked):
        assert await get_status("::1", port, SECONDS) == b"x"
    assert f"Host: [::1]:{port}\r\n" in asked[0]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        pytest.param([], "ended before", id="nothing"),
        pytest.param([b"hello\r\n\r\n"], "not HTTP", id="no HTTP"),
        pytest.param([b"\x16\x03\x01" + bytes(200)], "not HTTP", id="TLS"),
        pytest.param([answer(b"abc")[:-1]], "ended before", id="cut short"),
        pytest.param([b"HTTP/1.1 200 OK\r\n\r\nabc"], "ended before", id="without a length"),
        pytest.param([answer(b"", status="500 Bad")], "status 500", id="error"),
        pytest.param([answer(b"", "Location: /", status="302 There")], "status 302", id="redirect"),
        pytest.param([answer(b"", status="204 Nothing")], "status 204", id="another success"),
        pytest.param([answer(b" " * (MAX_ANSWER_BYTES + 1))], "more than", id="long body"),
        pytest.param([b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * MAX_HEAD_BYTES], "beside the body", id="long header"),
        pytest.param([b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * MAX_HEAD_BYTES], "beside the body", id="many headers"),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1\r\na\r\n"] * MAX_HEAD_BYTES],
            "beside the body",
            id="chunks of one byte",
        ),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"], "not HTTP", id="negative length"),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx"],
            "not HTTP",
            id="two lengths",
        ),
    ],
)
async def test_answer_that_is_none_says_why(parts: list[bytes], why: str) -> None:
    async with pod(*parts) as (port, _):
        with pytest.raises(BadAnswer, match=why):
            await get_status("127.0.0.1", port, SECONDS)


async def test_answer_that_does_not_end_is_bounded_in_time_whatever_trickles_in() -> None:
    async with pod(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", then_waits=True) as (port, _):
        with pytest.raises(TimeoutError):
            await get_status("127.0.0.1", port, 0.2)


async def test_silence_and_closed_ports_are_errors_of_the_network() -> None:
    async with pod() as (port, _):
        pass
    with pytest.raises(OSError, match=r"[Cc]onnect"):
        await get_status("127.0.0.1", port, SECONDS)


@given(
    st.lists(st.binary(min_size=1, max_size=64), max_size=8),
    st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", answer(b"x")]),
)
def test_whatever_is_answered_ends_in_a_body_or_in_a_known_error(parts: list[bytes], first: bytes) -> None:
    async def ask() -> bytes | None:
        async with pod(first, *parts) as (port, _):
            try:
                return await get_status("127.0.0.1", port, SECONDS)
            except (BadAnswer, OSError):
                return None

    found = asyncio.run(ask())
    assert found is None or len(found) <= MAX_ANSWER_BYTES
