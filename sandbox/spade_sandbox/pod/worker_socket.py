"""A worker's WebSocket: messages are handed on where they are parsed, and answers of one turn go out together.

The WebSocket is the library's (picows, compiled); how much is taken and held is ours. Each turn of the event loop and
each send is a system call, and those are what a step costs in gVisor: so nothing is queued between the socket and
whoever listens, and an answer is sent with what else is answered in its turn.
"""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable

from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport

RECEIVE_BYTES = 64 * 2**10
"""Asked of the kernel, which gives about twice as much: what can lie there is the most that is parsed in one go."""
MAX_REQUESTS_IN_FLIGHT = 512
"""Above it the connection is not read."""
MESSAGES_IN_A_TURN = 64
"""Of one connection; then others have their turn."""
DEAF_SECONDS = 60.0
"""A worker that does not read its answers for so long is gone."""
PING_SECONDS = 20.0
PONG_SECONDS = 60.0
"""A worker that does not answer a ping for so long is gone, and its sessions with it."""
CLOSE_SECONDS = 10.0
"""For the worker to say goodbye too."""
_WHOLE = (WSMsgType.TEXT, WSMsgType.BINARY)
_TEXT = 0x81
"""First byte of a whole text message."""
_SHORT, _MIDDLE, _LONG = struct.Struct(">BB"), struct.Struct(">BBH"), struct.Struct(">BBQ")


class Socket(WSListener):
    """One connection. `connected` is called once it is open and gives what takes each message."""

    def __init__(self, connected: "Callable[[Socket], Callable[[bytes], None]]") -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Completes when the connection has ended."""
        self._connected = connected
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        """Messages of this turn beyond its share."""
        self._answers: list[bytes] = []
        """Frames of this turn that have not been sent."""
        self._share = MESSAGES_IN_A_TURN
        self._in_flight = 0
        self._refused = False
        self._paused = False
        self._reads = True
        self._deaf: asyncio.TimerHandle | None = None
        self._pinging: asyncio.TimerHandle | None = None
        self._asked_at: float | None = None
        """When the first ping was sent that has not been answered."""

    def answer(self, text: bytes) -> None:
        """Send it: at once if nothing else is under way, else together with what else is answered in this turn."""
        self._in_flight -= 1
        self._answers.append(text_frame(text))
        if not self._in_flight:
            self._flush()
        elif len(self._answers) == 1:
            self._loop.call_soon(self._flush)
        if not self._reads:
            self._heed_room()

    def refuse(self) -> None:
        """Take no further message; what has been answered is still sent."""
        self._refused = True
        self._waiting.clear()

    def close(self, code: WSCloseCode, why: str) -> None:
        """Take no further message, say goodbye, and go once the worker has said so too, or will not."""
        self.refuse()
        self._flush()
        self._transport.send_close(code, why.encode())
        self._loop.call_later(CLOSE_SECONDS, self.abort)

    def abort(self) -> None:
        """End it now."""
        self._transport.underlying_transport.abort()

    # ── called by the library and the loop ──────────────────────────────────────────────────────────────────────

    def on_ws_connected(self, transport: WSTransport) -> None:
        """It is open."""
        self._transport = transport
        peer = transport.underlying_transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        self._on_message = self._connected(self)
        self._pinging = self._loop.call_later(PING_SECONDS, self._ping)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """Take a whole message."""
        kind = frame.msg_type
        if kind in _WHOLE and frame.fin:
            if not self._refused:
                self._take(frame.get_payload_as_bytes())
        elif kind == WSMsgType.CLOSE:
            self.refuse()
            self._flush()
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
        elif kind == WSMsgType.PONG:
            self._asked_at = None
        else:
            self.close(WSCloseCode.UNSUPPORTED_DATA, "a message comes in one piece")
        if frame.last_in_buffer:
            self._share = MESSAGES_IN_A_TURN

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """It is gone."""
        self.refuse()
        self._hears()
        if self._pinging is not None:
            self._pinging.cancel()
        if not self.gone.done():
            self.gone.set_result(None)

    def pause_writing(self) -> None:
        """The worker does not read its answers; one that goes on like that is gone, and its sessions with it."""
        self._paused = True
        self._deaf = self._loop.call_later(DEAF_SECONDS, self.abort)
        self._heed_room()

    def resume_writing(self) -> None:
        """It reads again."""
        self._paused = False
        self._hears()
        self._heed_room()

    # ── parts ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, message: bytes) -> None:
        if self._share and not self._waiting:
            self._share -= 1
            self._hand_on(message)
            return
        self._waiting.append(message)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._take_waiting)
        self._heed_room()

    def _take_waiting(self) -> None:
        for _ in range(min(MESSAGES_IN_A_TURN, len(self._waiting))):
            if self._waiting:  # the first one may have been refused, and the rest with it
                self._hand_on(self._waiting.popleft())
        if self._waiting:
            self._loop.call_soon(self._take_waiting)
        self._heed_room()

    def _hand_on(self, message: bytes) -> None:
        self._in_flight += 1
        if self._in_flight > MAX_REQUESTS_IN_FLIGHT:
            self._heed_room()
        self._on_message(message)

    def _heed_room(self) -> None:
        """Read on only while there is room for requests and for their answers."""
        reads = not (self._waiting or self._in_flight > MAX_REQUESTS_IN_FLIGHT or self._paused)
        if reads != self._reads:
            self._reads = reads
            transport = self._transport.underlying_transport
            (transport.resume_reading if reads else transport.pause_reading)()

    def _flush(self) -> None:
        """One system call for all frames."""
        answers, self._answers = self._answers, []
        if answers and not (self._transport.is_close_frame_sent or self._transport.is_disconnected):
            self._transport.underlying_transport.write(answers[0] if len(answers) == 1 else b"".join(answers))

    def _ping(self) -> None:
        now = self._loop.time()
        if self._asked_at is not None and now - self._asked_at >= PONG_SECONDS:
            self.abort()
            return
        self._transport.send_ping()
        self._asked_at = self._asked_at or now
        self._pinging = self._loop.call_later(PING_SECONDS, self._ping)

    def _hears(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None


def text_frame(text: bytes) -> bytes:
    """A whole text message as a server sends it (RFC 6455 §5.2)."""
    size = len(text)
    if size < 126:
        return _SHORT.pack(_TEXT, size) + text
    if size < 2**16:
        return _MIDDLE.pack(_TEXT, 126, size) + text
    return _LONG.pack(_TEXT, 127, size) + text
