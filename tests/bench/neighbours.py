"""What one hostile neighbour does to a well-behaved program's steps: tests/bench/results/neighbours.json.

    python -m tests.bench.neighbours

A program is stepped one step after the other, alone and beside each kind of neighbour by turns, in one pod. The
neighbour is driven by a process of its own; one that has been ended is followed by another a little later, so that not
the opening of programs is measured but a program's life and end.

As a control, the same is done in the same pod with nothing of ours: messages to a bare process and back, beside the
same hostile code in a plain process. What grows there is the price of the kernel below.
"""

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial

from tests.bench.beside.places import PLACES
from tests.bench.beside.plain_neighbour import plain_neighbour, round_trips
from tests.bench.beside.serving import serving
from tests.bench.record import Figure, at_most, measured, percentile, write
from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.sandbox_pods import TOKEN, RunningPod

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_sandbox.client import SandboxPool, SandboxSession

GOOD = (PROGRAMS / "good" / "number_search.py").read_text()
HOSTILE = {
    "endless loop": "while True: pass",
    "endless power in C": "return 7 ** 7 ** 9",
    "memory taken and given back": "while True: bytearray(2**25)",
    "memory balloon": "self.hoard = []\nwhile True: self.hoard.append(bytearray(2**20))",
    "system calls": "import os\nwhile True: os.stat('/tmp')",
    "files written and removed": (
        "import os\nwhile True:\n    open('/tmp/file', 'wb').write(bytes(2**19))\n    os.unlink('/tmp/file')"
    ),
    "files without end": "number = 0\nwhile True:\n    number += 1\n    open(f'/tmp/{number}', 'wb').close()",
    "flood of output": "while True: print('x' * 1000)",
    "fork bomb": "import os\nwhile True: os.fork()",
    "long observations": "return 'x' * 19_000, 0.0, False, False, {}",
    "flood on its socket": "import os\nwhile True: os.write(3, b'0000' * 10_000)",
}
PLAIN = ("endless loop", "endless power in C", "memory taken and given back", "system calls")
"""Neighbours that a plain process can be too: the others need a cell's limits or its socket."""
ROUNDS = 2
HALF_SECONDS = 5.0
"""How long each half of a round is stepped."""
RESTART_SECONDS = 2.0
"""Between the end of a neighbour and its successor."""
WARM_SECONDS = 1.0
GONE_SECONDS = 60.0
BOUND = 3.0
Pair = tuple[float, float]
"""A p99 alone, and beside a neighbour."""
Take = Callable[[float], Awaitable[list[float]]]
"""Seconds of each of what is done for so long."""
Beside = Callable[[str], AbstractContextManager[None]]
Growth = Callable[[str, float], Figure]
PATIENT = SandboxLimits(step_seconds=60, load_seconds=60)


async def steps(session: SandboxSession, seconds: float) -> list[float]:
    """Seconds of each step, for so long."""
    taken, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        result = await session.step(r"\boxed{99}")
        taken.append(time.perf_counter() - began)
        if result.terminated or result.truncated:
            await session.reset(1)
    return taken


async def attack(target: str, name: str) -> None:
    """Be the hostile neighbour until killed."""
    async with SandboxPool(target, TOKEN) as pool:
        while True:
            with contextlib.suppress(EnvironmentFault):
                async with pool.session(stepping(HOSTILE[name]), SandboxLimits(step_seconds=5), max_turns=9) as session:
                    await session.reset(1)
                    print("begun", flush=True)
                    while True:
                        await session.step("x")
            await asyncio.sleep(RESTART_SECONDS)


@contextlib.contextmanager
def neighbour(pod: RunningPod, name: str) -> Iterator[None]:
    """A hostile neighbour, driven from another process."""
    command = [sys.executable, "-m", "tests.bench.neighbours", "--attack", name, "--pod", pod.target]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline(), "the neighbour has begun"
        yield
    finally:
        process.kill()
        process.wait()
        until = time.monotonic() + GONE_SECONDS
        while pod.status().sessions > 1:
            if time.monotonic() > until:
                raise RuntimeError(f"the neighbour's session still lives {GONE_SECONDS:.0f} s after its client")
            time.sleep(0.05)


async def by_turns(what: str, names: Iterable[str], take: Take, beside: Beside) -> dict[str, Pair]:
    """The p99 of what is taken, alone and beside each neighbour by turns, in seconds."""
    found = {}
    await take(WARM_SECONDS)
    for name in names:
        alone: list[float] = []
        loud: list[float] = []
        for _ in range(ROUNDS):
            alone += await take(HALF_SECONDS)
            with beside(name):
                loud += await take(HALF_SECONDS)
        found[name] = (percentile(alone, 0.99), percentile(loud, 0.99))
        print(f"{what}, {name}: {found[name][0] * 1e3:.2f} ms alone, {found[name][1] * 1e3:.2f} ms beside", flush=True)
    return found


async def ratios(pod: RunningPod) -> dict[str, Pair]:
    """Of a well-behaved program's step."""
    async with SandboxPool(pod.target, TOKEN) as pool, pool.session(GOOD, PATIENT, max_turns=100_000) as session:
        await session.reset(1)
        return await by_turns("step", HOSTILE, partial(steps, session), partial(neighbour, pod))


async def control(pod: RunningPod) -> dict[str, Pair]:
    """Of a bare round trip to a process, beside plain neighbours."""
    with serving("relay", pod.within) as port:
        take = partial(round_trips, port)
        return await by_turns("bare", PLAIN, take, lambda name: plain_neighbour(HOSTILE[name], pod.within))


def figures(place: str, what: str, growing: str, found: dict[str, Pair], growth: Growth) -> list[Figure]:
    """Ratios, and what they are ratios of."""
    alone = sorted(pair[0] for pair in found.values())[len(found) // 2]
    base = measured(f"{place}: {what} alone, median of all rounds", alone * 1e3, "ms")
    grown = (
        growth(f"{place}: growth of {growing} beside: {name}", loud / quiet) for name, (quiet, loud) in found.items()
    )
    return [base, *grown]


def promised(name: str, ratio: float) -> Figure:
    """A growth that is bounded."""
    return at_most(name, ratio, "times", BOUND)


def told(name: str, ratio: float) -> Figure:
    """A growth of which nothing is promised."""
    return measured(name, ratio, "times")


def main() -> None:
    """Measure and write, or be the neighbour."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--attack", help="be this neighbour of the pod")
    parser.add_argument("--pod", help="address of the pod's sessions")
    arguments = parser.parse_args()
    if arguments.attack:
        asyncio.run(attack(arguments.pod, arguments.attack))
        return
    found: list[Figure] = []
    for place, start in PLACES.items():
        with start() as pod:
            pod.tried()
            found += figures(place, "step p99", "a step's p99", asyncio.run(ratios(pod)), promised)
            bare = asyncio.run(control(pod))
            found += figures(place, "bare round trip to a process, p99", "a bare round trip's p99", bare, told)
    note = (
        f"{ROUNDS} rounds of {HALF_SECONDS:.0f} s alone and beside, one neighbour at a time, its successor "
        f"{RESTART_SECONDS:.0f} s after its end; pod and clients share the machine's cores. Bare round trips are the "
        "control: no sandbox, a bare process in the same pod beside the same code in a plain process"
    )
    print(write("neighbours", "python -m tests.bench.neighbours", found, note=note).read_text())


if __name__ == "__main__":
    main()
