"""Listen where tests let addresses of this machine stand for a metadata service and for an outside host.

Usage: stand_ins.py ADDRESS:PORT...     each connection is answered with one line and closed
"""

import asyncio
import sys


async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say that the address was reached."""
    writer.write(b"HTTP/1.0 200 OK\r\n\r\nreached\n")
    writer.close()


async def serve(places: list[str]) -> None:
    """Serve all places until a signal ends the process."""
    servers = []
    for place in places:
        host, _, port = place.rpartition(":")
        servers.append(await asyncio.start_server(answer, host, int(port)))
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
