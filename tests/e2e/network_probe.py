"""What probe pods run: `serve PORT…` answers on these ports, `try TARGETS` says which of the targets it reached.

TARGETS is a JSON list of [host, port, protocol]. All are tried at once; the answer is a JSON list of the same form.
The standard library alone, because it is handed to a bare Python as text.
"""

import asyncio
import json
import sys

TRY_SECONDS = 3.0
QUERY = b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01"
"""The name servers of the root."""
Target = tuple[str, int, str]


async def serve(ports: list[int]) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    for port in ports:
        await asyncio.start_server(answer, "0.0.0.0", port)
    print("listening", flush=True)
    await asyncio.Event().wait()


async def reached(target: Target) -> bool:
    host, port, protocol = target
    try:
        async with asyncio.timeout(TRY_SECONDS):
            return await (by_udp(host, port) if protocol == "udp" else by_tcp(host, port))
    except (OSError, TimeoutError):
        return False


async def by_tcp(host: str, port: int) -> bool:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return True


async def by_udp(host: str, port: int) -> bool:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bool] = loop.create_future()

    class Asking(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, address: object) -> None:
            if not answered.done():
                answered.set_result(True)

        def error_received(self, error: Exception) -> None:
            if not answered.done():
                answered.set_result(False)

    transport, _ = await loop.create_datagram_endpoint(Asking, remote_addr=(host, port))
    try:
        transport.sendto(QUERY)
        return await answered
    finally:
        transport.close()


async def attempt(targets: list[Target]) -> list[Target]:
    found = await asyncio.gather(*map(reached, targets))
    return [target for target, there in zip(targets, found, strict=True) if there]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve([int(port) for port in sys.argv[2:]]))
    else:
        print(json.dumps(asyncio.run(attempt([tuple(target) for target in json.loads(sys.argv[2])]))))
