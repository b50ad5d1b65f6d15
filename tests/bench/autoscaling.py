"""How a sandbox pool follows a load that steps up, spikes beyond its maximum and falls: waiting times, pods over time.

    python -m tests.bench.autoscaling [--scale FACTOR]

API server, operator, sandbox processes and the client of the workers are real; nodes, gVisor and the network are not:
a pod starts as fast as its processes do. Each level of the load is so many players that ask for one session after
another. A session waits from asking until its program is loaded. `--scale` shortens all phases, to see that it works.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.record import Figure, at_most, measured, percentile, write
from tests.integration.conftest import install_kinds
from tests.integration.operator.conftest import Stage, condition, rights_of_the_chart, staged
from tests.integration.operator.load import Load, Moment, Player, loaded
from tests.integration.operator.witness import Witness, most_pods
from tests.support.api_server import running_api_server

from spade_contracts.labels import Role
from spade_contracts.resources import Phase as Phases
from spade_operator.kube import Object

PER_POD, LEAST, MOST, QUIET_SECONDS = 4, 1, 4, 5
POOL = {"minPods": LEAST, "maxPods": MOST, "sessionsPerPod": PER_POD, "quietSeconds": QUIET_SECONDS}
SESSION_SECONDS = (1.0, 3.0)
WAIT_SECONDS = 5.0
"""95 of 100 sessions are to wait no longer while the pool may still grow."""
SERIES = ("at_seconds", "open", "waiting", "pods", "draining")


@dataclass(frozen=True)
class Phase:
    """So many players for so long."""

    name: str
    players: int
    seconds: float

    @property
    def fits(self) -> bool:
        """Whether the pool at its maximum has a place for each of them."""
        return self.players <= MOST * PER_POD


PHASES = (
    Phase("low", 3, 15), Phase("first step", 7, 20), Phase("second step", 12, 20), Phase("spike", 40, 20),
    Phase("after the spike", 12, 15), Phase("fall", 2, 25), Phase("nobody", 0, 20),
)  # fmt: skip


def playing(run: Object) -> bool:
    """Whether the run's worker plays, and so has a status."""
    return bool(run.get("status", {}).get("phase") == Phases.PLAYING)


async def play(load: Load, phase: Phase, scale: float) -> list[Player]:
    """Keep the phase's players busy for its time; then every session ends, those that wait as soon as they are open."""
    end = asyncio.get_running_loop().time() + phase.seconds * scale
    asked: list[Player] = []

    async def one(number: int) -> None:
        chance = random.Random(f"{phase.name} {number}")
        while asyncio.get_running_loop().time() < end:
            (player,) = load.ask(1, hold_seconds=chance.uniform(*SESSION_SECONDS))
            asked.append(player)
            assert player.task is not None
            await asyncio.wait({player.task}, timeout=max(0.0, end - asyncio.get_running_loop().time()))

    await asyncio.gather(asyncio.sleep(phase.seconds * scale), *(one(number) for number in range(phase.players)))
    for player in asked:
        player.release.set()
    await asyncio.gather(*(player.task for player in asked if player.task is not None))
    return asked


async def measure(stage: Stage, scale: float) -> tuple[list[Figure], list[Moment]]:
    """All phases, one after the other."""
    stage.cluster.world.hold_play = True
    witness = Witness(stage.server, stage.kube, stage.namespace)
    figures: list[Figure] = []
    growing: list[float] = []
    async with witness.watching(), loaded(stage) as load:
        await stage.create_run(rollouts=1, sandbox=POOL)
        async with stage.operator():
            await stage.until("a worker", lambda run: stage.cluster.of_role("worker") and playing(run), 120)
            for phase in PHASES:
                asked = await play(load, phase, scale)
                waits = [player.waited_seconds for player in asked if player.waited_seconds is not None]
                figures += of_phase(phase, waits, len(load.sandboxes))
                growing += waits if phase.fits else []
            await load.end()
            lost = [player.lost for player in load.players if player.lost]
            await stage.until("the least pods", lambda run: len(run["status"]["admitted"]) == LEAST, 60)
            isolated = condition(await stage.run(), "Isolated")[0]
        most = most_pods(await witness.history(), Role.SANDBOX)
    figures += [
        at_most(
            "waiting while the pool may grow, 95 of 100 within",
            percentile(growing, 0.95),
            "s",
            WAIT_SECONDS,
        ),
        at_most("sessions lost", len(lost), "sessions", 0),
        at_most("pods at once, draining ones too", most, "pods", MOST),
        at_most("pods in the end", len(stage.cluster.of_role("sandbox")), "pods", LEAST),
        measured("sessions", len(load.players), "sessions"),
        measured("proven in the end", float(isolated == "True"), "yes or no"),
    ]
    return figures, load.moments


def of_phase(phase: Phase, waits: Sequence[float], pods: int) -> list[Figure]:
    """How long its sessions waited, and the pods at its end."""
    name = f"{phase.name}, {phase.players} players"
    told = [measured(f"{name}: pods at its end", pods, "pods")]
    if waits:
        told = [
            measured(f"{name}: waiting, median", percentile(waits, 0.5), "s"),
            measured(f"{name}: waiting, 95 of 100 within", percentile(waits, 0.95), "s"),
            *told,
        ]
    for figure in told:
        print(f"{figure.name}: {figure.value:g} {figure.unit}", flush=True)
    return told


async def staged_and_measured(folder: Path, scale: float) -> tuple[list[Figure], list[Moment]]:
    """With an API server of its own."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_api_server(folder / "api-server"))
        install_kinds(server)
        async with staged(server, rights_of_the_chart(), folder) as stage:
            return await measure(stage, scale)


def main() -> None:
    """Measure and write tests/bench/results/autoscaling.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of each phase's time; others than 1 write nothing"
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that everything started is stopped
    with tempfile.TemporaryDirectory(prefix="spade-autoscaling-") as scratch:
        figures, moments = asyncio.run(staged_and_measured(Path(scratch), arguments.scale))
    for figure in figures:
        print(f"{figure.name}: {figure.value:g} {figure.unit} ({figure.target or '-'})")
    if arguments.scale != 1.0:
        return
    write(
        "autoscaling",
        "python -m tests.bench.autoscaling",
        figures,
        note=f"A pool of {LEAST} to {MOST} pods with {PER_POD} sessions each, which shrinks after {QUIET_SECONDS} s. "
        "A pod is a process of this machine. Only the spike is more than its maximum holds.",
        series={name: [round(getattr(moment, name), 2) for moment in moments] for name in SERIES},
    )


if __name__ == "__main__":
    main()
