"""The order of the gate, and the rule that holds it: without an explicit pass of every stage a program is rejected.

A stage returns a rejection or None for a pass. When sandboxes fail under a stage it is done again; past the attempts
the verdict is a rejection for `infrastructure`, which says nothing about the program and may be asked for again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import InfrastructureFault
from spade_contracts.verdicts import Reason, Stage, Verdict, accepted, rejected
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify.contract import check_contract
from spade_sandbox.verify.controls import check_controls
from spade_sandbox.verify.parse import check_source, parse_answer
from spade_sandbox.verify.trial import Program

STAGES: tuple[tuple[Stage, Callable[[Program], Awaitable[Verdict | None]]], ...] = (
    (Stage.CONTRACT, check_contract),
    (Stage.CONTROLS, check_controls),
)
"""Stages that run the program, cheapest first; `parse` comes before them."""
ATTEMPTS = 3
WAIT_SECONDS = 300.0
MAX_SOURCE_BYTES = 100_000


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the program it is about: as repaired, or None if the answer held none."""

    verdict: Verdict
    source: str | None


async def verify(
    answer: str,
    pool: SandboxPool,
    limits: SandboxLimits,
    *,
    max_source_bytes: int = MAX_SOURCE_BYTES,
    wait_seconds: float = WAIT_SECONDS,
) -> Judgement:
    """Judge a designer's answer. Play `source`, never the answer, and only if the verdict is accepted."""
    return await _judge(parse_answer(answer, max_source_bytes), pool, limits, wait_seconds)


async def verify_program(
    source: str,
    pool: SandboxPool,
    limits: SandboxLimits,
    *,
    max_source_bytes: int = MAX_SOURCE_BYTES,
    wait_seconds: float = WAIT_SECONDS,
) -> Judgement:
    """Judge an existing program file, without looking for a fenced block in it."""
    return await _judge(check_source(source, max_source_bytes), pool, limits, wait_seconds)


async def _judge(parsed: str | Verdict, pool: SandboxPool, limits: SandboxLimits, wait_seconds: float) -> Judgement:
    if isinstance(parsed, Verdict):
        return Judgement(parsed, None)
    program = Program(parsed, pool, limits, wait_seconds)
    for stage, check in STAGES:
        rejection = await _attempted(stage, check, program)
        if rejection is not None:
            return Judgement(rejection, parsed)
    return Judgement(accepted(), parsed)


async def _attempted(
    stage: Stage, check: Callable[[Program], Awaitable[Verdict | None]], program: Program
) -> Verdict | None:
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            verdict = await check(program)
        except InfrastructureFault as error:
            problem = str(error)
            continue
        if verdict is not None and (verdict.accepted or verdict.reason is None):
            return rejected(stage, Reason.NO_VERDICT, "the stage gave neither a pass nor a reason")
        return verdict
    return rejected(stage, Reason.INFRASTRUCTURE, f"sandboxes failed {ATTEMPTS} times; the last time: {problem}")
