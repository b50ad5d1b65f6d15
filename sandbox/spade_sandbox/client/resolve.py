"""Where the pods of a pool are: names to addresses."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from spade_contracts.ports import SANDBOX_SESSIONS
from spade_sandbox.client.pods import Address

RESOLVE_SECONDS = 2.0
"""Pause between two looks at the names."""
LOOKUP_SECONDS = 10.0
Resolve = Callable[[Sequence[str]], Awaitable[tuple[set[Address], bool]]]
"""Targets → all addresses behind them, and whether every target resolved."""


async def resolve(targets: Sequence[str]) -> tuple[set[Address], bool]:
    """All addresses behind the targets, and whether every target resolved; a failing resolver takes no pod away."""
    loop = asyncio.get_running_loop()
    found: set[Address] = set()
    complete = True
    for target in targets:
        host, _, written = target.rpartition(":") if target.count(":") == 1 else (target, "", "")
        port = int(written or SANDBOX_SESSIONS)
        if _is_address(host):
            found.add((host, port))
            continue
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            complete = False
            continue
        found |= {(str(info[4][0]), int(info[4][1])) for info in infos}
    return found, complete


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
