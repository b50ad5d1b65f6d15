"""A hostile program ends with its typed outcome, which its own file names, and its neighbour's episode is unchanged.

The head of each file in tests/data/hostile holds lines `# what:`, `# expect:` (`contained`, which the program says
itself in its last observation, or `KIND[/LIMIT] at OPERATION`) and `# limits:` (fields of SandboxLimits that differ
from LIMITS).
"""

import asyncio
import time
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.census import Census, census
from tests.support.sandbox_pods import TOKEN, RunningPod, eventually

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_contracts.protocol import FaultKind, Limit
from spade_sandbox.client import ProgramCrash, SandboxPool, SandboxSession

HOSTILE = {path.stem: path for path in sorted((Path(__file__).parents[2] / "data" / "hostile").glob("*.py"))}
REST_SECONDS = 2.0
"""In which a spare cell would have been forked."""
LIMITS = SandboxLimits(
    step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20, cpu_seconds=600, output_bytes=64 * 2**10,
    file_bytes=256 * 2**10,
)  # fmt: skip
"""For faults that must show before any deadline, on however busy a machine."""
AT_ONCE = 6
SPARES = 2
STEPS = 3
CONTAINED = "contained"
NEIGHBOUR = (PROGRAMS / "good" / "vault_walk.py").read_text()
NEIGHBOUR_ACTIONS = tuple(rf"\boxed{{{word}}}" for word in ("right", "take", "right", "unlock", "left", "right"))


@dataclass(frozen=True)
class Hostile:
    """One program and what its head says of it."""

    source: str
    expect: str
    limits: SandboxLimits


@dataclass(frozen=True)
class Outcome:
    """How it ended, in the words of `# expect:`, and what its neighbour saw."""

    ended: str
    message: str
    neighbour: list[str]


def read(path: Path) -> Hostile:
    """A program with its head."""
    source = path.read_text()
    lines = takewhile(lambda line: line.startswith("# "), source.splitlines())
    head = dict(line.removeprefix("# ").split(": ", 1) for line in lines)
    fields = dict(pair.split("=") for pair in head.get("limits", "").split())
    limits = SandboxLimits.model_validate({**LIMITS.model_dump(by_alias=False), **fields})
    return Hostile(source, head["expect"], limits)


async def ended(pool: SandboxPool, hostile: Hostile) -> tuple[str, str]:
    """Play an episode; where and how it ended."""
    operation, seen = "open", ""
    try:
        async with pool.session(hostile.source, hostile.limits, max_turns=25, wait_seconds=120) as session:
            operation = "reset"
            await session.reset(7)
            operation = "step"
            for _ in range(STEPS):
                seen = (await session.step("x")).observation
            if "at solution" in hostile.expect:
                operation = "solution"
                seen = await session.solution()
    except EnvironmentFault as error:
        return f"{error.kind}{'/' if error.limit else ''}{error.limit or ''} at {operation}", str(error)
    return (CONTAINED if seen == CONTAINED else "went on"), seen


async def beside(pool: SandboxPool, neighbour: SandboxSession, hostile: Hostile) -> Outcome:
    """Play an episode while a neighbour's stands in its middle."""
    seen = [await neighbour.reset(11)]
    seen += [repr(await neighbour.step(action)) for action in NEIGHBOUR_ACTIONS[:3]]
    how, message = await ended(pool, hostile)
    seen += [repr(await neighbour.step(action)) for action in NEIGHBOUR_ACTIONS[3:]]
    return Outcome(how, message, seen)


async def play_all(pod: RunningPod) -> tuple[dict[str, Outcome], list[str]]:
    """All hostile programs, several at once, each beside one of the neighbours; and an episode without any of them."""
    waiting, outcomes = list(reversed(HOSTILE.items())), {}
    async with SandboxPool(pod.target, TOKEN) as pool:

        async def one_after_the_other() -> None:
            async with pool.session(NEIGHBOUR, LIMITS, max_turns=25, wait_seconds=120) as neighbour:
                while waiting:
                    name, path = waiting.pop()
                    outcomes[name] = await beside(pool, neighbour, read(path))

        async with pool.session(NEIGHBOUR, LIMITS, max_turns=25, wait_seconds=120) as session:
            calm = Hostile(stepping("return 'contained', 0.0, False, False, {}"), CONTAINED, LIMITS)
            alone = (await beside(pool, session, calm)).neighbour
        await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    return outcomes, alone


@pytest.fixture(scope="module")
def before(pod: RunningPod) -> Census:
    """The pod without sessions: the zygote and its spare cells, and by now the zygote of programs with numpy."""
    asyncio.run(opened(pod, "numpy.sum([1])"))

    def at_rest() -> Census | None:
        held = census(pod)
        time.sleep(REST_SECONDS)
        return held if held == census(pod) and held.processes == 1 + SPARES else None

    return eventually("the spares are there", at_rest)


async def opened(pod: RunningPod, code: str) -> None:
    """Open and close a program once."""
    async with SandboxPool(pod.target, TOKEN) as pool, pool.session(stepping(code), LIMITS, max_turns=5) as session:
        await session.reset(1)


@pytest.fixture(scope="module")
def played(pod: RunningPod, before: Census) -> tuple[dict[str, Outcome], list[str]]:
    """Outcomes of all programs in one pod, and the undisturbed episode."""
    return asyncio.run(play_all(pod))


def test_every_head_is_in_the_words_of_the_protocol() -> None:
    assert len(HOSTILE) >= 60
    for path in HOSTILE.values():
        expect = read(path).expect
        if expect != CONTAINED:
            fault, _, operation = expect.partition(" at ")
            kind, _, limit = fault.partition("/")
            assert FaultKind(kind)
            assert not limit or Limit(limit)
            assert operation in ("open", "reset", "step", "solution")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_program_ends_as_its_head_says_and_its_neighbour_plays_on(
    played: tuple[dict[str, Outcome], list[str]], name: str
) -> None:
    outcomes, alone = played
    outcome = outcomes[name]
    assert outcome.ended == read(HOSTILE[name]).expect, outcome.message
    assert outcome.neighbour == alone


def test_nothing_is_left_of_all_of_them(
    pod: RunningPod, before: Census, played: tuple[dict[str, Outcome], list[str]]
) -> None:
    assert played
    assert pod.status().sessions == 0
    eventually("processes and descriptors are those from before", lambda: census(pod).within(before), 30)


async def test_fault_answers_every_later_operation_of_its_session(pool: SandboxPool) -> None:
    async with pool.session(stepping("raise ValueError('no')"), LIMITS, max_turns=25) as session:
        await session.reset(1)
        for _ in range(2):
            with pytest.raises(ProgramCrash, match="ValueError in line"):
                await session.step("x")
