"""What a hostile neighbour does to a bare relay in the same place: the price of the place, with nothing of ours in it.

The neighbour is a plain process with the body of the hostile program, as nice as a cell and held by nothing.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from textwrap import indent

from tests.bench.beside.relay import MESSAGE_BYTES

NICENESS = 10
END_SECONDS = 30.0


@contextlib.contextmanager
def plain_neighbour(body: str, within: Sequence[str]) -> Iterator[None]:
    """A process that does this, in a pod's place, until the end of the block."""
    source = (
        f"import os\nos.nice({NICENESS})\nprint(os.getpid(), flush=True)\ndef step():\n{indent(body, '    ')}\nstep()"
    )
    process = subprocess.Popen([*within, sys.executable, "-c", source], stdout=subprocess.PIPE)
    assert process.stdout is not None
    number = int(process.stdout.readline())
    try:
        yield
        assert process.poll() is None, "the neighbour is still at it"
    finally:
        kill = f"import os, signal\nos.kill({number}, signal.SIGKILL)"  # signals do not pass through `runsc exec`
        subprocess.run([*within, sys.executable, "-c", kill], check=True, timeout=END_SECONDS)
        process.wait(END_SECONDS)


async def round_trips(port: int, seconds: float) -> list[float]:
    """Seconds of each message to one process of the relay and back, one after the other, for so long."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    message, taken, until = b"00".ljust(MESSAGE_BYTES), [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        writer.write(message)
        await reader.readexactly(MESSAGE_BYTES)
        taken.append(time.perf_counter() - began)
    writer.close()
    await writer.wait_closed()
    return taken
