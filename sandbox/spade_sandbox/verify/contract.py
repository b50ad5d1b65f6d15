"""Stage `contract`: the structural validation of method.md §4.1 with exact types, twice, and both must agree.

The exact types are checked in the cell and again by the client. Two sessions are two processes, so a program that
draws from the clock, the system or its memory addresses differs between them.
"""

from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import StepResult
from spade_sandbox.verify.trial import Program, Transcript, over

MAX_TURNS = 1000
SEED, OTHER_SEED = 42, 123
ACTIONS = (r"\boxed{1}", r"\boxed{test}", r"\boxed{42}")
MAX_ABSOLUTE_REWARD = 10.0
STAGE = Stage.CONTRACT


async def check_contract(program: Program) -> Verdict | None:
    """None if the program keeps the contract. Raises InfrastructureFault when it could not be judged."""
    seen: list[tuple[str | StepResult, ...]] = []
    for _ in range(2):
        transcript = Transcript()
        try:
            seen.append(await _play(program, transcript))
        except EnvironmentFault as error:
            return transcript.fault(STAGE, error)
        for result in seen[-1]:
            if isinstance(result, StepResult) and abs(result.reward) > MAX_ABSOLUTE_REWARD:
                return transcript.rejection(
                    STAGE, Reason.REWARD_OUT_OF_RANGE, f"reward {result.reward} lies outside [-10, 10]"
                )
    if seen[0] != seen[1]:
        return transcript.rejection(
            STAGE, Reason.NONDETERMINISTIC, "two sessions with the same seed and actions gave different results"
        )
    return None


async def _play(program: Program, transcript: Transcript) -> tuple[str | StepResult, ...]:
    """One session: a seeded episode of the three actions, and a second reset that must not raise."""
    results: list[str | StepResult] = []
    async with program.pool.session(
        program.source, program.limits, max_turns=MAX_TURNS, wait_seconds=program.wait_seconds
    ) as session:
        results.append(await transcript.reset(session, SEED))
        for action in ACTIONS:
            result = await transcript.step(session, action)
            results.append(result)
            if over(result):
                break
        results.append(await transcript.reset(session, OTHER_SEED))
    return tuple(results)
