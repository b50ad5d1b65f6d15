"""One try at one episode: an environment in a sandbox on one side, an engine on the other (method.md §1.7, §5.1)."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from spade_contracts.config import MethodConfig
from spade_contracts.config.switches import EnvironmentFaultCredit
from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse
from spade_contracts.errors import EnvironmentFault
from spade_contracts.statuses import Outcome
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.client import StepResult
from spade_sandbox.verify import verifier_failure
from spade_trainer.chat import Chat
from spade_trainer.play.action import parse_action
from spade_trainer.play.prompt import first_message, with_hint
from spade_trainer.play.tokens import Transcript, add_drawn, add_given, begin, finish, prefix_check
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.rewards.returns import credited_return
from spade_trainer.store.episodes import Episode

SPARE_TOKENS = 64
"""An episode stops when this many tokens or fewer remain of its context (method.md §1.5)."""


class Session(Protocol):
    """A live environment program (spade_sandbox.client.SandboxSession)."""

    async def reset(self, seed: int | None) -> str:
        """Begin an episode."""

    async def step(self, action: str) -> StepResult:
        """Take one action."""


Generate = Callable[[GenerateRequest, float], Awaitable[GenerateResponse]]
OpenSession = Callable[[str], AbstractAsyncContextManager[Session]]
"""Source of a program → a live session of it."""


@dataclass(frozen=True)
class EpisodePlan:
    """Which episode is to be played. Equal plans give equal tokens on equal engines, however often they are tried."""

    rollout: int
    environment: str
    slot: int
    play: int
    source: str
    """The program."""
    hint: str | None
    """The hint of a hinted play; None: an unhinted one."""
    seed: int | None
    """Seed of the environment's reset."""

    @property
    def hinted(self) -> bool:
        """Whether the player is given a hint."""
        return self.hint is not None


@dataclass(frozen=True)
class Table:
    """Where episodes are played: all that they share."""

    method: MethodConfig
    policy_version: int
    chat: Chat
    generate: Generate
    open_session: OpenSession


@dataclass
class _Course:
    """An episode under way."""

    transcript: Transcript
    messages: list[dict[str, str]]
    opening: str = ""
    actions: list[str] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    operation: str = "open"
    """What the sandbox is asked for at present."""

    @property
    def terminated(self) -> bool:
        """Whether the program said that the episode reached its end."""
        return bool(self.steps) and self.steps[-1].terminated


async def play_episode(table: Table, plan: EpisodePlan) -> Episode:
    """Play one episode from its reset to its end.

    A program that misbehaves ends it as an environment fault. Raises InfrastructureFault if a sandbox or the engines
    fail under it; nothing is scored then, and the caller plays it again.
    """
    started = asyncio.get_running_loop().time()
    course = _Course(begin([]), [])
    ended: EnvironmentFault | None = None
    try:
        async with table.open_session(plan.source) as session:
            course.operation = "reset"
            course.opening = await session.reset(plan.seed)
            _start(table, plan, course)
            outcome = await _turns(table, plan, course, session)
    except EnvironmentFault as error:
        outcome, ended = Outcome.ENVIRONMENT_FAULT, error
    failure = verifier_failure(course.steps, ended)
    fault = f"{ended.kind}/{course.operation}" if ended else ""
    credit = table.method.switches.environment_fault_credit
    if failure is VerifierFailure.SUCCESS_WITH_ERROR and credit is EnvironmentFaultCredit.DESIGNER:
        outcome, fault = Outcome.ENVIRONMENT_FAULT, f"{failure.value}/step"
    trajectory = finish(course.transcript)
    rewards = tuple(step.reward for step in course.steps)
    return Episode(
        environment=plan.environment,
        slot=plan.slot,
        play=plan.play,
        hinted=plan.hinted,
        seed=plan.seed,
        outcome=outcome,
        episode_return=credited_return(
            outcome,
            rewards,
            terminated=course.terminated,
            fault=fault,
            hinted=plan.hinted,
            switches=table.method.switches,
        ),
        terminated=course.terminated,
        turns=len(course.steps),
        rewards=rewards,
        actions=tuple(course.actions),
        observations=(course.opening, *(step.observation for step in course.steps)) if course.opening else (),
        fault=fault,
        verifier_failures=(failure.value,) if failure else (),
        prefix_check=prefix_check(table.chat, course.messages, trajectory),
        trajectory=trajectory,
        attempts=1,
        seconds=asyncio.get_running_loop().time() - started,
    )


def lost_episode(plan: EpisodePlan, attempts: int) -> Episode:
    """The record of an episode that infrastructure failed at every try: it counts for nothing."""
    return Episode(
        environment=plan.environment,
        slot=plan.slot,
        play=plan.play,
        hinted=plan.hinted,
        seed=plan.seed,
        outcome=Outcome.INFRASTRUCTURE_FAULT,
        episode_return=None,
        terminated=False,
        turns=0,
        rewards=(),
        actions=(),
        observations=(),
        fault="",
        verifier_failures=(),
        prefix_check="none",
        trajectory=finish(begin([])),
        attempts=attempts,
        seconds=0.0,
    )


def _start(table: Table, plan: EpisodePlan, course: _Course) -> None:
    """Render the first user message."""
    template = f"games_{table.method.play.prompt_template.value.lower()}"
    shown = course.opening if plan.hint is None else with_hint(course.opening, plan.hint, template)
    course.messages.append({"role": "user", "content": first_message(shown, template)})
    course.transcript = begin(table.chat.prompt(course.messages))


async def _turns(table: Table, plan: EpisodePlan, course: _Course, session: Session) -> Outcome:
    """Take turns until the environment, the context or the turn limit ends the episode."""
    settings = table.method.play
    for turn in range(settings.max_turns):
        left = min(settings.context_tokens, table.chat.context_tokens) - course.transcript.tokens
        if left <= SPARE_TOKENS:
            return Outcome.TRUNCATED
        drawn = await table.generate(
            GenerateRequest(
                token_ids=tuple(course.transcript.token_ids),
                temperature=settings.sampling.temperature,
                top_p=settings.sampling.top_p,
                top_k=settings.sampling.top_k,
                max_new_tokens=min(settings.sampling.max_new_tokens, left - SPARE_TOKENS),
                seed=seed_for(
                    table.method.seed, Purpose.TURN, plan.rollout, plan.slot, int(plan.hinted), plan.play, turn
                ),
                policy_version=table.policy_version,
            ),
            settings.turn_timeout_seconds,
        )
        add_drawn(course.transcript, drawn)
        reply = table.chat.decode(drawn.token_ids)
        course.messages.append({"role": "assistant", "content": reply})
        if drawn.finish_reason is not FinishReason.STOP:
            return Outcome.TRUNCATED
        course.operation = "step"
        action = parse_action(reply, table.method.switches.boxed_action)
        course.actions.append(action)
        result = await session.step(action)
        course.steps.append(result)
        if result.terminated:
            return Outcome.SCORED
        if result.truncated:
            return Outcome.TRUNCATED
        course.messages.append({"role": "user", "content": result.observation})
        add_given(course.transcript, table.chat.next_turn(result.observation))
    return Outcome.TRUNCATED
