"""Stage `mutants`: would the controls notice if the success predicate were a little different? (design §10)

Every mutant plays the episodes of the controls and of the solution again. One that answers differently anywhere is
noticed. The others play explorations as well: one that these tell from the original is a survivor, a fault that the
controls miss; one that nothing tells from it counts as equivalent. So

    mutation score = noticed / (noticed + survivors)

All mutants of a program share one cell (`mutant_cell`). They are compared with replays of the original in the same
cell, which it must give twice alike; what is compared are digests, and the comparing is done here. A program that
tampers with them only spoils its own score; the verdicts of the other stages come from cells of its own.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import TracebackType

from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import MutantSettings
from spade_contracts.errors import EnvironmentFault
from spade_contracts.libraries import names_numpy
from spade_contracts.protocol import MAX_SOURCE_CHARACTERS, Limit
from spade_contracts.verdicts import MAX_FACT_CHARACTERS, Reason, Stage, Trace, Verdict
from spade_sandbox.client import SandboxSession
from spade_sandbox.verify.exploration import Replay, explorations, replays_of
from spade_sandbox.verify.mutation import Mutant, combined, mutants_of
from spade_sandbox.verify.playing import play
from spade_sandbox.verify.trial import OutOfSteps, OutOfTime, Program

STAGE = Stage.MUTANTS
MAX_DEATHS = 4
"""Mutants that may end the shared cell, each by its own fault, before the rest is left out."""
SHOWN_SURVIVORS = 3
"""Survivors that a message names; the facts list the others too."""
MORE_FACTS = 8
"""Facts that hold the others, a line each."""
BATCH = 16
"""Replays asked for at once."""
BATCH_SECONDS = 0.25
"""After so long no further replay of a batch begins; each keeps the seconds of the settings to itself."""


class Fate(StrEnum):
    """What became of a mutant."""

    NOTICED = "noticed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    LEFT_OUT = "left out"
    """Not judged: the stage's steps or its cell's CPU time were used up."""


@dataclass(frozen=True)
class Tally:
    """The mutants of a program, and what became of each."""

    mutants: tuple[Mutant, ...]
    fates: tuple[Fate, ...]
    telling: tuple[Replay | None, ...]
    """For a survivor the exploration that shows its difference."""
    steps: int

    def count(self, fate: Fate) -> int:
        """Mutants of this fate."""
        return self.fates.count(fate)

    @property
    def score(self) -> float | None:
        """Share of the mutants known not to be equivalent that the controls notice; None if there is none."""
        different = self.count(Fate.NOTICED) + self.count(Fate.SURVIVED)
        return self.count(Fate.NOTICED) / different if different else None


async def check_mutants(program: Program) -> Verdict | None:
    """None if the controls notice enough mutants, or too few mutants say anything. Raises InfrastructureFault."""
    settings = program.settings.mutants
    tally = await judge_mutants(program, settings)
    survivors = [number for number, fate in enumerate(tally.fates) if fate is Fate.SURVIVED]
    texts = [tally.mutants[number].text(program.source) for number in survivors]
    shown = texts[:SHOWN_SURVIVORS]
    program.facts.update(
        mutants=float(len(tally.mutants)),
        mutants_noticed=float(tally.count(Fate.NOTICED)),
        mutants_equivalent=float(tally.count(Fate.EQUIVALENT)),
        mutants_left_out=float(tally.count(Fate.LEFT_OUT)),
        mutant_steps=float(tally.steps),
        survivors=float(len(survivors)),
    )
    program.facts.update({f"survivor_{number}": text for number, text in enumerate(shown, start=1)})
    program.facts.update({f"survivors_{at}": text for at, text in enumerate(packed(texts[SHOWN_SURVIVORS:]), start=1)})
    if tally.score is None:
        return None
    program.facts["mutation_score"] = round(tally.score, 4)
    if tally.score >= settings.min_score or tally.count(Fate.NOTICED) + len(survivors) < settings.min_mutants:
        return None
    return await _rejection(program, tally, survivors[0], "; ".join(shown))


def packed(texts: Sequence[str]) -> list[str]:
    """The texts as lines of as few facts as hold them; the last line counts what MORE_FACTS cannot hold."""
    room = MAX_FACT_CHARACTERS - len("\nand 000 more")
    facts: list[str] = []
    for number, text in enumerate(texts):
        if facts and len(facts[-1]) + 1 + len(text) <= room:
            facts[-1] += f"\n{text}"
        elif len(facts) < MORE_FACTS:
            facts.append(text[:room])
        else:
            facts[-1] += f"\nand {len(texts) - number} more"
            break
    return facts


async def judge_mutants(program: Program, settings: MutantSettings) -> Tally:
    """Replay everything that the bounds allow. Raises InfrastructureFault."""
    mutants = await asyncio.to_thread(mutants_of, program.source, settings.limit)
    controls = replays_of(program.episodes)
    beyond = explorations(program.episodes, program.source, program.domain, program.max_turns)
    judged = _Judged(len(mutants))
    if mutants and controls:
        replays, text = _fitting(combined(program.source, mutants), (*controls, *beyond))
        async with _SharedCell(program, settings, text) as cell:
            bench = _Bench(cell, replays, settings.steps)
            with contextlib.suppress(_Spent):
                first = min(len(controls), len(replays))
                await _notice(bench, range(first), judged)
                await _explore(bench, range(first, len(replays)), judged)
            judged.steps = bench.steps
    telling = tuple(None if number is None else replays[number] for number in judged.telling)
    return Tally(mutants, tuple(judged.fates), telling, judged.steps)


async def _rejection(program: Program, tally: Tally, survivor: int, shown: str) -> Verdict:
    """The evidence is a session of the original that the first survivor answers differently."""
    replay = tally.telling[survivor]
    assert replay is not None
    assert tally.score is not None
    message = f"the controls notice {tally.score:.0%} of the mutants that differ from the original; they miss {shown}"
    evidence: list[Trace] = []
    with contextlib.suppress(OutOfSteps, OutOfTime):
        async with program.session(f"missed: {tally.mutants[survivor].text(program.source)}"[:200]) as trial:
            try:
                await play(trial, replay.seed, replay.moves)
            finally:
                evidence.append(trial.trace)
    return program.rejection(STAGE, Reason.LOW_MUTATION_SCORE, message, *evidence)


# ── replaying ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Spent(Exception):
    """Steps, CPU time or deaths of the shared cell are used up."""


@dataclass
class _Judged:
    """Fates so far; a mutant that was not told from the original by anything yet is left out."""

    size: int
    fates: list[Fate] = field(init=False)
    telling: list[int | None] = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        self.fates = [Fate.LEFT_OUT] * self.size
        self.telling = [None] * self.size


async def _notice(bench: "_Bench", controls: range, judged: _Judged) -> None:
    """Every mutant plays the controls."""
    for number in range(judged.size):
        if await bench.told_by(number + 1, controls) is not None:
            judged.fates[number] = Fate.NOTICED


async def _explore(bench: "_Bench", beyond: range, judged: _Judged) -> None:
    """Mutants that no control noticed play on; what nothing tells from the original is equivalent."""
    if not bench.stable:
        return
    for number in range(judged.size):
        if judged.fates[number] is Fate.LEFT_OUT:
            judged.telling[number] = await bench.told_by(number + 1, beyond)
            judged.fates[number] = Fate.EQUIVALENT if judged.telling[number] is None else Fate.SURVIVED


class _Bench:
    """Replays of mutants, compared with those of the original in the same cell."""

    def __init__(self, cell: "_SharedCell", replays: Sequence[Replay], max_steps: int) -> None:
        self._cell = cell
        self._replays = replays
        self._left = max_steps
        self._originals: dict[int, str | None] = {}
        self.steps = 0

    @property
    def stable(self) -> bool:
        """Whether any replay of the original can be compared with."""
        return any(digest is not None for digest in self._originals.values())

    async def told_by(self, mutant: int, replays: range) -> int | None:
        """The first replay that the mutant answers differently. Raises _Spent."""
        for first in range(replays.start, replays.stop, BATCH):
            numbers = range(first, min(first + BATCH, replays.stop))
            originals = await self._known(numbers)
            stable = [number for number in numbers if originals[number] is not None]
            for number, digest in (await self._play(mutant, stable)).items():
                if digest != originals[number]:
                    return number
        return None

    async def _known(self, numbers: range) -> dict[int, str | None]:
        """The original's digests; None where it does not answer twice alike here, or not at all."""
        if numbers.start not in self._originals:
            first = await self._play(0, numbers)
            again = await self._play(0, [number for number in numbers if first[number] is not None])
            self._originals |= {
                number: digest if again.get(number) == digest else None for number, digest in first.items()
            }
        return self._originals

    async def _play(self, mutant: int, numbers: Sequence[int]) -> dict[int, str | None]:
        """Digests of these replays, up to the first that differs from the original's last. Raises _Spent.

        None: the replay ended the cell, by a fault that no program can catch.
        """
        found: dict[int, str | None] = {}
        at_once = BATCH
        left = list(numbers)
        while left:
            sent = self._affordable(left[:at_once])
            answers = await self._cell.play(mutant, sent)
            if answers is None and len(sent) > 1:
                at_once = 1  # which of them it was is seen one by one
                continue
            new = dict(zip(sent, answers or (None,), strict=False))
            found |= new
            spent = sum(len(self._replays[number].moves) for number in new)
            self._left -= spent
            self.steps += spent
            left = left[len(new) :]
            if mutant and any(digest != self._originals[number] for number, digest in new.items()):
                break
        return found

    def _affordable(self, numbers: Sequence[int]) -> list[int]:
        """As many of them as the steps that are left allow. Raises _Spent if that is none."""
        steps = accumulate(len(self._replays[number].moves) for number in numbers)
        fitting = [number for number, sum_of_steps in zip(numbers, steps, strict=True) if sum_of_steps <= self._left]
        if not fitting:
            raise _Spent
        return fitting


class _SharedCell:
    """A session of `mutant_cell`, opened when it is needed, and again after a mutant has ended it."""

    def __init__(self, program: Program, settings: MutantSettings, text: str) -> None:
        self._program = program
        self._text = text
        digests = max(program.limits.observation_characters, BATCH * 40)
        self._limits = program.limits.model_copy(
            update={"step_seconds": settings.seconds + BATCH_SECONDS, "observation_characters": digests}
        )
        self._open: contextlib.AsyncExitStack | None = None
        self._session: SandboxSession | None = None
        self._deaths = 0

    async def __aenter__(self) -> "_SharedCell":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(self._close())

    async def play(self, mutant: int, numbers: Sequence[int]) -> tuple[str, ...] | None:
        """Digests of the first of these replays, at least of one; None if the cell ended. Raises _Spent."""
        try:
            session = self._session or await self._opened()
            told = (await session.step(" ".join(map(str, (mutant, *numbers))))).observation.split()
        except EnvironmentFault as error:
            opened = self._session is not None
            await self._close()
            self._deaths += len(numbers) == 1  # of a batch, the one that it was dies once more alone
            if error.limit == Limit.CPU or not opened or self._deaths > MAX_DEATHS:
                raise _Spent from None
            return None
        if not 0 < len(told) <= len(numbers):
            raise _Spent  # the program tampers with what replays it
        return tuple(told)

    async def _opened(self) -> SandboxSession:
        program = self._program
        cpu = min(program.limits.cpu_seconds, max(1, math.ceil(program.cpu_left)))
        self._open = contextlib.AsyncExitStack()
        session = await self._open.enter_async_context(
            program.pool.session(
                self._text,
                self._limits.model_copy(update={"cpu_seconds": cpu}),
                Domain.GAMES,
                max_turns=program.max_turns,
                wait_seconds=program.wait_seconds,
            )
        )
        self._session = session
        await session.reset(0)
        return session

    async def _close(self) -> None:
        opened, session, self._open, self._session = self._open, self._session, None, None
        if opened is not None:
            await opened.aclose()
        if session is not None:
            self._program.mutants_cpu_seconds += session.cpu_seconds


def _fitting(text: str, replays: tuple[Replay, ...]) -> tuple[tuple[Replay, ...], str]:
    """The replays that fit into a source beside the program, and the text of the shared cell."""
    wants = "# numpy\n" if names_numpy(text) else ""  # as text in quotes the program need not show it
    head = f"{_harness()}\n\n{wants}BATCH_SECONDS = {BATCH_SECONDS}\nPROGRAM = {text!r}\n"
    kept: list[str] = []
    size = len(head) + 1_000
    for replay in replays:
        kept.append(json.dumps((replay.seed, [(move.action, move.name, move.arguments) for move in replay.moves])))
        size += 2 * len(kept[-1])  # a quoted quote doubles
        if size > MAX_SOURCE_CHARACTERS:
            kept.pop()
            break
    listed = f"[{','.join(kept)}]"
    return replays[: len(kept)], f"{head}REPLAYS = {listed!r}\n"


@cache
def _harness() -> str:
    return Path(__file__).with_name("mutant_cell.py").read_text(encoding="utf-8")
