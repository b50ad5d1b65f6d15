"""The gate on programs whose verdict is known: no bad one is accepted, and next to no good one is rejected.

Those that are shipped, and others of the same kinds that no code but these tests reads, all as the gate meets them in a
run: disguised, mixed, in one call. In gVisor a drawn share of them.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.support.sandbox_pods import TOKEN, RunningPod, pod_in_gvisor, pod_in_namespaces

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import FULL_BATTERY
from spade_contracts.verdicts import Verdict
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import canaries, verify
from spade_sandbox.verify.canaries import Canary, Sighting

UNSEEN = Path(__file__).parents[2] / "data" / "canaries"
LIMITS = SandboxLimits(memory_bytes=128 * 2**20, cpu_seconds=30)
"""Those of the demonstration."""
AT_ONCE = 4
DRAWN = 6
"""Of each kind, domain and set, in gVisor."""
MOST_FALSE_REJECTS = 2


@pytest.fixture(scope="module", params=["namespaces", "gvisor"])
def kind(request: pytest.FixtureRequest) -> str:
    """Where the programs run."""
    return str(request.param)


@pytest.fixture(scope="module")
def seen(kind: str) -> Iterator[tuple[Sighting, ...]]:
    """What the gate says of all canaries, or of a share of them in gVisor, where programs take longer."""
    rng = random.Random(20)
    found: list[tuple[Domain, Canary, str]] = []
    for domain in Domain:
        for known in (canaries.shipped(domain), canaries.load(UNSEEN, domain)):
            number = len(known) if kind == "namespaces" else DRAWN
            drawn = canaries.draw(known, number, FULL_BATTERY, rng)
            found += [(domain, canary, text) for canary, text in canaries.disguised(drawn, rng)]
    rng.shuffle(found)
    with (pod_in_gvisor if kind == "gvisor" else pod_in_namespaces)() as pod:
        pod.tried()
        yield asyncio.run(_judged(pod, found))


async def _judged(pod: RunningPod, texts: Sequence[tuple[Domain, Canary, str]]) -> tuple[Sighting, ...]:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(pool: SandboxPool, domain: Domain, canary: Canary, text: str) -> Sighting:
        async def judge(source: str) -> Verdict:
            return (await verify(f"```python\n{source}```\n", pool, LIMITS, domain=domain)).verdict

        async with room:
            return await canaries.sight(canary, text, judge)

    async with SandboxPool(pod.target, TOKEN) as pool:
        return tuple(await asyncio.gather(*(one(pool, *each) for each in texts)))


def shown(sightings: Sequence[Sighting]) -> list[str]:
    return [f"{s.canary.name}: {s.verdict.stage}/{s.verdict.reason}: {s.verdict.message}" for s in sightings]


def test_no_bad_program_is_accepted(seen: tuple[Sighting, ...]) -> None:
    assert shown([one for one in seen if one.false_accept]) == []


def test_next_to_no_good_program_is_rejected(seen: tuple[Sighting, ...]) -> None:
    wrong = shown([one for one in seen if one.false_reject])
    assert len(wrong) <= MOST_FALSE_REJECTS, wrong


def test_bad_programs_are_caught_at_the_stage_that_is_for_them(seen: tuple[Sighting, ...]) -> None:
    elsewhere = [one for one in seen if not one.canary.good and one.verdict.stage is not one.canary.expected]
    assert shown(elsewhere) == []
