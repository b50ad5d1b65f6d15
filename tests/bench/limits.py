"""How soon a program that exceeds a limit has ended and its error is told: tests/bench/results/limits.json.

    python -m tests.bench.limits

Each program passes its limit at once, or after a number of seconds that the limit names. Counted is the time from then
until the client has the typed error, in gVisor and on this machine's kernel.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass, field

from tests.bench.beside.places import PLACES
from tests.bench.record import Figure, at_most, write
from tests.component.sandbox.programs import stepping
from tests.support.sandbox_pods import TOKEN, RunningPod

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_contracts.protocol import Limit
from spade_sandbox.client import SandboxPool

TIMES = 10
BOUND_SECONDS = 1.0


@dataclass(frozen=True)
class Excess:
    """A program that exceeds one limit."""

    limit: Limit
    body: str
    after_seconds: float = 0.0
    """How long it takes to reach the limit."""
    limits: dict[str, float] = field(default_factory=dict)


EXCESSES = {
    "memory, at once": Excess(Limit.MEMORY, "self.hoard = bytearray(2**28)"),
    "memory, of shared pages": Excess(
        Limit.MEMORY,
        "import mmap\nself.hoard = [mmap.mmap(-1, 2**24) for _ in range(20)]\n"
        "for piece in self.hoard:\n    piece[:] = bytes(1) * len(piece)\n",
    ),
    "processor time, computing": Excess(Limit.CPU, "while True: pass", 1.0, {"cpu_seconds": 1, "step_seconds": 60.0}),
    "processor time, in one call in C": Excess(Limit.CPU, "7 ** 7 ** 9", 1.0, {"cpu_seconds": 1, "step_seconds": 60.0}),
    "wall clock, computing": Excess(Limit.WALL, "while True: pass", 1.0, {"step_seconds": 1.0}),
    "wall clock, sleeping": Excess(Limit.WALL, "import time\ntime.sleep(1e6)", 1.0, {"step_seconds": 1.0}),
    "processes": Excess(Limit.PROCESSES, "import os\nos.fork()"),
    "threads": Excess(Limit.PROCESSES, "import threading\nthreading.Thread(target=print).start()"),
    "open files": Excess(Limit.OPEN_FILES, "self.kept = [open(f'/tmp/{number}', 'w') for number in range(100)]"),
    "bytes of files": Excess(Limit.FILE_BYTES, "open('/tmp/file', 'wb').write(bytes(2**21))"),
    "bytes printed": Excess(Limit.OUTPUT, "print('x' * 2**21)"),
    "characters of an observation": Excess(Limit.OBSERVATION, "return 'x' * 10**7, 0.0, False, False, {}"),
    "recursion": Excess(Limit.RECURSION, "return self.step(action)"),
}


async def delay_seconds(pool: SandboxPool, excess: Excess) -> float:
    """From the limit to the client's error. Raises RuntimeError if another error came."""
    limits = SandboxLimits(memory_bytes=128 * 2**20).model_copy(update=excess.limits)
    async with pool.session(stepping(excess.body), limits, max_turns=9) as session:
        await session.reset(1)
        began = time.perf_counter()
        try:
            await session.step("x")
        except EnvironmentFault as error:
            taken = time.perf_counter() - began
            if error.limit != excess.limit:
                raise RuntimeError(f"another error came: {error}") from error
            return taken - excess.after_seconds
    raise RuntimeError("no error came")


async def measured_in(place: str, pod: RunningPod) -> list[Figure]:
    """The longest delay for each limit."""
    figures = []
    async with SandboxPool(pod.target, TOKEN) as pool:
        for name, excess in EXCESSES.items():
            longest = max([await delay_seconds(pool, excess) for _ in range(TIMES)])
            figures.append(at_most(f"{place}: {name}, longest of {TIMES}", longest, "s", BOUND_SECONDS))
            print(f"{figures[-1].name}: {figures[-1].value} s", flush=True)
    return figures


def main() -> None:
    """Measure and write."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    figures: list[Figure] = []
    for place, start in PLACES.items():
        with start() as pod:
            pod.tried()
            figures += asyncio.run(measured_in(place, pod))
    note = "From the moment at which a program passes its limit until its client has the typed error."
    print(write("limits", "python -m tests.bench.limits", figures, note=note).read_text())


if __name__ == "__main__":
    main()
