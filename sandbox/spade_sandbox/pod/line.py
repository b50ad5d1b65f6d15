"""The server's end of one cell's socket: frames out at once, frames in by a callback.

It goes straight to the socket, because each turn of the event loop between a step's bytes and its answer is a system
call, and those are what a step costs in gVisor.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from spade_sandbox.pod.frames import CHUNK_BYTES, FrameTooLong, framed, take_frame, whole_frame

Heard = bytes | FrameTooLong | None
"""A frame; that one was announced which is too long; or that the cell has closed."""


class Line:
    """Questions are answered in their order; what a cell says unasked waits for the next one.

    Those that are asked while one is open go out together, at the loop's next turn.
    """

    def __init__(self, ours: socket.socket) -> None:
        ours.setblocking(False)
        self._socket = ours
        self._loop = asyncio.get_running_loop()
        self._held = bytearray()
        self._unsent = bytearray()
        self._later: list[bytes] = []
        """Frames for the loop's next turn."""
        self._open: deque[tuple[int, Callable[[Heard], None]]] = deque()
        """Longest answer, and what hears it."""
        self._reads = False
        self._is_over = False
        self._listen()

    def ask(self, payload: bytes, limit_bytes: int, heard: Callable[[Heard], None]) -> None:
        """Send a frame, and call `heard` once with what comes back, never before this returns."""
        self._open.append((limit_bytes, heard))
        if len(self._open) == 1:
            self._send(framed(payload))
        else:
            self._later.append(framed(payload))
            if len(self._later) == 1:
                self._loop.call_soon(self._send_later)
        if self._held or self._is_over:
            self._loop.call_soon(self._look)
        self._listen()

    def forget(self) -> None:
        """All open questions are given up; nothing more is heard."""
        self._open.clear()

    def close(self) -> None:
        """The first open question hears that the cell has closed, the others nothing. Closing twice is no error."""
        opened, self._open, self._is_over = self._open, deque(), True
        self._unsent.clear()
        self._later.clear()
        if self._socket.fileno() >= 0:
            self._deafen()
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
        if opened:
            opened[0][1](None)

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
        if self._open and not self._held and self._has_read_first:
            whole = whole_frame(part, self._open[0][0])
            if whole is not None:
                self._open.popleft()[1](whole)
                return
        if part:
            self._held += part
        else:
            self._is_over = True
            self._deafen()
        self._look()
        if not self._open and len(self._held) > CHUNK_BYTES:
            self._deafen()  # talks unasked: it is read on with the next question

    @property
    def _has_read_first(self) -> bool:
        """Whether the cell can have read the first open question, as far as it is known."""
        return len(self._open) > len(self._later) + bool(self._unsent)

    def _look(self) -> None:
        while self._open:
            try:
                said: Heard = take_frame(self._held, self._open[0][0])
                if said is not None and not self._has_read_first:
                    said = b""
            except FrameTooLong as error:
                said = error
            if said is None and not self._is_over:
                return
            self._open.popleft()[1](said)

    def _send_later(self) -> None:
        later, self._later = b"".join(self._later), []
        self._send(later)

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
