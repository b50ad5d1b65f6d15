"""The beacon: a trusted pod that listens like an engine and tries the probe's targets as a worker may (design §11).

It is the positive control of the isolation probe: what a sandbox did not reach proves something only if it can be
reached at all. Targets are read again each round, because some are known only later.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from pydantic import ValidationError

from spade_contracts.isolation import PROBE_TARGETS, TARGETS_PATH, ProbeTarget, TransportProtocol
from spade_contracts.ports import ENGINE_DATA, WORKER_STATUS
from spade_contracts.statuses import BeaconStatus, ProbeAttempt
from spade_trainer.workers.status_port import serve_status

ATTEMPT_SECONDS = 2.0
ROUND_PAUSE_SECONDS = 2.0
DNS_QUERY = bytes.fromhex("5350010000010000000000000000020001")
"""A query for the root's name servers: any DNS server answers it with something."""


async def beacon(
    boot_id: str,
    *,
    targets: Path = Path(TARGETS_PATH),
    data_port: int = ENGINE_DATA,
    status_port: int = WORKER_STATUS,
    pause_seconds: float = ROUND_PAUSE_SECONDS,
) -> None:
    """Listen and try until cancelled."""
    latest = BeaconStatus(boot_id=boot_id, attempts=())
    async with _answering(data_port), serve_status(status_port, lambda: latest):
        while True:
            attempts = await asyncio.gather(*(attempt(target) for target in read_targets(targets)))
            latest = BeaconStatus(boot_id=boot_id, attempts=tuple(attempts))
            await asyncio.sleep(pause_seconds)


def read_targets(path: Path) -> tuple[ProbeTarget, ...]:
    """The targets in a file; none while it is missing or being replaced."""
    try:
        return PROBE_TARGETS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return ()


async def attempt(target: ProbeTarget) -> ProbeAttempt:
    """One connection attempt: a TCP connection made, or a UDP datagram answered, is a target reached."""
    connect = _tcp if target.protocol is TransportProtocol.TCP else _udp
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            detail = await connect(str(target.host), target.port)
        reached = True
    except TimeoutError:
        reached, detail = False, "no answer"
    except OSError as error:
        reached, detail = False, str(error)[:300]
    return ProbeAttempt(
        name=target.name,
        kind=target.kind.value,
        host=str(target.host),
        port=target.port,
        protocol=target.protocol.value,
        reached=reached,
        detail=detail,
    )


@asynccontextmanager
async def _answering(port: int) -> AsyncIterator[None]:
    """An HTTP server that answers 200 to everything, while the block runs."""

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(text="beacon\n")

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, None, port).start()
        yield
    finally:
        await runner.cleanup()


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
