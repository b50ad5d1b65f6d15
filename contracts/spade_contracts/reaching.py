"""How a target of the isolation probe is tried: one way for sandboxes and for the beacon.

That a sandbox does not reach a target proves something only if the same try succeeds from elsewhere (design §11), so
both use this. A target counts as reached when a TCP connection is made or a UDP datagram is answered; a refusal is not
reaching, because a policy that rejects looks the same.
"""

import asyncio

from spade_contracts.isolation import ProbeTarget, TransportProtocol
from spade_contracts.statuses import ProbeAttempt

DNS_QUERY = bytes.fromhex("5350010000010000000000000000020001")
"""A query for the root's name servers: any DNS server answers it with something."""
MAX_DETAIL_CHARACTERS = 300


async def try_target(target: ProbeTarget, deadline_seconds: float) -> ProbeAttempt:
    """One attempt at a target. Never raises for what the network does."""
    connect = _tcp if target.protocol is TransportProtocol.TCP else _udp
    try:
        async with asyncio.timeout(deadline_seconds):
            detail = await connect(str(target.host), target.port)
        reached = True
    except TimeoutError:
        reached, detail = False, "no answer"
    except OSError as error:
        reached, detail = False, str(error)[:MAX_DETAIL_CHARACTERS]
    return ProbeAttempt(
        name=target.name,
        kind=target.kind.value,
        host=str(target.host),
        port=target.port,
        protocol=target.protocol.value,
        reached=reached,
        detail=detail,
    )


async def _tcp(host: str, port: int) -> str:
    """Connect and leave."""
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return "connected"


class _FirstAnswer(asyncio.DatagramProtocol):
    """Completes a future with the first datagram or error."""

    def __init__(self, answered: "asyncio.Future[str]") -> None:
        self._answered = answered

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self._answered.done():
            self._answered.set_result(f"answered with {len(data)} bytes")

    def error_received(self, exc: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(exc)


async def _udp(host: str, port: int) -> str:
    """Ask a DNS server for anything."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(lambda: _FirstAnswer(answered), remote_addr=(host, port))
    try:
        transport.sendto(DNS_QUERY)
        return await answered
    finally:
        transport.close()
