"""Back-pressure of one link: a bound on what is sent and not answered. All go in by order of arrival."""

import asyncio
from collections import deque


class Gate:
    """Room for so many requests, and so many bytes of requests, at once.

    A request larger than all the room goes when it is alone, so nothing waits for ever.
    """

    def __init__(self, requests: int, size_bytes: int) -> None:
        self._requests_left = requests
        self._bytes_left = size_bytes
        self._inside = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._entering = 0
        """Let in, but not awake yet: who comes now must not overtake them."""

    def enter_now(self, size_bytes: int) -> bool:
        """Take room if there is some and nobody waits; then `leave` must follow. Whether it was taken."""
        if self._waiting or self._entering or not self._fits(size_bytes):
            return False
        self._take(size_bytes)
        return True

    async def enter(self, size_bytes: int) -> None:
        """Wait for room and take it; `leave` must follow."""
        if self.enter_now(size_bytes):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._entering -= 1
                self.leave(size_bytes)  # let in and cancelled in the same instant
            else:
                self._let_in()  # it may have held up smaller ones behind it
            raise
        self._entering -= 1
        self._let_in()

    def leave(self, size_bytes: int) -> None:
        """Give the room back."""
        self._inside -= 1
        self._requests_left += 1
        self._bytes_left += size_bytes
        self._let_in()

    def _fits(self, size_bytes: int) -> bool:
        return self._requests_left > 0 and (size_bytes <= self._bytes_left or self._inside == 0)

    def _take(self, size_bytes: int) -> None:
        self._inside += 1
        self._requests_left -= 1
        self._bytes_left -= size_bytes

    def _let_in(self) -> None:
        while self._waiting:
            size_bytes, turn = self._waiting[0]
            if not turn.done():
                if not self._fits(size_bytes):
                    return
                self._take(size_bytes)
                self._entering += 1
                turn.set_result(None)
            self._waiting.popleft()
