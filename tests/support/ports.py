"""Ports of loopback for the servers that tests start.

A port that the kernel picks can be another connection's own by the time a server listens on it, so these come from
below the kernel's range, and below node ports; each process of pytest-xdist has a share of its own.
"""

import os
import socket
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice

FIRST, SHARES, PORTS_OF_A_SHARE = 21_000, 8, 1_000


def free_port() -> int:
    """As `free_ports`."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; a process is given the same one again only after all others of its share."""
    return list(islice(filter(_is_free, _ports_of_this_process()), count))


@cache
def _ports_of_this_process() -> Iterator[int]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    first = FIRST + int(worker) % SHARES * PORTS_OF_A_SHARE
    begin = os.getpid() % PORTS_OF_A_SHARE
    return cycle([*range(first + begin, first + PORTS_OF_A_SHARE), *range(first, first + begin)])


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
