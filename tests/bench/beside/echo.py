"""The barest server there is: it sends back what it reads. `python echo.py PORT` runs anywhere."""

import asyncio
import sys
import time

MESSAGE = b"x" * 199 + b"\n"
"""As long as a short step and its answer."""


class Echo(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Send it back."""
        self.transport.write(data)


async def serve(port: int) -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", port)
    await server.serve_forever()


class _Asking(asyncio.Protocol):
    """Sends a message whenever the last one has come back."""

    def __init__(self) -> None:
        self.round_trips = 0
        self._missing = len(MESSAGE)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.transport.write(MESSAGE)

    def data_received(self, data: bytes) -> None:
        self._missing -= len(data)
        if self._missing == 0:
            self.round_trips += 1
            self._missing = len(MESSAGE)
            self.transport.write(MESSAGE)


async def round_trips(port: int, connections: int, seconds: float) -> float:
    """Messages there and back per second, one in flight on each connection."""
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(_Asking, "127.0.0.1", port) for _ in range(connections)]
    began, before = time.monotonic(), sum(asking.round_trips for _, asking in made)
    await asyncio.sleep(seconds)
    rate = (sum(asking.round_trips for _, asking in made) - before) / (time.monotonic() - began)
    for transport, _ in made:
        transport.abort()
    return rate


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
