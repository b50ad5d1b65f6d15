"""One try at one episode: an environment in a sandbox on one side, an engine on the other (method.md §1.7, §5.1)."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import Domain
from spade_contracts.config.switches import EnvironmentFaultCredit, HintEnding
from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_contracts.errors import EnvironmentFault
from spade_contracts.statuses import Outcome, PrefixCheck
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.verify import verifier_failure
from spade_trainer.chat import TURN_END, USER, Chat, Spelled
from spade_trainer.flaws import Flaw, ObserveFlaw, ended, flaws_of, unobserved
from spade_trainer.play import tool_use
from spade_trainer.play.action import parse_action
from spade_trainer.play.course import Answered, Course, Session, begin_episode, take_step
from spade_trainer.play.dialogue import (
    Dialogue,
    add_answers,
    add_reply,
    manner_of,
    mask_turn,
    open_dialogue,
    prefix_check,
    sequences,
)
from spade_trainer.play.prompt import first_message, template_of, with_hint
from spade_trainer.play.tokens import SpeltRequest, begin, finish, seen
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.rewards.returns import credited_return
from spade_trainer.store.episodes import Episode

SPARE_TOKENS = 64
"""An episode stops when this many tokens or fewer remain of its context (method.md §1.5)."""


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
    observe: ObserveFlaw = unobserved
    """Told of each flaw of a turn, in tries that infrastructure ended too."""


async def play_episode(table: Table, plan: EpisodePlan) -> Episode:
    """Play one episode from its reset to its end.

    A program that misbehaves ends it as an environment fault. Raises InfrastructureFault if a sandbox or the engines
    fail under it; nothing is scored then, and the caller plays it again.
    """
    started = asyncio.get_running_loop().time()
    course, dialogue = Course(), _silent(table, plan)
    fault: EnvironmentFault | None = None
    try:
        async with table.open_session(plan.source) as session:
            await begin_episode(course, session, plan.seed)
            dialogue = await _opened(table, plan, course, session)
            outcome = await _turns(table, plan, course, dialogue, session)
    except EnvironmentFault as error:
        outcome, fault = Outcome.ENVIRONMENT_FAULT, error
    seconds = asyncio.get_running_loop().time() - started
    return _record(table, plan, course, dialogue, outcome=outcome, ended_by=fault, seconds=seconds)


def _record(
    table: Table,
    plan: EpisodePlan,
    course: Course,
    dialogue: Dialogue,
    *,
    outcome: Outcome,
    ended_by: EnvironmentFault | None,
    seconds: float,
) -> Episode:
    """What is kept of an episode that has ended."""
    failure = verifier_failure(course.steps, ended_by)
    fault = f"{ended_by.kind}/{course.operation}" if ended_by else ""
    credit = table.method.switches.environment_fault_credit
    if failure is VerifierFailure.SUCCESS_WITH_ERROR and credit is EnvironmentFaultCredit.DESIGNER:
        outcome, fault = Outcome.ENVIRONMENT_FAULT, f"{failure.value}/step"
    trajectory, per_turn = sequences(dialogue)
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
        prefix_check=prefix_check(dialogue, trajectory),
        trajectory=trajectory,
        attempts=1,
        seconds=seconds,
        per_turn=per_turn,
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
        prefix_check=PrefixCheck.NONE,
        trajectory=finish(begin([])),
        attempts=attempts,
        seconds=0.0,
    )


def _silent(table: Table, plan: EpisodePlan) -> Dialogue:
    """The conversation of an episode whose program did not live to begin it."""
    return Dialogue(table.chat, manner_of(table.method, hinted=plan.hinted), [], (), begin([]))


async def _opened(table: Table, plan: EpisodePlan, course: Course, session: Session) -> Dialogue:
    """The conversation with its first message, and the tools that the program offers."""
    domain = table.method.environments.domain
    tools = await tool_use.offered_tools(course, session) if domain is Domain.TOOLS else ()
    template = template_of(domain, table.method.play.prompt_template)
    shown = course.opening if plan.hint is None else _hinted(table, course.opening, plan.hint, template)
    content = first_message(shown, template)
    if isinstance(shown, Spelled):
        content = Spelled(content)
    message = {"role": USER, "content": content}
    return open_dialogue(table.chat, manner_of(table.method, hinted=plan.hinted), [message], tools)


def _hinted(table: Table, opening: str, hint: str, template: str) -> str:
    """The first observation with its hint. A hint that kept its end token ends the user's turn with it (D1)."""
    if not hint.endswith(TURN_END) or table.method.switches.hint_ending is HintEnding.STRIPPED:
        return with_hint(opening, hint, template)
    chat = table.chat
    kept = chat.harmless(hint.removesuffix(TURN_END)) + TURN_END
    return Spelled(with_hint(chat.harmless(opening), kept, template))


async def _turns(table: Table, plan: EpisodePlan, course: Course, dialogue: Dialogue, session: Session) -> Outcome:
    """Take turns until the environment, the context or the turn limit ends the episode."""
    settings = table.method.play
    for turn in range(settings.max_turns):
        most = _most_new_tokens(table, dialogue)
        if most <= 0:
            return Outcome.TRUNCATED
        # Not checked field by field: the context's ids are ours, and some ten thousand.
        request = SpeltRequest.model_construct(
            token_ids=seen(dialogue.now),
            temperature=settings.sampling.temperature,
            top_p=settings.sampling.top_p,
            top_k=settings.sampling.top_k,
            max_new_tokens=most,
            seed=seed_for(table.method.seed, Purpose.TURN, plan.rollout, plan.slot, int(plan.hinted), plan.play, turn),
            policy_version=table.policy_version,
        ).spelt(dialogue.now)
        drawn = await table.generate(request, settings.turn_timeout_seconds)
        reply = add_reply(dialogue, request, drawn)
        for flaw in flaws_of(table.chat, drawn, reply):
            table.observe(flaw)
        if not dialogue.manner.bare and not ended(table.chat, drawn):
            return Outcome.TRUNCATED
        answered = await _acted(table.method, course, session, reply)
        if answered.malformed:
            table.observe(Flaw.MALFORMED_CALL)
            mask_turn(dialogue)
        if answered.outcome is not None:
            return answered.outcome
        add_answers(dialogue, answered.messages)
    return Outcome.TRUNCATED


def _most_new_tokens(table: Table, dialogue: Dialogue) -> int:
    """How many tokens the next turn may have; 0 or fewer: the context is full (method.md §1.5)."""
    settings, model = table.method.play, table.chat.context_tokens
    left, spare = min(settings.context_tokens, model) - dialogue.now.tokens, SPARE_TOKENS
    if dialogue.manner.bare:
        left, spare = model - dialogue.now.tokens, 0
    return min(settings.sampling.max_new_tokens, left - spare)


async def _acted(method: MethodConfig, course: Course, session: Session, reply: str) -> Answered:
    """What a turn of the player leads to."""
    if method.environments.domain is Domain.TOOLS:
        return await tool_use.take_turn(method, course, session, reply)
    return await take_step(course, session, parse_action(reply, method.switches.boxed_action))
