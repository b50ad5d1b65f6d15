"""A worker's socket sends valid WebSocket, shares the loop, and does not wait for ever for a worker that is gone."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from picows import WSMsgType
from websockets.frames import Frame, Opcode

from spade_sandbox.pod.worker_socket import MESSAGES_IN_A_TURN, PING_SECONDS, PONG_SECONDS, Socket, text_frame


@dataclass
class Transport:
    """What a socket does with its connection; both of the library's layers in one."""

    done: list[str] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    is_close_frame_sent = False
    is_disconnected = False

    @property
    def underlying_transport(self) -> "Transport":
        """The layer below."""
        return self

    def get_extra_info(self, _: str) -> Any:
        """The kernel's socket."""
        return self

    def setsockopt(self, *_: int) -> None:
        """Of no interest here."""

    def write(self, data: bytes) -> None:
        """One system call."""
        self.sent.append(data)

    def send_ping(self) -> None:
        """Ask whether the worker is there."""
        self.done.append("ping")

    def abort(self) -> None:
        """End the connection."""
        self.done.append("abort")

    def pause_reading(self) -> None:
        """Take no more bytes."""
        self.done.append("pause")

    def resume_reading(self) -> None:
        """Take bytes again."""
        self.done.append("resume")


@dataclass
class Received:
    """A frame as the library hands it on."""

    payload: bytes = b"{}"
    msg_type: WSMsgType = WSMsgType.TEXT
    fin: bool = True
    last_in_buffer: bool = True

    def get_payload_as_bytes(self) -> bytes:
        """Its text."""
        return self.payload


def connected(taken: list[bytes]) -> tuple[Any, Transport]:
    """A socket whose messages are taken and not answered, and its transport."""
    socket, transport = Socket(lambda _: taken.append), Transport()
    socket.on_ws_connected(transport)  # type: ignore[arg-type]
    return socket, transport


@given(st.binary(max_size=300) | st.integers(0, 2**17).map(bytes))
def test_text_frame_is_as_another_library_makes_it(text: bytes) -> None:
    assert text_frame(text) == Frame(Opcode.TEXT, text).serialize(mask=False, extensions=[])


@pytest.mark.looptime
async def test_answers_of_one_turn_go_out_together_and_a_lone_one_at_once() -> None:
    socket, transport = connected([])
    for _ in range(3):
        socket.on_ws_frame(transport, Received())
    socket.answer(b"1")
    socket.answer(b"2")
    await asyncio.sleep(0)
    assert transport.sent == [text_frame(b"1") + text_frame(b"2")]
    socket.answer(b"3")
    assert transport.sent[1:] == [text_frame(b"3")]


@pytest.mark.looptime
async def test_messages_beyond_a_share_wait_for_the_next_turn_and_keep_their_order() -> None:
    taken: list[bytes] = []
    socket, transport = connected(taken)
    texts = [b"%d" % number for number in range(3 * MESSAGES_IN_A_TURN)]
    for text in texts:
        socket.on_ws_frame(transport, Received(text, last_in_buffer=text == texts[-1]))
    assert taken == texts[:MESSAGES_IN_A_TURN]
    assert transport.done == ["pause"]
    await asyncio.sleep(0.1)
    assert taken == texts
    assert transport.done == ["pause", "resume"]


@pytest.mark.looptime
async def test_worker_that_answers_no_ping_is_gone() -> None:
    _, transport = connected([])
    await asyncio.sleep(PING_SECONDS + PONG_SECONDS + PING_SECONDS)
    assert transport.done[-1] == "abort"
    assert transport.done.count("abort") == 1


@pytest.mark.looptime
async def test_worker_that_answers_pings_stays() -> None:
    socket, transport = connected([])
    for _ in range(20):
        await asyncio.sleep(PONG_SECONDS)
        socket.on_ws_frame(transport, Received(msg_type=WSMsgType.PONG))
    assert "abort" not in transport.done
