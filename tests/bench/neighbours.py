"""What one hostile neighbour does to a well-behaved program's steps: tests/bench/results/neighbours.json.

    python -m tests.bench.neighbours

A program is stepped one step after the other, alone and beside each kind of neighbour by turns, in one pod. The
neighbour is driven by a process of its own and starts anew whenever it has been ended.
"""

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from tests.bench.record import Figure, at_most, measured, percentile, write
from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.sandbox_pods import TOKEN, RunningPod, pod_in_gvisor, pod_in_namespaces

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
ROUNDS = 4
STEPS = 500
"""Steps in each half of a round."""
WARM_STEPS = 200
SETTLE_SECONDS = 0.3
BOUND = 3.0
PATIENT = SandboxLimits(step_seconds=60, load_seconds=60)


async def steps(session: SandboxSession, count: int) -> list[float]:
    """Seconds of each step."""
    taken = []
    for _ in range(count):
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
                    while True:
                        await session.step("x")


@contextlib.contextmanager
def neighbour(pod: RunningPod, name: str) -> Iterator[None]:
    """A hostile neighbour, driven from another process."""
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.neighbours", "--attack", name, "--pod", pod.target])
    try:
        while pod.status().sessions < 2:
            time.sleep(0.05)
        time.sleep(SETTLE_SECONDS)
        yield
    finally:
        process.kill()
        process.wait()
        while pod.status().sessions > 1:
            time.sleep(0.05)


async def ratios(pod: RunningPod) -> dict[str, tuple[float, float]]:
    """The step's p99 alone and beside each neighbour, in seconds."""
    found = {}
    async with SandboxPool(pod.target, TOKEN) as pool, pool.session(GOOD, PATIENT, max_turns=100_000) as session:
        await session.reset(1)
        await steps(session, WARM_STEPS)
        for name in HOSTILE:
            alone: list[float] = []
            beside: list[float] = []
            for _ in range(ROUNDS):
                alone += await steps(session, STEPS)
                with neighbour(pod, name):
                    beside += await steps(session, STEPS)
            found[name] = (percentile(alone, 0.99), percentile(beside, 0.99))
            print(f"{name}: {found[name][0] * 1e3:.2f} ms alone, {found[name][1] * 1e3:.2f} ms beside", flush=True)
    return found


def figures(place: str, found: dict[str, tuple[float, float]]) -> list[Figure]:
    """Ratios, and what they are ratios of."""
    alone = sorted(pair[0] for pair in found.values())[len(found) // 2]
    result = [measured(f"{place}: step p99 alone, median of all rounds", alone * 1e3, "ms")]
    for name, (quiet, loud) in found.items():
        result.append(at_most(f"{place}: growth of a step's p99 beside: {name}", loud / quiet, "times", BOUND))
    return result


def main() -> None:
    """Measure and write, or be the neighbour."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--attack", help="be this neighbour of the pod")
    parser.add_argument("--pod", help="address of the pod's sessions")
    arguments = parser.parse_args()
    if arguments.attack:
        asyncio.run(attack(arguments.pod, arguments.attack))
        return
    places: dict[str, Callable[[], AbstractContextManager[RunningPod]]] = {
        "gVisor": pod_in_gvisor,
        "namespaces": pod_in_namespaces,
    }
    found: list[Figure] = []
    for place, start in places.items():
        with start() as pod:
            pod.tried()
            found += figures(place, asyncio.run(ratios(pod)))
    note = f"{ROUNDS} rounds of {STEPS} steps alone and beside, one neighbour, the machine's cores for pod and clients"
    print(write("neighbours", "python -m tests.bench.neighbours", found, note=note).read_text())


if __name__ == "__main__":
    main()
