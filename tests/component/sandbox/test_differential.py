"""The same episode in gVisor and in runc: not a character differs."""

import asyncio
from itertools import count

from tests.component.sandbox.programs import PROGRAMS
from tests.support.sandbox_pods import TOKEN, RunningPod, pod_in_gvisor, pod_in_runc
from tests.support.varied_programs import FEATURES, varied_actions, varied_program

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_sandbox.client import SandboxPool, SandboxSession

PROGRAM_COUNT = 50
SEEDS = range(10)
STEPS = 8
AT_ONCE = 4
LIMITS = SandboxLimits(step_seconds=60, load_seconds=60)
Transcript = list[str]


def programs() -> list[str]:
    """Known good programs and drawn ones, 50 together, in which every feature occurs."""
    known = [path.read_text() for path in sorted((PROGRAMS / "good").glob("*.py"))][:10]
    drawn = [varied_program(seed) for seed in range(PROGRAM_COUNT - len(known))]
    heads = "".join(source.partition("\n")[0] for source in drawn)
    assert all(name in heads for name in FEATURES)
    return known + drawn


async def episode(session: SandboxSession, seed: int) -> tuple[Transcript, bool]:
    """One episode to its end, and whether the session lives on."""
    seen: Transcript = []
    try:
        seen.append(await session.reset(seed))
        for action in varied_actions(seed, STEPS):
            result = await session.step(action)
            seen.append(repr(result))
            if result.terminated or result.truncated:
                break
    except EnvironmentFault as error:
        return [*seen, str(error)], False
    return seen, True


async def episodes(pool: SandboxPool, source: str) -> list[Transcript]:
    """One episode for each seed, in one session as long as it lives."""
    transcripts: list[Transcript] = []
    while len(transcripts) < len(SEEDS):
        async with pool.session(source, LIMITS, max_turns=12, wait_seconds=120) as session:
            for number in count(len(transcripts)):
                if number == len(SEEDS):
                    break
                transcript, lives = await episode(session, SEEDS[number])
                transcripts.append(transcript)
                if not lives:
                    break
    return transcripts


async def play(pod: RunningPod, sources: list[str]) -> list[list[Transcript]]:
    """All episodes of all programs in one pod."""
    turn = asyncio.Semaphore(AT_ONCE)
    async with SandboxPool(pod.target, TOKEN) as pool:

        async def one(source: str) -> list[Transcript]:
            async with turn:
                return await episodes(pool, source)

        return list(await asyncio.gather(*(one(source) for source in sources)))


async def test_episodes_are_identical_in_gvisor_and_in_runc() -> None:
    sources = programs()
    with pod_in_gvisor() as pod:
        inside = await play(pod, sources)
    with pod_in_runc() as pod:
        outside = await play(pod, sources)
    for source, one, other in zip(sources, inside, outside, strict=True):
        for seed, (seen, expected) in enumerate(zip(one, other, strict=True)):
            assert seen == expected, f"seed {seed} of {source[:200]}"
    assert sum(len(transcripts) for transcripts in inside) == PROGRAM_COUNT * len(SEEDS)
    assert len({repr(transcripts) for transcripts in inside}) == PROGRAM_COUNT, "the programs are varied"
    assert any("ValueError" in transcript[-1] for transcripts in inside for transcript in transcripts)
