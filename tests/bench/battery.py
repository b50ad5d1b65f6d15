"""What the gate's whole battery costs for a good program: tests/bench/results/battery.json.

    python -m tests.bench.battery

All good canaries, shipped and unseen, of both domains, each with a text that was never judged before. A good program
goes through every stage, so none is dearer. A pod in gVisor and the same container in runc, by turns.
"""

import argparse
import asyncio
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

from tests.bench.beside.places import GVISOR, PLACES
from tests.bench.record import Figure, at_most, measured, percentile, write
from tests.support.sandbox_pods import TOKEN, RunningPod

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.verdicts import Verdict
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import canaries, verify_program

UNSEEN = Path(__file__).parents[1] / "data" / "canaries"
LIMITS = SandboxLimits(memory_bytes=128 * 2**20, cpu_seconds=30)
ROUNDS = 1
AT_ONCE = 2
BOUND_SECONDS = 1.0
Program = tuple[Domain, str]


def programs(round_number: int) -> tuple[Program, ...]:
    """All good canaries in a text and an order of this round's."""
    rng = random.Random(round_number)
    found = [
        (domain, text)
        for domain in Domain
        for known in (canaries.shipped(domain), canaries.load(UNSEEN, domain))
        for canary, text in canaries.disguised([canary for canary in known if canary.good], rng)
    ]
    rng.shuffle(found)
    return tuple(found)


async def judged(pod: RunningPod, texts: Sequence[Program], at_once: int) -> tuple[Verdict, ...]:
    """The gate's word on each, so many at a time."""
    room = asyncio.Semaphore(at_once)
    async with SandboxPool(pod.target, TOKEN) as pool:

        async def one(domain: Domain, text: str) -> Verdict:
            async with room:
                return (await verify_program(text, pool, LIMITS, domain=domain)).verdict

        return tuple(await asyncio.gather(*(one(*each) for each in texts)))


def fact(verdicts: Sequence[Verdict], name: str) -> list[float]:
    """One cost of each."""
    return [float(verdict.facts[name]) for verdict in verdicts]


def figures(place: str, alone: Sequence[Verdict], together: Sequence[Verdict]) -> list[Figure]:
    """Of one place."""
    seconds, cpu_seconds, beside = fact(alone, "seconds"), fact(alone, "cpu_seconds"), fact(together, "seconds")
    name = f"{place}: battery of one program, one at a time, median"
    median = statistics.median(seconds)
    return [
        at_most(name, median, "s", BOUND_SECONDS) if place == GVISOR else measured(name, median, "s"),
        measured(f"{place}: the same, 90 of 100 within", percentile(seconds, 0.9), "s"),
        measured(f"{place}: the same, processor time of its cells, median", statistics.median(cpu_seconds), "s"),
        measured(f"{place}: battery of one program, {AT_ONCE} at a time, median", statistics.median(beside), "s"),
    ]


def main() -> None:
    """Measure and write."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    alone: dict[str, list[Verdict]] = {place: [] for place in PLACES}
    together: dict[str, list[Verdict]] = {place: [] for place in PLACES}
    for round_number in range(ROUNDS):
        texts = programs(round_number)
        for place, start in PLACES.items():
            with start() as pod:
                pod.tried()
                alone[place] += asyncio.run(judged(pod, texts, 1))
                together[place] += asyncio.run(judged(pod, texts, AT_ONCE))
            print(
                f"round {round_number}, {place}: {statistics.median(fact(alone[place], 'seconds')):.3f} s", flush=True
            )
    everything = [verdict for place in PLACES for verdict in (*alone[place], *together[place])]
    rejected = sum(not verdict.accepted for verdict in everything)
    found = [
        at_most("good programs rejected", rejected, "programs", 0),
        measured("steps and calls of one program, median", statistics.median(fact(alone[GVISOR], "steps")), "steps"),
        measured("sessions of one program, median", statistics.median(fact(alone[GVISOR], "sessions")), "sessions"),
    ]
    for place in PLACES:
        found += figures(place, alone[place], together[place])
    note = f"{len(programs(0))} good programs of both domains, {ROUNDS} round; the gate runs on the same cores"
    print(write("battery", "python -m tests.bench.battery", found, note=note).read_text())


if __name__ == "__main__":
    main()
