"""What a program prints: read from its pipe, counted, thrown away; too much of it ends the program.

A pipe and not a file or /dev/null, because only the reader's count cannot be got around by the program.
"""

import asyncio
import os
from collections.abc import Callable

CHUNK_BYTES = 64 * 2**10


class Output:
    """The reading end of one cell's standard output and error."""

    def __init__(self, descriptor: int) -> None:
        self.bytes = 0
        self._descriptor = descriptor
        self._allowed = 0
        self._exceeded: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def limit(self, allowed_bytes: int, exceeded: Callable[[], None]) -> None:
        """From now on call `exceeded`, once, when more than this has been printed."""
        self._allowed, self._exceeded = allowed_bytes, exceeded

    def close(self) -> None:
        """Stop reading; what is printed from then on fails. Closing twice is no error."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        try:
            count = len(os.read(self._descriptor, CHUNK_BYTES))
        except BlockingIOError:
            return
        if not count:
            self.close()
            return
        self.bytes += count
        if self._exceeded is not None and self.bytes > self._allowed:
            exceeded, self._exceeded = self._exceeded, None
            self._loop.remove_reader(self._descriptor)  # a flood costs the server no more than its limit
            exceeded()
