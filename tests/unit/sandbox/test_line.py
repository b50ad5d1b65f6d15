"""A cell's socket: in whatever pieces it talks, each question hears one thing once, and what is kept is bounded."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_sandbox.pod.frames import CHUNK_BYTES, FrameTooLong, framed
from spade_sandbox.pod.line import Heard, Line

LIMIT_BYTES = 1000
PIECES = st.lists(st.integers(1, 40), min_size=1, max_size=20)


@asynccontextmanager
async def line() -> AsyncIterator[tuple[Line, socket.socket]]:
    """A line, and the cell's end of it."""
    ours, theirs = socket.socketpair()
    held = Line(ours)
    try:
        yield held, theirs
    finally:
        held.close()
        theirs.close()


def fill(theirs: socket.socket) -> int:
    """Send until the socket takes no more; the bytes that it took."""
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            sent += theirs.send(bytes(CHUNK_BYTES))
    return sent


async def heard(held: Line, question: bytes = b"?", limit_bytes: int = LIMIT_BYTES) -> Heard:
    """What comes back on one question."""
    future: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()
    held.ask(question, limit_bytes, future.set_result)  # a second call would raise
    async with asyncio.timeout(20):
        return await future


async def _said_in_pieces(payloads: Sequence[bytes], pieces: Sequence[int]) -> list[Heard]:
    async with line() as (held, theirs):
        said, answers = b"".join(framed(payload) for payload in payloads), []
        for payload in payloads:
            waiting = asyncio.ensure_future(heard(held, payload))
            await asyncio.sleep(0)
            for size in pieces if said else ():
                theirs.send(said[:size])
                said = said[size:]
                await asyncio.sleep(0)
            theirs.sendall(said)
            said = b""
            answers.append(await waiting)
        assert theirs.recv(10_000_000) == b"".join(framed(payload) for payload in payloads)
        return answers


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4), PIECES)
def test_frames_arrive_whole_and_in_order_however_they_are_cut(payloads: list[bytes], pieces: list[int]) -> None:
    assert asyncio.run(_said_in_pieces(payloads, pieces)) == payloads


async def _said_to_questions_asked_ahead(payloads: Sequence[bytes], pieces: Sequence[int]) -> list[Heard]:
    async with line() as (held, theirs):
        answers = asyncio.gather(*(heard(held, payload) for payload in payloads))
        await asyncio.sleep(0)
        questions = b"".join(framed(payload) for payload in payloads)
        assert await asyncio.to_thread(theirs.recv, len(questions), socket.MSG_WAITALL) == questions
        said = questions
        for size in pieces:
            theirs.send(said[:size])
            said = said[size:]
            await asyncio.sleep(0)
        theirs.sendall(said)
        return await answers


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6), PIECES)
def test_questions_asked_ahead_are_answered_in_order_however_answers_are_cut(
    payloads: list[bytes], pieces: list[int]
) -> None:
    assert asyncio.run(_said_to_questions_asked_ahead(payloads, pieces)) == payloads


async def test_question_asked_ahead_hears_no_answer_from_before_it_was_sent() -> None:
    async with line() as (held, theirs):
        answers = asyncio.gather(*(heard(held, b"x" * 3_000_000) for _ in range(3)))
        await asyncio.sleep(0)
        theirs.sendall(framed(b"1") + framed(b"2") + framed(b"3"))
        assert (await answers)[-1] == b"", "it lies unsent behind the others"


async def test_of_questions_asked_ahead_only_the_first_hears_that_we_close() -> None:
    async with line() as (held, _):
        answers: list[Heard] = []
        for _ in range(3):
            held.ask(b"?", LIMIT_BYTES, answers.append)
        held.close()
        await asyncio.sleep(0.05)
        assert answers == [None]


async def test_frame_too_long_is_told_from_its_head() -> None:
    async with line() as (held, theirs):
        theirs.sendall(struct.pack(">I", LIMIT_BYTES + 1))
        assert isinstance(await heard(held), FrameTooLong)


@pytest.mark.parametrize("before", [b"", b"\0\0", framed(b"half")[:-1]])
async def test_cell_that_closes_is_heard_as_nothing(before: bytes) -> None:
    async with line() as (held, theirs):
        theirs.sendall(before)
        theirs.close()
        assert await heard(held) is None
        assert await heard(held) is None, "and so is every later question"


async def test_line_that_we_close_answers_the_open_question() -> None:
    async with line() as (held, _):
        waiting = asyncio.ensure_future(heard(held))
        await asyncio.sleep(0)
        held.close()
        assert await waiting is None


async def test_forgotten_question_hears_nothing() -> None:
    async with line() as (held, theirs):
        said: list[Heard] = []
        held.ask(b"?", LIMIT_BYTES, said.append)
        held.forget()
        theirs.sendall(framed(b"late"))
        await asyncio.sleep(0.05)
        assert said == []


async def test_cell_that_talks_unasked_is_not_listened_to_for_ever() -> None:
    async with line() as (_, theirs):
        theirs.setblocking(False)
        sent = 0
        for _ in range(200):
            sent += fill(theirs)
            await asyncio.sleep(0.001)
        assert sent < 100 * CHUNK_BYTES, "its socket fills up"


async def test_question_that_the_cell_does_not_read_waits_without_blocking_and_arrives() -> None:
    async with line() as (held, theirs):
        question = b"x" * 3_000_000
        waiting = asyncio.ensure_future(heard(held, question))
        await asyncio.sleep(0)
        taken = bytearray()
        while len(taken) < len(framed(question)):
            taken += await asyncio.to_thread(theirs.recv, 2**20)
        theirs.sendall(framed(b"read"))
        assert await waiting == b"read"
        assert taken == framed(question)


async def test_answer_to_a_question_that_the_cell_has_not_read_is_none() -> None:
    async with line() as (held, theirs):
        theirs.sendall(framed(b"I know what you will ask"))
        assert await heard(held, b"x" * 3_000_000) == b""


async def test_question_after_the_end_is_answered_with_the_end() -> None:
    async with line() as (held, _):
        held.close()
        assert await heard(held, b"x" * 3_000_000) is None
