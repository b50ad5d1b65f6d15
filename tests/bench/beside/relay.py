"""The barest sandbox there could be: a server that hands each message to one of many processes, which send it back.

`python relay.py PORT` runs anywhere. No JSON, no WebSocket, no checks, no walls: what is slower than an echo here is
the price of a process for each program, whatever the protocol.
"""

import asyncio
import os
import socket
import sys
import time

PROCESSES = 64
MESSAGE_BYTES = 200
"""As long as a short step and its answer; the first two are the process's number."""


def serve_in_a_process(ours: socket.socket) -> None:
    """Send back what is read, until the other end closes; never returns."""
    while message := os.read(ours.fileno(), MESSAGE_BYTES):
        os.write(ours.fileno(), message)
    os._exit(0)


def fork_processes() -> list[socket.socket]:
    """The server's end of each process's socket."""
    ends = []
    for _ in range(PROCESSES):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            serve_in_a_process(theirs)
        theirs.close()
        ends.append(ours)
    return ends


class Relay(asyncio.Protocol):
    """One client; messages have one length, so they need no frames."""

    def __init__(self, processes: list[socket.socket]) -> None:
        self._processes = processes
        self._held = b""
        self._answers: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Listen to the processes."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        loop = asyncio.get_running_loop()
        for process in self._processes:
            loop.add_reader(process.fileno(), self._answered, process)

    def data_received(self, data: bytes) -> None:
        """Hand on each message."""
        self._held += data
        while len(self._held) >= MESSAGE_BYTES:
            message, self._held = self._held[:MESSAGE_BYTES], self._held[MESSAGE_BYTES:]
            self._processes[int(message[:2])].send(message)

    def _answered(self, process: socket.socket) -> None:
        self._answers.append(process.recv(MESSAGE_BYTES))
        if len(self._answers) == 1:
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self.transport.write(b"".join(self._answers))
        self._answers.clear()


async def serve(port: int, processes: list[socket.socket]) -> None:
    """Serve one client after the other until killed."""
    server = await asyncio.get_running_loop().create_server(lambda: Relay(processes), "127.0.0.1", port)
    await server.serve_forever()


class _Asking(asyncio.Protocol):
    """Keeps a message in flight at each of so many processes."""

    def __init__(self, processes: int) -> None:
        self.round_trips = 0
        self._numbers = range(processes)
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.transport.write(b"".join(f"{number:02}".encode().ljust(MESSAGE_BYTES) for number in self._numbers))

    def data_received(self, data: bytes) -> None:
        self._held += data
        whole = len(self._held) // MESSAGE_BYTES
        if whole:
            self.round_trips += whole
            self.transport.write(self._held[: whole * MESSAGE_BYTES])
            self._held = self._held[whole * MESSAGE_BYTES :]


async def round_trips(port: int, processes: int, seconds: float) -> float:
    """Messages there and back per second, one in flight at each process."""
    transport, asking = await asyncio.get_running_loop().create_connection(
        lambda: _Asking(processes), "127.0.0.1", port
    )
    began, before = time.monotonic(), asking.round_trips
    await asyncio.sleep(seconds)
    rate = (asking.round_trips - before) / (time.monotonic() - began)
    transport.abort()
    await asyncio.sleep(0.1)
    return rate


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), fork_processes()))
