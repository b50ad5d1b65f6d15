"""The sandbox's speed, memory and cleanliness, in gVisor and beside it: tests/bench/results/sandbox.json.

    python -m tests.bench.sandbox [--only PART ...]

A pod in gVisor and the same container in runc are measured in turns. Needs root, runsc, runc and a machine with nothing
else to do.
"""

import argparse
import asyncio
import contextlib
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent

import psutil
from tests.bench.beside import a_process, an_openenv, echo, in_process, relay
from tests.bench.beside.census import census
from tests.bench.beside.memory_group import MemoryGroup, memory_group
from tests.bench.beside.places import GVISOR, PLACES, RUNC
from tests.bench.beside.serving import serving
from tests.bench.record import Figure, at_least, at_most, measured, percentile, write
from tests.component.sandbox.programs import stepping
from tests.support.sandbox_pods import TOKEN, RunningPod

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import InfrastructureFault
from spade_sandbox.client import SandboxPool, SandboxSession

LIVE = 64
DENSE = 128
WAIT_SECONDS = 30.0
POD_BYTES = 2 * 2**30
OPENS = 200
PACE_SECONDS = 0.2
"""Between two opens; spares are forked meanwhile. The sustained rate is measured without a pause."""
SUSTAINED_SECONDS = 15.0
STEP_SECONDS = 5.0
PIPELINED, AHEAD = 16, 16
"""Programs that are stepped, and steps of each that are under way: together what one connection takes."""
ROUNDS = 5
LEAK_SESSIONS = 1_000
LEAK_AT_ONCE = 8
LIMITS = SandboxLimits(cpu_seconds=3600, step_seconds=60.0)
TRIVIAL = stepping("pass")
WITH_NUMPY = stepping("numpy.sum([1])")
WORK = stepping(
    dedent("""\
        total = 0
        for number in range(3_000_000):
            total += number * number % 7
        text = "".join(chr(97 + number % 26) for number in range(300_000))
        assert text.count("a") > 1000
    """)
)


@dataclass(frozen=True)
class Place:
    """A running pod and a client of it."""

    name: str
    pod: RunningPod
    pool: SandboxPool
    group: MemoryGroup

    def figure(self, what: str) -> str:
        """Name of a figure of this place."""
        return f"{self.name}: {what}"

    def cpu_seconds(self) -> float:
        """CPU time of the pod's processes and of this client."""
        own = psutil.Process()
        processes = [own, *psutil.Process(self.pod.process.pid).children(recursive=True)]
        processes.append(psutil.Process(self.pod.process.pid))
        times = []
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                times.append(process.cpu_times())
        return float(sum(entry.user + entry.system for entry in times))


@contextlib.asynccontextmanager
async def place(name: str, **settings: object) -> AsyncIterator[Place]:
    """A pod with room for all that is measured, in a group that holds 2 GiB."""
    with (
        memory_group(POD_BYTES) as group,
        PLACES[name](launcher=group.launcher, capacity=DENSE + LEAK_AT_ONCE, **settings) as pod,
    ):
        pod.tried()
        async with SandboxPool(pod.target, TOKEN) as pool:
            yield Place(name, pod, pool, group)


@contextlib.asynccontextmanager
async def sessions(pool: SandboxPool, count: int, source: str = TRIVIAL) -> AsyncIterator[list[SandboxSession]]:
    """So many live programs, reset. Raises InfrastructureFault if the pod is lost under them."""
    async with contextlib.AsyncExitStack() as stack:
        live = []
        for _ in range(count):
            opened = pool.session(source, LIMITS, max_turns=12, wait_seconds=WAIT_SECONDS)
            live.append(await stack.enter_async_context(opened))
            await live[-1].reset(1)
        yield live


async def ready(places: Sequence[Place]) -> list[Figure]:
    """From the client's `open` to a program that can be reset, with 64 live ones."""
    figures = []
    for at in places:
        async with sessions(at.pool, LIVE):
            taken = []
            for _ in range(OPENS):
                began = time.perf_counter()
                async with at.pool.session(TRIVIAL, LIMITS, max_turns=12):
                    taken.append(time.perf_counter() - began)
                await asyncio.sleep(PACE_SECONDS)
            until, opened = time.monotonic() + SUSTAINED_SECONDS, 0

            async def without_pause(at: Place = at, until: float = until) -> int:
                count = 0
                while time.monotonic() < until:
                    async with at.pool.session(TRIVIAL, LIMITS, max_turns=12):
                        count += 1
                return count

            opened = sum(await asyncio.gather(*(without_pause() for _ in range(4))))
        bound = at.name == GVISOR
        p50, p99 = (percentile(taken, share) * 1000 for share in (0.5, 0.99))
        live = f"open with {LIVE} live, every {PACE_SECONDS} s"
        figures += [
            at_most(at.figure(f"{live}, p50"), p50, "ms", 50)
            if bound
            else measured(at.figure(f"{live}, p50"), p50, "ms"),
            at_most(at.figure(f"{live}, p99"), p99, "ms", 200)
            if bound
            else measured(at.figure(f"{live}, p99"), p99, "ms"),
            measured(
                at.figure(f"open and close without a pause, {LIVE} live"), opened / SUSTAINED_SECONDS, "programs/s"
            ),
        ]
    return figures


async def stepping_rate(at: Place, live: Sequence[SandboxSession], ahead: int = 1) -> tuple[float, float]:
    """Steps per second of all sessions at once, and per second of processor time of pod and client together.

    `ahead`: how many steps of a session are under way.
    """
    count = 0

    async def one(session: SandboxSession, until: float) -> None:
        nonlocal count
        while time.monotonic() < until:
            await session.step("x")
            count += 1

    began, used = time.monotonic(), at.cpu_seconds()
    await asyncio.gather(*(one(session, began + STEP_SECONDS) for session in live for _ in range(ahead)))
    return count / (time.monotonic() - began), count / (at.cpu_seconds() - used)


async def steps(places: Sequence[Place]) -> list[Figure]:
    """Steps of trivial programs, and in the same place bare sockets that send back what they read."""
    figures = []
    for at in places:
        seen: dict[str, list[float]] = defaultdict(list)
        with serving("echo", at.pod.within) as echo_port, serving("relay", at.pod.within) as relay_port:
            async with sessions(at.pool, LIVE) as live:
                for _ in range(ROUNDS):
                    await _at_once(at, live, seen)
                    for name, count in (("echo", 1), ("echoes", LIVE)):
                        seen[name].append(await echo.round_trips(echo_port, count, STEP_SECONDS / 2))
                    for name, count in (("relays", LIVE), ("relay", 1)):
                        seen[name].append(await relay.round_trips(relay_port, count, STEP_SECONDS / 2))
                    await _one(live[0], seen)
        figures += _step_figures(at, {name: statistics.median(values) for name, values in seen.items()})
    return figures


async def _at_once(at: Place, live: Sequence[SandboxSession], seen: dict[str, list[float]]) -> None:
    """One round of many programs: steps per second, of all of them and of processor time."""
    for name, stepped, ahead in (("single", live, 1), ("pipelined", live[:PIPELINED], AHEAD)):
        rate, thrift = await stepping_rate(at, stepped, ahead)
        seen[name].append(rate)
        seen[f"{name} thrift"].append(thrift)


async def _one(session: SandboxSession, seen: dict[str, list[float]]) -> None:
    """One round of a program alone: ms a step."""
    for name, batch in (("alone", 1), ("batched", AHEAD)):
        for _ in range(500):
            began = time.perf_counter()
            await asyncio.gather(*(session.step("x") for _ in range(batch)))
            seen[name].append((time.perf_counter() - began) * 1000 / batch)


def _step_figures(at: Place, seen: dict[str, float]) -> list[Figure]:
    bound = at.name == GVISOR
    echoed = seen["echo"]
    round_trip_ms = 1000 / echoed

    def figure(what: str, value: float, unit: str) -> Figure:
        return measured(at.figure(what), value, unit)

    def least(what: str, value: float, unit: str, limit: float) -> Figure:
        return _bounded(at_least, bound, at.figure(what), value, unit, limit)

    return [
        figure(f"pipelined steps, {AHEAD} under way for each of {PIPELINED} programs", seen["pipelined"], "steps/s"),
        figure(f"steps of {LIVE} programs, one under way for each", seen["single"], "steps/s"),
        figure("bare socket echo, one connection", echoed, "round trips/s"),
        figure(f"bare socket echo, {LIVE} connections", seen["echoes"], "round trips/s"),
        figure(f"bare relay to {LIVE} processes at once", seen["relays"], "round trips/s"),
        least("pipelined steps as share of the bare echo", 100 * seen["pipelined"] / echoed, "%", 40),
        figure("one under way for each, as share of the bare echo", 100 * seen["single"] / echoed, "%"),
        figure("bare relay as share of the bare echo", 100 * seen["relays"] / echoed, "%"),
        least("pipelined steps per second of processor time, client and pod", seen["pipelined thrift"], "steps", 2000),
        least("one under way for each, per second of processor time", seen["single thrift"], "steps", 2000),
        _bounded(
            at_most, bound, at.figure(f"a step in a batch of {AHEAD} of one program, p50"), seen["batched"], "ms", 0.3
        ),
        figure("one step alone, p50", seen["alone"], "ms"),
        figure("one step alone beyond a bare round trip, p50", seen["alone"] - round_trip_ms, "ms"),
        figure("bare relay to one process, beyond a bare round trip", 1000 / seen["relay"] - round_trip_ms, "ms"),
    ]


def _bounded(
    make: Callable[[str, float, str, float], Figure], bound: bool, name: str, value: float, unit: str, limit: float
) -> Figure:
    return make(name, value, unit, limit) if bound else measured(name, value, unit)


async def work(places: Sequence[Place]) -> list[Figure]:
    """A program that computes, in turns."""
    taken: dict[str, list[float]] = {at.name: [] for at in places}
    async with contextlib.AsyncExitStack() as stack:
        live = [(await stack.enter_async_context(sessions(at.pool, 1, WORK)))[0] for at in places]
        for _ in range(ROUNDS * 2):
            for at, session in zip(places, live, strict=True):
                began = time.perf_counter()
                await session.step("x")
                taken[at.name].append(time.perf_counter() - began)
    figures = [
        measured(f"{name}: a step that computes, median", statistics.median(seconds), "s")
        for name, seconds in taken.items()
    ]
    if set(taken) == set(PLACES):
        share = 100 * statistics.median(taken[RUNC]) / statistics.median(taken[GVISOR])
        figures.append(at_least("gVisor: speed of computing programs, share of runc", share, "%", 90))
    return figures


async def density(places: Sequence[Place]) -> list[Figure]:
    """Many idle programs in 2 GiB: what each holds, and whether as many as promised live there together."""
    figures = []
    for at in places:
        before = at.group.used_mib()
        async with sessions(at.pool, LIVE):
            await asyncio.sleep(2)
            each = (at.group.used_mib() - before) / LIVE
        async with sessions(at.pool, 1, WITH_NUMPY):  # its zygote stays
            await asyncio.sleep(2)
            alone = at.group.used_mib()
            async with sessions(at.pool, LIVE // 2, WITH_NUMPY):
                await asyncio.sleep(2)
                each_with_numpy = (at.group.used_mib() - alone) / (LIVE // 2)
        bound = at.name == GVISOR
        answering = await _answering(at)
        figures += [
            _bounded(at_most, bound, at.figure(f"memory of an idle program, {LIVE} live"), each, "MiB", 15),
            measured(
                at.figure(f"memory of an idle program that names numpy, {LIVE // 2} live"), each_with_numpy, "MiB"
            ),
            measured(at.figure("memory of the pod without programs"), before, "MiB"),
            _bounded(
                at_least,
                bound,
                at.figure(f"programs of {DENSE} that live and answer in 2 GiB"),
                answering,
                "programs",
                DENSE,
            ),
        ]
    return figures


async def _answering(at: Place) -> int:
    """0 if they do not fit, which costs the pod."""
    try:
        async with sessions(at.pool, DENSE) as live:
            return len([(await session.step("x")).observation for session in live])
    except InfrastructureFault:
        return 0


async def leaks(places: Sequence[Place]) -> list[Figure]:
    """Open, play, close, a thousand times."""
    figures = []
    for at in places:
        points: list[tuple[int, float]] = []

        async def one(at: Place = at) -> None:
            async with at.pool.session(TRIVIAL, LIMITS, max_turns=12) as session:
                await session.reset(1)
                for _ in range(3):
                    await session.step("x")

        first: tuple[int, int] | None = None
        for done in range(0, LEAK_SESSIONS + 200, 100):
            for _ in range(100 // LEAK_AT_ONCE + 1):
                await asyncio.gather(*(one() for _ in range(LEAK_AT_ONCE)))
            await asyncio.sleep(2)  # spares are forked again
            if done >= 200:
                first = first or census(at.pod)
                points.append((done, at.group.used_mib()))
        assert first is not None
        last = census(at.pod)
        slope = statistics.linear_regression(*zip(*points, strict=True)).slope * 1024
        figures += [
            at_most(at.figure(f"processes left by {LEAK_SESSIONS} sessions"), last[0] - first[0], "processes", 0),
            at_most(at.figure(f"descriptors left by {LEAK_SESSIONS} sessions"), last[1] - first[1], "descriptors", 0),
            at_most(at.figure("memory trend, each session"), slope, "KiB", 1),
        ]
    return figures


async def beside(_: Sequence[Place]) -> list[Figure]:
    """Other ways to run a program, measured in the same way."""
    figures = [
        measured(
            "in-process exec (the reference): ready, p50",
            percentile(in_process.ready_seconds(TRIVIAL, 200), 0.5) * 1000,
            "ms",
        ),
        measured(
            "in-process exec (the reference): steps of one program", in_process.steps_per_second(TRIVIAL, 2), "steps/s"
        ),
    ]
    started, stepped = await a_process.measured(TRIVIAL, 10, 300)
    figures += [
        measured("a process per program: ready, p50", percentile(started, 0.5) * 1000, "ms"),
        measured("a process per program: one step alone, p50", percentile(stepped, 0.5) * 1000, "ms"),
    ]
    with serving("an_openenv") as port:
        address = f"ws://127.0.0.1:{port}"
        started, stepped = await an_openenv.ready_and_steps(address, 50, 50)
        rate = await an_openenv.steps_per_second(address, LIVE, STEP_SECONDS)
    return [
        *figures,
        measured("OpenEnv server: ready, p50", percentile(started, 0.5) * 1000, "ms"),
        measured("OpenEnv server: one step alone, p50", percentile(stepped, 0.5) * 1000, "ms"),
        measured(f"OpenEnv server: steps of {LIVE} sessions at once", rate, "steps/s"),
    ]


PARTS = {"ready": ready, "steps": steps, "work": work, "density": density, "leaks": leaks, "beside": beside}


async def measure(parts: Sequence[str], names: Sequence[str]) -> list[Figure]:
    """All figures of these parts in these places; the pods are fresh for each part."""
    figures: list[Figure] = []
    for part in parts:
        print(f"-- {part}", flush=True)
        async with contextlib.AsyncExitStack() as stack:
            chosen = [] if part == "beside" else names
            places = [await stack.enter_async_context(place(name)) for name in chosen]
            for figure in await PARTS[part](places):
                print(f"{figure.name}: {figure.value:g} {figure.unit} ({figure.target or '-'})", flush=True)
                figures.append(figure)
    return figures


def main() -> None:
    """Measure and write; with `--only` the figures are printed and not written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[])
    parser.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES))
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.only or list(PARTS), arguments.places))
    if not arguments.only and arguments.places == list(PLACES):
        note = (
            "The client runs on the same cores. A pod's memory is counted by its control group, whose limit is 2 GiB. "
            "In-process exec and a process per program isolate nothing; the OpenEnv server runs trusted code."
        )
        write("sandbox", "python -m tests.bench.sandbox", figures, note=note)


if __name__ == "__main__":
    main()
