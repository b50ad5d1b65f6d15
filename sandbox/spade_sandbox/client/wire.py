"""One WebSocket to a pod, as text messages. Bounded in memory and work, whatever the other end sends.

The protocol is the library's (websockets, its part without I/O); the bounds are ours: a message comes in one piece and
is handed on at once, so nothing is queued; control frames have a budget, so a flood of them cannot keep the worker
busy; what does not fit in the bounds ends the connection. There is no redirect, proxy or extension to be talked into.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import parse_uri

from spade_contracts.protocol import MAX_MESSAGE_BYTES
from spade_sandbox.client.errors import ProtocolViolation, SandboxLost, again

SLICE_BYTES = 16 * 2**10
"""Bytes looked at between two checks: what a flood can make us do before it is noticed."""
CONTROL_FRAMES = 100
"""Pings and pongs a pod may send at once; one more for each second."""
MAX_UNSENT_BYTES = 16 * 2**20
"""A pod that leaves so much unread is lost. More than a link has in flight: only requests given up can lie here."""


class Wire(asyncio.Protocol):
    """The client's end. `ended` completes with the error that says why nothing more will come; it never fails."""

    def __init__(self, address: str) -> None:
        self.address = address
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        """Completes when messages can be sent; look at `ended` too, because a connection may never open."""
        self.ended: asyncio.Future[SandboxLost] = loop.create_future()
        self.on_message: Callable[[bytes | bytearray], None] = lambda message: None
        """Called with each text message, in the loop; it must not raise."""
        self._loop = loop
        self._protocol = ClientProtocol(parse_uri(f"ws://{address}"), max_size=MAX_MESSAGE_BYTES)
        self._transport: asyncio.Transport | None = None
        self._control_frames = 0
        self._began = loop.time()
        self._flush_is_due = False

    def send(self, text: bytes, *, at_once: bool = False) -> None:
        """Send one message, with the others of this turn of the loop or at once.

        Raises what `ended` holds when the connection is gone.
        """
        if not self.ended.done():
            try:
                self._protocol.send_text(text)
            except InvalidState:
                self.end(SandboxLost(f"the connection to {self.address} is not open"))
            else:
                (self._flush if at_once else self._flush_soon)()
        if self.ended.done():
            raise again(self.ended.result())

    def end(self, error: SandboxLost) -> None:
        """Stop: nothing more is read or sent. The first reason stays."""
        if self.ended.done():
            return
        self.ended.set_result(error)
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """End politely: say so if the pod reads, and do not wait for its answer."""
        if not self.ended.done():
            transport = self._transport
            if transport is not None and self._protocol.state is State.OPEN:
                self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
                self._flush()
                if not self.ended.done() and transport.get_write_buffer_size() == 0:
                    transport.close()
        self.end(SandboxLost(f"the connection to {self.address} was closed"))

    # ── called by the loop ──────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        self._transport = cast(asyncio.Transport, transport)
        if self.ended.done():
            self._transport.abort()
            return
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Take bytes, a slice at a time, until the connection ends."""
        for start in range(0, len(data), SLICE_BYTES):
            if self.ended.done():
                return
            self._protocol.receive_data(data[start : start + SLICE_BYTES])
            self._take_events()

    def eof_received(self) -> None:
        """The pod has closed."""
        self.end(SandboxLost(f"{self.address} closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.end(SandboxLost(f"the connection to {self.address} broke: {exc or 'closed'}"))

    # ── parts ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _take_events(self) -> None:
        for event in self._protocol.events_received():
            if self.ended.done():
                return
            if isinstance(event, Frame):
                self._take_frame(event)
            elif isinstance(event, Response) and self._protocol.handshake_exc is None and not self.opened.done():
                self.opened.set_result(None)
        self._flush()
        if self.ended.done():
            return
        if self._protocol.handshake_exc is not None:
            self.end(SandboxLost(f"{self.address} does not speak WebSocket: {_short(self._protocol.handshake_exc)}"))
        elif self._protocol.state is not State.OPEN and self.opened.done():
            self.end(self._why_closing())

    def _take_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.TEXT and frame.fin:
            self.on_message(cast("bytes | bytearray", frame.data))
        elif frame.opcode in (Opcode.PING, Opcode.PONG):
            self._control_frames += 1
            if self._control_frames > CONTROL_FRAMES + (self._loop.time() - self._began):
                self.end(ProtocolViolation(f"{self.address} floods the connection with pings or pongs"))
        elif frame.opcode is not Opcode.CLOSE:
            self.end(ProtocolViolation(f"{self.address} sent a message that is binary or in pieces"))

    def _why_closing(self) -> SandboxLost:
        said = self._protocol.close_rcvd
        if said is not None:
            return SandboxLost(f"{self.address} closed the connection: {said.code} {said.reason[:100]}".rstrip())
        failure = self._protocol.close_sent
        return ProtocolViolation(f"{self.address} broke the WebSocket protocol: {failure.reason if failure else ''}")

    def _flush_soon(self) -> None:
        """Write once for all that is sent in this turn of the loop: with many sessions, far fewer system calls."""
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush_if_open)

    def _flush_if_open(self) -> None:
        self._flush_is_due = False
        if not self.ended.done():
            self._flush()

    def _flush(self) -> None:
        assert self._transport is not None
        data = b"".join(self._protocol.data_to_send())
        if data:  # empty too where the library would half-close; whoever asked for that ends the connection
            self._transport.write(data)
        if self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self.end(SandboxLost(f"{self.address} does not read what is sent"))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
