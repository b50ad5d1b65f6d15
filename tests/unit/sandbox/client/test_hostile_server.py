"""Whatever a server does at whatever stage, the client ends with a typed error, in time, and holds little of it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.support.fake_pods import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    STEP,
    TEXT,
    Behaviour,
    FakePods,
    Json,
    Peer,
    Truth,
    frame,
)

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import MAX_MESSAGE_BYTES
from spade_sandbox.client import NoCapacity, ProtocolViolation, SandboxLost
from spade_sandbox.client.link import CONNECT_SECONDS, connect_pod
from spade_sandbox.client.session import CLOSE_SECONDS, GRACE_SECONDS

pytestmark = pytest.mark.looptime

LIMITS = SandboxLimits(step_seconds=5.0)
GIBIBYTE = 2**30
FEW_BYTES = 2 * MAX_MESSAGE_BYTES
"""What a connection may take of an endless reply: a message, and what sockets hold."""
STAGES = ("hello", "put", "open", "reset", "step", "close")


def until_stage(stage: str, mischief: Callable[[Peer, Json], Any]) -> Behaviour:
    """An honest pod until it is asked for an operation."""

    async def behave(peer: Peer) -> None:
        truth = Truth()
        await peer.handshake()
        while True:
            request = await peer.receive()
            if request["op"] == stage:
                await mischief(peer, request)
                return
            await peer.say(request, truth(request))

    return behave


async def play(pods: FakePods) -> None:
    """A session from its opening to its end."""
    async with pods.pool() as pool, pool.session("source", LIMITS, max_turns=5, wait_seconds=20) as session:
        await session.reset(1)
        await session.step("x")


async def hang(*_: object) -> None:
    """Silence, with the connection open."""
    await asyncio.Event().wait()


async def trickle(peer: Peer, request: Json) -> None:
    """A right answer at one byte a second."""
    said = b'{"id": %d, "ok": {"op": "put"}, "x": "' % request["id"]
    for byte in frame(said + b"x" * 100_000):
        await peer.raw(bytes([byte]))
        await asyncio.sleep(1)


async def vanish(peer: Peer, request: Json) -> None:
    """The connection breaks."""


async def leave(peer: Peer, request: Json) -> None:
    """The connection is closed politely."""
    await peer.raw(frame(b"\x03\xe9going away", CLOSE))
    await hang()


async def leave_in_the_middle(peer: Peer, request: Json) -> None:
    """The connection breaks in the middle of an answer."""
    await peer.raw(frame("x" * 100, length=1000))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("mischief", [hang, trickle, vanish, leave, leave_in_the_middle], ids=lambda f: f.__name__)
async def test_pod_that_stops_at_a_stage_ends_the_session_in_time(stage: str, mischief: Callable[..., Any]) -> None:
    began = asyncio.get_running_loop().time()
    async with FakePods(until_stage(stage, mischief)) as pods:
        if stage == "close":
            await play(pods)  # nothing was lost: the episode has ended
        else:
            with pytest.raises((SandboxLost, NoCapacity)):
                await play(pods)
    # waiting, connecting, one opening with its deadline, the operation's own, closing
    bound = 20 + CONNECT_SECONDS + 3 * (30 + 60) + LIMITS.step_seconds + GRACE_SECONDS + CLOSE_SECONDS
    assert asyncio.get_running_loop().time() - began <= bound


@pytest.mark.parametrize("mischief", [vanish, leave], ids=lambda f: f.__name__)
async def test_pod_that_goes_is_lost_and_no_liar(mischief: Callable[..., Any]) -> None:
    async with FakePods(until_stage("step", mischief)) as pods, pods.pool() as pool:
        with pytest.raises(SandboxLost, match="closed"):
            async with pool.session("source", LIMITS, max_turns=5) as session:
                await session.step("x")
        assert pool.stats.sessions == {"lost": 1}
        assert pool.stats.evictions == {}


async def no_word(peer: Peer) -> None:
    """Accepts and says nothing."""
    await hang()


async def trickled_handshake(peer: Peer) -> None:
    """A handshake that is never complete."""
    for byte in itertools.cycle(b"HTTP/1.1 101 Switching Protocols\r\nX: " + b"y" * 1000):
        await peer.raw(bytes([byte]))
        await asyncio.sleep(1)


async def closed_at_once(peer: Peer) -> None:
    """Accepts and closes."""


async def another_protocol(peer: Peer) -> None:
    """No HTTP."""
    await peer.raw(b"SSH-2.0-OpenSSH_9.2\r\n")
    await hang()


async def redirect(peer: Peer) -> None:
    """Sends the client, and its token, elsewhere."""
    await peer.raw(b"HTTP/1.1 302 Found\r\nLocation: ws://192.0.2.1/\r\nContent-Length: 0\r\n\r\n")
    await hang()


async def wrong_key(peer: Peer) -> None:
    """A handshake for somebody else."""
    await peer.raw(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    )
    await hang()


async def unasked_extension(peer: Peer) -> None:
    """Compression that nobody offered."""
    await peer.raw(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Accept: x\r\n\r\n"
    )
    await hang()


HANDSHAKES = (
    no_word,
    trickled_handshake,
    closed_at_once,
    another_protocol,
    redirect,
    wrong_key,
    unasked_extension,
)


@pytest.mark.parametrize("behave", HANDSHAKES, ids=lambda f: f.__name__)
async def test_connection_that_does_not_open_is_told_in_time(behave: Behaviour) -> None:
    began = asyncio.get_running_loop().time()
    async with FakePods(behave) as pods:
        with pytest.raises(SandboxLost):
            await connect_pod("127.0.0.1", 1, "token", dial=pods.dial)
    assert asyncio.get_running_loop().time() - began <= CONNECT_SECONDS + 0.1
    assert len(pods.dialled[0]) == 1


async def test_dial_that_never_ends_is_given_up() -> None:
    async def never(*_: object) -> None:
        await hang()

    with pytest.raises(SandboxLost, match="does not greet in time"):
        await connect_pod("127.0.0.1", 1, "token", dial=never)


# ── endless replies ─────────────────────────────────────────────────────────────────────────────────────────────────


async def one_frame() -> AsyncIterator[bytes]:
    """A reply of 1 GiB, announced honestly."""
    yield frame("{", length=GIBIBYTE)
    while True:
        yield b" " * 2**16


async def one_lying_frame() -> AsyncIterator[bytes]:
    """A length with the sign bit set."""
    yield frame("{", length=2**64 - 1)
    while True:
        yield b" " * 2**16


async def pieces() -> AsyncIterator[bytes]:
    """A reply of 1 GiB in pieces of any size."""
    yield frame("{", TEXT, final=False)
    while True:
        yield frame(" " * 2**16, CONTINUATION, final=False)


async def empty_pieces() -> AsyncIterator[bytes]:
    """A reply in endlessly many pieces of nothing."""
    yield frame("", TEXT, final=False)
    while True:
        yield frame("", CONTINUATION, final=False) * 1000


async def pings() -> AsyncIterator[bytes]:
    """Pings that all want an answer."""
    while True:
        yield frame("x" * 125, PING) * 500


async def pongs() -> AsyncIterator[bytes]:
    """Pongs to nothing."""
    while True:
        yield frame("", PONG) * 1000


async def large_answers() -> AsyncIterator[bytes]:
    """Answers of 4 MiB to nothing."""
    while True:
        yield frame('{"id": 77, "ok": {"op": "solution", "text": "' + "x" * 400_000 + '"}}')


async def binary() -> AsyncIterator[bytes]:
    """Binary messages."""
    while True:
        yield frame(b"{}" * 1000, BINARY)


async def spaces() -> AsyncIterator[bytes]:
    """Messages that hold nothing, as large as they may be."""
    while True:
        yield frame(" " * (MAX_MESSAGE_BYTES - 1))


FLOODS = (one_frame, one_lying_frame, pieces, empty_pieces, pings, pongs, large_answers, binary, spaces)


@pytest.mark.parametrize("stage", ["hello", "step"])
@pytest.mark.parametrize("flood", FLOODS, ids=lambda f: f.__name__)
async def test_endless_reply_is_refused_after_few_bytes(flood: Callable[[], AsyncIterator[bytes]], stage: str) -> None:
    async def gush(peer: Peer, request: Json) -> None:
        peer.sent_bytes = 0
        async for data in flood():
            await peer.raw(data)
            assert peer.sent_bytes < GIBIBYTE

    async with FakePods(until_stage(stage, gush)) as pods:
        with pytest.raises(ProtocolViolation if stage == "step" else NoCapacity):
            await play(pods)
    assert all(peer.sent_bytes <= FEW_BYTES for peer in pods.peers[0])


async def endless_headers() -> AsyncIterator[bytes]:
    """A handshake with endlessly many headers."""
    yield b"HTTP/1.1 101 Switching Protocols\r\n"
    while True:
        yield b"X: y\r\n" * 1000


async def endless_header() -> AsyncIterator[bytes]:
    """A handshake with one endless header."""
    yield b"HTTP/1.1 101 Switching Protocols\r\nX: "
    while True:
        yield b"y" * 2**16


async def endless_body() -> AsyncIterator[bytes]:
    """A refusal with an endless explanation."""
    yield b"HTTP/1.1 403 Forbidden\r\n\r\n"
    while True:
        yield b"no " * 2**14


async def endless_chunks() -> AsyncIterator[bytes]:
    """The same in chunks."""
    yield b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"3000\r\n" + b"no " * 2**12 + b"\r\n"


@pytest.mark.parametrize(
    "flood", [endless_headers, endless_header, endless_body, endless_chunks], ids=lambda f: f.__name__
)
async def test_endless_handshake_is_refused_after_few_bytes(flood: Callable[[], AsyncIterator[bytes]]) -> None:
    async def gush(peer: Peer) -> None:
        async for data in flood():
            await peer.raw(data)
            assert peer.sent_bytes < GIBIBYTE

    async with FakePods(gush) as pods:
        with pytest.raises(SandboxLost):
            await connect_pod("127.0.0.1", 1, "token", dial=pods.dial)
    assert pods.peers[0][0].sent_bytes <= FEW_BYTES


async def test_pod_that_reads_nothing_costs_no_more_than_the_bound() -> None:
    async def reads_nothing(peer: Peer, request: Json) -> None:
        await hang()

    limits = SandboxLimits(action_characters=500_000, step_seconds=1.0)
    async with (
        FakePods(until_stage("step", reads_nothing)) as pods,
        pods.pool() as pool,
        pool.session("source", limits, max_turns=5) as session,
    ):
        with pytest.raises(SandboxLost):
            await session.step("x" * 500_000)


async def test_answer_that_comes_after_its_deadline_is_dropped() -> None:
    async def late(peer: Peer, request: Json) -> None:
        await asyncio.sleep(LIMITS.step_seconds + GRACE_SECONDS + 5)
        await peer.say(request, {"ok": STEP})
        truth = Truth()
        while True:
            request = await peer.receive()
            await peer.say(request, truth(request))

    async with FakePods(until_stage("step", late)) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            with pytest.raises(SandboxLost, match="did not answer"):
                await session.step("x")
        await asyncio.sleep(10)
        assert pool.stats.evictions == {}
    assert len(pods.peers[0]) == 1, "one late answer is no violation"


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\x7f" + b"\xff" * 8,  # a length beyond all bounds
        b"\xf1\x00",  # reserved bits
        b"\x83\x00",  # an unknown kind of frame
        b"\x81\x81aaaax",  # masked
        b"\x09\x00",  # a ping in pieces
        b"\x89\x7e\x00\x7e" + b"x" * 126,  # a ping that is too long
        b"\x88\x01x",  # a close without a code
        b"\x88\x02\x00\x01",  # a close with an unknown code
        b"\x80\x00",  # a piece of nothing
        b"\x81\x02\xff\xfe",  # no UTF-8
    ],
    ids=lambda data: data[:3].hex(),
)
async def test_broken_frame_is_a_loss_at_once(data: bytes) -> None:
    async def broken(peer: Peer, request: Json) -> None:
        await peer.raw(data)
        await hang()

    async with FakePods(until_stage("step", broken)) as pods:
        began = asyncio.get_running_loop().time()
        with pytest.raises(SandboxLost):
            await play(pods)
        assert asyncio.get_running_loop().time() - began < 1
