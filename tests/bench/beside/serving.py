"""A server that is measured beside the sandbox, in a process of its own."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.ports import free_port

START_SECONDS = 120.0


@contextlib.contextmanager
def serving(module: str, within: Sequence[str] = ()) -> Iterator[int]:
    """Run a file of this folder with a port, in a pod's place if `within` says so; gives the port once it listens."""
    port = free_port()
    script = Path(__file__).parent / f"{module}.py"
    process = subprocess.Popen([*within, sys.executable, str(script), str(port)], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(f"{script} does not listen") from None
                time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()
