"""The server's end of one cell's socket: frames out at once, frames in by a callback.

It goes straight to the socket, because each turn of the event loop between a step's bytes and its answer is a system
call, and those are what a step costs in gVisor.
"""

import asyncio
import socket
from collections.abc import Callable

from spade_sandbox.pod.frames import CHUNK_BYTES, FrameTooLong, framed, take_frame, whole_frame

Heard = bytes | FrameTooLong | None
"""A frame; that one was announced which is too long; or that the cell has closed."""


class Line:
    """One question at a time; what a cell says unasked waits for the next one, and is no answer to it."""

    def __init__(self, ours: socket.socket) -> None:
        ours.setblocking(False)
        self._socket = ours
        self._loop = asyncio.get_running_loop()
        self._held = bytearray()
        self._unsent = bytearray()
        self._limit_bytes = 0
        self._heard: Callable[[Heard], None] | None = None
        self._reads = False
        self._is_over = False
        self._listen()

    def ask(self, payload: bytes, limit_bytes: int, heard: Callable[[Heard], None]) -> None:
        """Send a frame, and call `heard` once with what comes back, never before this returns."""
        self._heard, self._limit_bytes = heard, limit_bytes
        self._send(framed(payload))
        if self._held or self._is_over:
            self._loop.call_soon(self._look)
        self._listen()

    def forget(self) -> None:
        """The open question is given up; nothing more is heard."""
        self._heard = None

    def close(self) -> None:
        """An open question hears that the cell has closed. Closing twice is no error."""
        heard, self._heard, self._is_over = self._heard, None, True
        self._unsent.clear()
        if self._socket.fileno() >= 0:
            self._deafen()
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
        if heard is not None:
            heard(None)

    def _listen(self) -> None:
        if not self._reads and not self._is_over:
            self._loop.add_reader(self._socket.fileno(), self._read)
            self._reads = True

    def _deafen(self) -> None:
        if self._reads:
            self._loop.remove_reader(self._socket.fileno())
            self._reads = False

    def _read(self) -> None:
        try:
            part = self._socket.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if self._heard is not None and not self._held and not self._unsent:
            whole = whole_frame(part, self._limit_bytes)
            if whole is not None:
                heard, self._heard = self._heard, None
                heard(whole)
                return
        if part:
            self._held += part
        else:
            self._is_over = True
            self._deafen()
        if self._heard is not None:
            self._look()
        elif len(self._held) > CHUNK_BYTES:
            self._deafen()  # talks unasked: it is read on with the next question

    def _look(self) -> None:
        if self._heard is None:
            return
        try:
            said: Heard = take_frame(self._held, self._limit_bytes)
            if said is not None and self._unsent:
                said = b""  # it cannot have read the question
        except FrameTooLong as error:
            said = error
        if said is not None or self._is_over:
            heard, self._heard = self._heard, None
            heard(said)

    def _send(self, data: bytes) -> None:
        """Send what the socket takes now and the rest when it can; a dead cell shows when its answer is awaited."""
        if self._is_over:
            return
        try:
            sent = 0 if self._unsent else self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._loop.add_writer(self._socket.fileno(), self._send_rest)

    def _send_rest(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())
