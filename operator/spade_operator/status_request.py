"""`GET /status` of one pod, made for ten thousand pods: a connection, one answer, bounded in time and size.

The parser is a library's (httptools, compiled). A whole HTTP client takes several times the processor time for each
question, and questions are most of what the operator does while nothing happens.
"""

import asyncio

import httptools

from spade_contracts.ports import authority

MAX_ANSWER_BYTES = 256 * 1024
MAX_HEAD_BYTES = 16 * 1024
OK = 200


class BadAnswer(Exception):
    """A pod answered something that is no status."""


async def get_status(host: str, port: int, seconds: float) -> bytes:
    """The body of the answer, as it was sent: redirects are not followed, nothing is decompressed.

    Raises BadAnswer, OSError, or TimeoutError after so many seconds.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        transport, answer = await loop.create_connection(lambda: _Answer(loop), host, port)
        try:
            transport.write(
                f"GET /status HTTP/1.1\r\nHost: {authority(host, port)}\r\nAccept: application/json\r\n"
                "Accept-Encoding: identity\r\nConnection: close\r\n\r\n".encode()
            )
            return await answer.whole
        finally:
            transport.abort()


class _Answer(asyncio.Protocol):
    """One answer as it comes; `whole` completes with its body, or fails. What comes after that is passed over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.whole: asyncio.Future[bytes] = loop.create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._received = 0
        self._body = bytearray()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if self.whole.done():
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(BadAnswer(f"it is not HTTP: {error}"))
        if self._received - len(self._body) > MAX_HEAD_BYTES:
            self._fail(BadAnswer(f"more than {MAX_HEAD_BYTES} bytes beside the body"))

    def connection_lost(self, error: Exception | None) -> None:
        """Called by the loop; an answer that does not say where it ends is none."""
        self._fail(error if isinstance(error, OSError) else BadAnswer("the connection ended before the answer"))

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        if status != OK:
            self._fail(BadAnswer(f"HTTP status {status}"))

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        if self.whole.done():
            return
        self._body += part
        if len(self._body) > MAX_ANSWER_BYTES:
            self._fail(BadAnswer(f"more than {MAX_ANSWER_BYTES} bytes"))

    def on_message_complete(self) -> None:
        """Called by the parser."""
        if not self.whole.done():
            self.whole.set_result(bytes(self._body))

    def _fail(self, error: Exception) -> None:
        if not self.whole.done():
            self.whole.set_exception(error)
