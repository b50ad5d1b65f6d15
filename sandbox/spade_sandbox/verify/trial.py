"""What the stages that run programs share: sessions that note themselves, their cost, and what faults mean."""

import asyncio
import contextlib
import functools
import hashlib
import math
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_contracts.config.environments import Domain
from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import Exchange, Fact, Operation, Reason, Stage, Trace, Verdict, rejected
from spade_sandbox.client import CallResult, Inspection, SandboxPool, SandboxSession, StepResult, Tool
from spade_sandbox.verify.budget import granted, kept
from spade_sandbox.verify.moves import FULL_REWARD, MAX_TURNS, Episode, Look, Solved
from spade_sandbox.verify.record import Result, answer_text, fault_text

ResultT = TypeVar("ResultT", bound=Result)
MAX_SEED = 2**31
"""As in play."""


LEAST_CPU_SECONDS = 10


class OutOfTime(Exception):
    """The program has used up the battery's CPU time."""


class OutOfSteps(Exception):
    """The battery's steps are used up: a check that only tries its luck is cut short, any other rejects."""


@dataclass(eq=False)
class Program:
    """A program under judgement: where and within what it runs, and what is known of it so far."""

    source: str
    pool: SandboxPool
    limits: SandboxLimits
    domain: Domain = Domain.GAMES
    settings: VerificationSettings = field(default_factory=VerificationSettings)
    max_turns: int = MAX_TURNS
    """Turns of an episode, as in play."""
    wait_seconds: float = 300.0
    """How long a session may wait for a pod."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """Becomes the verdict's facts."""
    trials: "list[Trial]" = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    """What was played, in order."""
    looks: list[Look] = field(default_factory=list)
    """Openings, hidden states and solutions, by seed."""
    solved: Solved | None = None
    """A solution that won, once the stage `solution` has found one."""
    steps: int = 0
    """Steps and tool calls so far."""
    confirming_steps: int = 0
    """Those among them that confirmed what a control had seen."""
    solution_moves: int = 0
    """Moves of the longest of the solutions that will be replayed, as far as known."""
    mutants_cpu_seconds: float = 0.0
    """CPU time of the mutants' cells that have ended."""
    _endings: "dict[asyncio.Task[None], float]" = field(default_factory=dict)
    """Sessions that are being closed, and how long each has lived: none has used more CPU time than that."""

    @property
    def traces(self) -> tuple[Trace, ...]:
        """All sessions so far, those of passed stages included."""
        return tuple(trial.trace for trial in self.trials)

    @functools.cached_property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of its episodes: they follow from its text, so no text can be written for them."""
        digest = hashlib.sha256(self.source.encode("utf-8", "replace")).hexdigest()
        return tuple(int(digest[start : start + 8], 16) % MAX_SEED for start in range(0, 64, 8))

    @property
    def solutions(self) -> dict[int, str]:
        """The program's own solution by seed, as text; without a seed for which it gave none."""
        return {look.seed: look.solution for look in self.looks if look.solution}

    @property
    def max_steps(self) -> int:
        """Steps and tool calls that the battery may take."""
        own = granted(self.settings.max_steps, self.domain, self.solution_moves, self.max_turns)
        return own + self.confirming_steps

    @property
    def steps_left(self) -> int:
        """Steps that nobody has taken yet."""
        return self.max_steps - self.steps

    @property
    def spare(self) -> int:
        """Steps left for controls that only try their luck: without those kept for the replays of the solution."""
        return self.steps_left - kept(self.domain, self.solution_moves)

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the sessions that have ended."""
        return self.mutants_cpu_seconds + sum(trial.cpu_seconds for trial in self.trials)

    @property
    def cpu_left(self) -> float:
        """CPU seconds that the battery still grants."""
        return self.settings.max_cpu_seconds - self.cpu_seconds

    async def settle(self) -> None:
        """Wait until all that is being closed is closed: then all CPU time is known, and every place is free."""
        endings, self._endings = tuple(self._endings), {}
        await asyncio.gather(*endings)

    async def _settle_if_it_decides(self) -> None:
        """Whether CPU time is left is known without those that are being closed, unless they can have used it up."""
        unknown = sum(lived for task, lived in self._endings.items() if not task.done())
        if self.cpu_left - unknown <= 0 or self.cpu_left > LEAST_CPU_SECONDS:
            await self.settle()

    @contextlib.asynccontextmanager
    async def session(
        self, note: str, *, max_turns: int | None = None, other_hash_seed: bool = False, counted: bool = True
    ) -> "AsyncIterator[Trial]":
        """A new session that notes itself. Raises EnvironmentFault if the program does not load,
        InfrastructureFault if no sandbox serves it, and OutOfTime.

        Its CPU limit is what the battery has left, but at least LEAST_CPU_SECONDS: gVisor on a busy machine counts
        waiting as using. `counted`: whether its steps are the battery's.
        """
        await self._settle_if_it_decides()
        if self.cpu_left <= 0:
            raise OutOfTime
        turns = self.max_turns if max_turns is None else max_turns
        cpu = min(self.limits.cpu_seconds, max(LEAST_CPU_SECONDS, math.ceil(self.cpu_left)))
        trial = Trial(self, note, turns, other_hash_seed, counted)
        self.trials.append(trial)
        opened = self.pool.session(
            self.source,
            self.limits.model_copy(update={"cpu_seconds": cpu}),
            self.domain,
            max_turns=turns,
            wait_seconds=self.wait_seconds,
            other_hash_seed=other_hash_seed,
        )
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            trial.session = await opened.__aenter__()
        except EnvironmentFault as error:
            trial.exchanges.append(Exchange(op=Operation.OPEN, answer=fault_text(error)))
            raise
        try:
            yield trial
        finally:
            self._endings[loop.create_task(_left(opened))] = loop.time() - began

    def mark(self) -> "Mark":
        """What is known now, to go back to."""
        return Mark(
            dict(self.facts),
            len(self.trials),
            len(self.episodes),
            len(self.looks),
            self.steps,
            self.confirming_steps,
            self.solution_moves,
            self.mutants_cpu_seconds,
        )

    def rewind(self, mark: "Mark") -> None:
        """Forget what came after a mark."""
        self.facts, self.steps, self.mutants_cpu_seconds = dict(mark.facts), mark.steps, mark.mutants_cpu_seconds
        self.confirming_steps, self.solution_moves = mark.confirming_steps, mark.solution_moves
        del self.trials[mark.trials :]
        del self.episodes[mark.episodes :]
        del self.looks[mark.looks :]

    def rejection(self, stage: Stage, reason: Reason, message: str, *evidence: Trace) -> Verdict:
        """A rejection with these sessions as evidence."""
        return rejected(stage, reason, message, evidence, self.facts)

    def fault(self, stage: Stage, error: EnvironmentFault) -> Verdict:
        """The rejection that a program's fault means; its evidence is the session that ended with it."""
        trace = next((trial.trace for trial in reversed(self.trials) if trial.faulted), None)
        return self.rejection(stage, Reason(error.kind), str(error), *(() if trace is None else (trace,)))


@dataclass(frozen=True)
class Mark:
    """A point in a program's judgement."""

    facts: dict[str, Fact]
    trials: int
    episodes: int
    looks: int
    steps: int
    confirming_steps: int
    solution_moves: int
    mutants_cpu_seconds: float


@dataclass(eq=False)
class Trial:
    """One session of the battery. Every operation is noted; after a fault the session is over."""

    program: Program
    note: str
    max_turns: int
    other_hash_seed: bool
    counted: bool = True
    exchanges: list[Exchange] = field(default_factory=list)
    session: SandboxSession | None = None
    _confirming: bool = False

    @contextlib.contextmanager
    def confirming(self) -> Iterator[None]:
        """Moves that confirm what a control has seen: they count, but their steps are granted on top."""
        before, self._confirming = self._confirming, True
        try:
            yield
        finally:
            self._confirming = before

    @property
    def trace(self) -> Trace:
        """The session so far, as evidence."""
        return Trace(
            domain=self.program.domain,
            max_turns=self.max_turns,
            other_hash_seed=self.other_hash_seed,
            note=self.note,
            exchanges=tuple(self.exchanges),
        )

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the session, once it has ended."""
        return self.session.cpu_seconds if self.session is not None else 0.0

    @property
    def faulted(self) -> bool:
        """Whether the program ended the session by a fault."""
        return bool(self.exchanges) and self.exchanges[-1].answer.startswith("fault ")

    async def reset(self, seed: int) -> str:
        """Begin an episode."""
        return await self._noted(self._live.reset(seed), op=Operation.RESET, seed=seed)

    async def step(self, action: str) -> StepResult:
        """Take one action, cut as the client cuts it. Raises OutOfSteps."""
        self._count()
        sent = action[: self.program.limits.action_characters].encode("utf-8", "replace").decode()
        return await self._noted(self._live.step(sent), op=Operation.STEP, action=sent)

    async def call(self, name: str, arguments: str) -> CallResult:
        """Call one tool. Raises OutOfSteps."""
        self._count()
        return await self._noted(self._live.call(name, arguments), op=Operation.CALL, name=name, arguments=arguments)

    async def tools(self) -> tuple[Tool, ...]:
        """The tools of a tool environment."""
        return await self._noted(self._live.tools(), op=Operation.TOOLS)

    async def solution(self) -> str:
        """The program's own solution for its present hidden state."""
        return await self._noted(self._live.solution(), op=Operation.SOLUTION)

    async def inspect(self) -> Inspection:
        """The program's state, for verification only."""
        return await self._noted(self._live.inspect(), op=Operation.INSPECT)

    @property
    def _live(self) -> SandboxSession:
        assert self.session is not None
        return self.session

    def _count(self) -> None:
        if not self.counted:
            return
        if self._confirming:
            self.program.confirming_steps += 1
        elif self.program.steps_left <= 0:
            raise OutOfSteps
        self.program.steps += 1

    async def _noted(
        self,
        answer: Awaitable[ResultT],
        *,
        op: Operation,
        seed: int | None = None,
        action: str = "",
        name: str = "",
        arguments: str = "",
    ) -> ResultT:
        """The answer, which is evidence from now on."""

        def note(text: str) -> None:
            self.exchanges.append(
                Exchange(op=op, seed=seed, action=action, name=name, arguments=arguments, answer=text)
            )

        try:
            result = await answer
        except EnvironmentFault as error:
            note(fault_text(error))
            raise
        note(answer_text(result))
        return result


async def _left(opened: contextlib.AbstractAsyncContextManager[SandboxSession]) -> None:
    """Close a session, while the next one is opened already."""
    await opened.__aexit__(None, None, None)


def wins(result: StepResult) -> bool:
    """Whether a step ends the episode with full reward (method.md §5.1)."""
    return result.terminated and result.reward >= FULL_REWARD


def over(result: StepResult) -> bool:
    """Whether a step ends the episode."""
    return result.terminated or result.truncated
