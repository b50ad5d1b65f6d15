"""Stage `contract`: the structural validation of method.md §4.1 with exact types, and determinism (M13).

The exact types are checked in the cell and again by the client. Three sessions must agree: two are two processes, so a
program that draws from the clock, the system or its memory addresses differs between them; the third has another hash
seed, so one that walks through a set of strings differs there. In a used session the same seed and actions must give
what they gave before.
"""

import asyncio
from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_contracts.protocol import Criterion
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import CallResult, StepResult
from spade_sandbox.verify.actions import random_action, repeatable
from spade_sandbox.verify.arguments import drawn
from spade_sandbox.verify.checks import PASSED
from spade_sandbox.verify.trial import Program, Trial, over

MAX_TURNS = 1000
SEED, OTHER_SEED = 42, 123
ACTIONS = (r"\boxed{1}", r"\boxed{test}", r"\boxed{42}")
TOOLS_ACTIONS = ("test", "<answer>test</answer>")
MAX_ABSOLUTE_REWARD = 10.0
LIKELY = 4
"""Likely actions of an episode."""
STAGE = Stage.CONTRACT
Result = str | StepResult | CallResult
Seen = tuple[Result, ...]


@dataclass(frozen=True)
class _Session:
    note: str
    other_hash_seed: bool
    reason: Reason


SESSIONS = (
    _Session("contract", other_hash_seed=False, reason=Reason.NONDETERMINISTIC),
    _Session("M13: the same again", other_hash_seed=False, reason=Reason.NONDETERMINISTIC),
    _Session("M13: another hash seed", other_hash_seed=True, reason=Reason.HASH_SEED_DEPENDENT),
)


async def check_contract(program: Program) -> Verdict | None:
    """None if the program keeps the contract. Raises InfrastructureFault when it could not be judged.

    Only a program that keeps it in one session is given the two others, which run at the same time.
    """
    first = await _seen_in(program, SESSIONS[0])
    if isinstance(first, Verdict):
        return first
    others = await asyncio.gather(*(_seen_in(program, wanted) for wanted in SESSIONS[1:]), return_exceptions=True)
    for number, (wanted, seen) in enumerate(zip(SESSIONS[1:], others, strict=True), start=1):
        if isinstance(seen, BaseException):
            del program.trials[number + 1 :]  # the fault that is told is this session's, so its evidence is the last
            raise seen
        if isinstance(seen, Verdict):
            return seen
        if seen != first:
            what = "hash seed" if wanted.other_hash_seed else "process"
            message = f"the same seed and actions gave another result in another {what}"
            return program.rejection(
                STAGE, wanted.reason, message, program.trials[0].trace, program.trials[number].trace
            )
    program.facts["M13"] = PASSED
    program.facts["M15"] = f"{PASSED}: it loads, begins and goes on within its limits"
    return None


async def _seen_in(program: Program, wanted: _Session) -> Seen | Verdict:
    """What the program answers in one session, or why that alone rejects it."""
    first = wanted is SESSIONS[0]
    async with program.session(wanted.note, max_turns=MAX_TURNS, other_hash_seed=wanted.other_hash_seed) as trial:
        rejection = await _tools_are_fit(program, trial) if program.domain is Domain.TOOLS else None
        if rejection is not None:
            return rejection
        seen = (*await _fixed(program, trial), *await _likely(trial))
        again = await _likely(trial) if first else ()
    for result in seen:
        if isinstance(result, StepResult) and abs(result.reward) > MAX_ABSOLUTE_REWARD:
            message = f"reward {result.reward} lies outside [-10, 10]"
            return program.rejection(STAGE, Reason.REWARD_OUT_OF_RANGE, message, trial.trace)
    if first and (seen[0] != again[0] or seen[-len(again) :] != again):
        message = f"what was done in one episode changes the next from reset(seed={SEED})"
        return program.rejection(STAGE, Reason.NONDETERMINISTIC, message, trial.trace)
    return seen


async def _tools_are_fit(program: Program, trial: Trial) -> Verdict | None:
    """What a tool environment must have after a reset, beside what the pod checks."""
    await trial.reset(SEED)
    if not await trial.tools():
        return program.rejection(STAGE, Reason.NO_TOOLS, "the program offers no tool", trial.trace)
    state = await trial.inspect()
    raising = [number for number, criterion in enumerate(state.criteria) if criterion is Criterion.RAISES]
    if raising:
        message = f"criteria {raising} raise on the state at reset"
        return program.rejection(STAGE, Reason.CRITERION_RAISES, message, trial.trace)
    return None


async def _fixed(program: Program, trial: Trial) -> Seen:
    """A seeded episode of fixed actions, and a second reset that must not raise (method.md §4.1)."""
    results: list[Result] = [await trial.reset(SEED)]
    for action in TOOLS_ACTIONS if program.domain is Domain.TOOLS else ACTIONS:
        result = await trial.step(action)
        results.append(result)
        if over(result):
            break
    results.append(await trial.reset(OTHER_SEED))
    return tuple(results)


async def _likely(trial: Trial) -> Seen:
    """The seeded episode again, with likely actions: commands and words that it shows, tools with likely arguments."""
    opening = await trial.reset(SEED)
    results: list[Result] = [opening]
    rng = repeatable(SEED)
    if trial.program.domain is Domain.TOOLS:
        for tool in (await trial.tools())[:LIKELY]:
            results.append(await trial.call(tool.name, drawn(tool, opening, rng)))
        return tuple(results)
    seen = opening
    for _ in range(LIKELY):
        result = await trial.step(random_action(seen, rng))
        results.append(result)
        if over(result):
            break
        seen = result.observation
    return tuple(results)
