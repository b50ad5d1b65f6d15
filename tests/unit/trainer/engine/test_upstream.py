"""The client of vLLM's server does not meet a connection that the server has just ended."""

import asyncio
from pathlib import Path

from spade_trainer.engine import upstream

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


async def test_requests_go_through_though_the_server_ends_connections_between_them(tmp_path: Path) -> None:
    """As uvicorn's keep-alive limit does: the connection promises to stay, and is gone when the next request comes."""
    answered = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        answered += 1
        await reader.read(1)
        writer.transport.abort()

    socket = tmp_path / "vllm.sock"
    async with await asyncio.start_unix_server(serve, str(socket)), upstream.connect(socket) as session:
        for _ in range(3):
            await upstream.resume(session, seconds=30)
    assert answered == 3
