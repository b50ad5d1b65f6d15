"""The isolation probe: is this gVisor, and is the network closed? Run at start, before the first program (design §11).

gVisor is believed only on two marks together: the kernel log begins with gVisor's start line, and /proc/version has the
string that gVisor's kernel gives itself. An ordinary container may read its host's log or no log at all; neither
begins so. A target counts as reached when a TCP connection is made or a UDP datagram is answered; a refusal is not
reaching, because a policy that rejects looks the same, so targets must be
places that listen (the beacon proves it).
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from spade_contracts.isolation import ProbeTarget, TransportProtocol
from spade_contracts.statuses import ProbeAttempt, ProbeResult
from spade_sandbox.pod import linux

ATTEMPT_SECONDS = 1.0
ROUND_PAUSE_SECONDS = 0.5
MAX_KERNEL_CHARACTERS = 300
_GVISOR_LOG = re.compile(r"^(<\d+>)?\[ *0\.0+\] Starting gVisor\.\.\.")
_GVISOR_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"
_DNS_QUERY = bytes.fromhex("5350010000010000000000000000020001")
"""A query for the root's name servers: any DNS server answers it with something."""


def is_gvisor(kernel_log: str, version: str) -> bool:
    """Whether these two marks, the kernel log's beginning and /proc/version, are gVisor's."""
    return _GVISOR_LOG.match(kernel_log) is not None and version.strip() == _GVISOR_VERSION


def read_marks() -> tuple[str, str]:
    """The kernel log's beginning and /proc/version of this machine."""
    try:
        version = Path("/proc/version").read_text("utf-8", "replace")
    except OSError:
        version = ""
    return linux.kernel_log(), version


async def run_probe(targets: Sequence[ProbeTarget], patience_seconds: float) -> ProbeResult:
    """Try all targets in rounds until one round reaches none of them, or patience ends.

    The result holds the attempts of the last round: it is closed exactly if none of them reached its target.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    log, version = read_marks()
    while True:
        attempts = tuple(await asyncio.gather(*(_attempt(target) for target in targets)))
        elapsed = loop.time() - started
        if not any(attempt.reached for attempt in attempts) or elapsed >= patience_seconds:
            return ProbeResult(
                gvisor=is_gvisor(log, version),
                kernel=version.strip()[:MAX_KERNEL_CHARACTERS],
                attempts=attempts,
                seconds=elapsed,
            )
        await asyncio.sleep(ROUND_PAUSE_SECONDS)


async def _attempt(target: ProbeTarget) -> ProbeAttempt:
    try_target = _try_tcp if target.protocol is TransportProtocol.TCP else _try_udp
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            detail = await try_target(str(target.host), target.port)
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


async def _try_tcp(host: str, port: int) -> str:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return "connected"


class _FirstAnswer(asyncio.DatagramProtocol):
    def __init__(self, answered: "asyncio.Future[str]") -> None:
        self._answered = answered

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self._answered.done():
            self._answered.set_result(f"answered with {len(data)} bytes")

    def error_received(self, exc: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(exc)


async def _try_udp(host: str, port: int) -> str:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(lambda: _FirstAnswer(answered), remote_addr=(host, port))
    try:
        transport.sendto(_DNS_QUERY)
        return await answered
    finally:
        transport.close()
