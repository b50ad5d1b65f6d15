"""One command of the cluster at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from spade_cluster.commands import wait_until
from spade_cluster.errors import ClusterError
from spade_cluster.settings import Layout

WAIT_SECONDS = 1800.0


@contextmanager
def exclusive(layout: Layout) -> Iterator[None]:
    """Hold the home folder's lock, waiting for another command to finish. The kernel frees it when the holder dies."""
    layout.home.mkdir(parents=True, exist_ok=True)
    with (layout.home / ".lock").open("w") as file:

        def taken() -> bool:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        if not taken():
            print(f"waiting for another command of the cluster, which holds {file.name}", flush=True)
            if not wait_until(taken, timeout_seconds=WAIT_SECONDS):
                raise ClusterError(f"another command of the cluster still holds {file.name}: let it finish or end it")
            print("it has ended; going on", flush=True)
        yield
