"""Ports of loopback for the servers that tests start.

A port that the kernel picks can be another connection's own by the time a server listens on it, so these come from
below the kernel's range, and below node ports; each process of pytest-xdist has a share of its own.
"""

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import cycle, islice

FIRST, SHARES, PORTS_OF_A_SHARE = 21_000, 8, 1_000
SUBNETS = range(60, 252)
"""Second bytes of loopback addresses for pods that are played."""
CLAIM_PORT = 7


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
    begin = os.getpid() * 37 % PORTS_OF_A_SHARE  # test runs that start together have numbers beside each other
    return cycle([*range(first + begin, first + PORTS_OF_A_SHARE), *range(first, first + begin)])


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@contextmanager
def claimed_subnet() -> Iterator[int]:
    """The second byte of loopback addresses that no other test of this machine is given meanwhile."""
    for second in random.sample(SUBNETS, len(SUBNETS)):
        with socket.socket() as claim:
            try:
                claim.bind((f"127.{second}.255.254", CLAIM_PORT))
            except OSError:
                continue
            yield second
            return
    raise RuntimeError("every subnet of 127.0.0.0/8 that tests may use is in use")
