"""The order of the gate, and the rule that holds it: without an explicit pass of every stage a program is rejected.

A stage returns a rejection or None for a pass. When sandboxes fail under a stage it is done again; past the attempts
the verdict is a rejection for `infrastructure`, which says nothing about the program and may be asked for again.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import OptionalStage
from spade_contracts.errors import EnvironmentFault, InfrastructureFault
from spade_contracts.verdicts import Reason, Stage, Verdict, accepted, rejected, with_facts
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify.checks import LUCK, UNFINISHED
from spade_sandbox.verify.contamination import check_contamination
from spade_sandbox.verify.context import GateContext
from spade_sandbox.verify.contract import check_contract
from spade_sandbox.verify.controls import check_controls
from spade_sandbox.verify.difficulty import check_difficulty
from spade_sandbox.verify.judge import check_judge
from spade_sandbox.verify.leaks import check_leaks
from spade_sandbox.verify.mutants import check_mutants
from spade_sandbox.verify.novelty import check_novelty
from spade_sandbox.verify.order import check_order
from spade_sandbox.verify.parse import check_source, parse_answer
from spade_sandbox.verify.solution import check_solution
from spade_sandbox.verify.trial import OutOfSteps, OutOfTime, Program

ATTEMPTS = 3
WAIT_SECONDS = 300.0
MAX_SOURCE_BYTES = VerificationSettings().max_source_bytes
Check = Callable[[Program, GateContext], Awaitable[Verdict | None]]


@dataclass(frozen=True)
class GateStage:
    """One stage that runs after `parse`."""

    stage: Stage
    check: Check
    option: OptionalStage | None = None
    """The setting that switches it on; None for a stage that always runs."""


STAGES: tuple[GateStage, ...] = (
    GateStage(Stage.CONTRACT, lambda program, context: check_contract(program)),
    GateStage(Stage.CONTROLS, lambda program, context: check_controls(program)),
    GateStage(Stage.SOLUTION, lambda program, context: check_solution(program), OptionalStage.SOLUTION),
    GateStage(Stage.ORDER, lambda program, context: check_order(program), OptionalStage.ORDER),
    GateStage(Stage.LEAKS, check_leaks, OptionalStage.LEAKS),
    GateStage(Stage.MUTANTS, lambda program, context: check_mutants(program), OptionalStage.MUTANTS),
    GateStage(Stage.NOVELTY, lambda program, context: check_novelty(program, context.known), OptionalStage.NOVELTY),
    GateStage(
        Stage.CONTAMINATION,
        lambda program, context: check_contamination(program, context.contamination),
        OptionalStage.CONTAMINATION,
    ),
    GateStage(
        Stage.DIFFICULTY, lambda program, context: check_difficulty(program, context.policy), OptionalStage.DIFFICULTY
    ),
    GateStage(Stage.JUDGE, lambda program, context: check_judge(program, context.judge), OptionalStage.JUDGE),
)
"""Stages after `parse`, cheapest first."""


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
    settings: VerificationSettings | None = None,
    domain: Domain = Domain.GAMES,
    context: GateContext | None = None,
    wait_seconds: float = WAIT_SECONDS,
) -> Judgement:
    """Judge a designer's answer. Play `source`, never the answer, and only if the verdict is accepted.

    `wait_seconds`: how long a session may wait for a pod.
    """
    settings = settings or VerificationSettings()
    parsed = parse_answer(answer, settings.max_source_bytes, settings.brace_repairs)
    return await _judge(parsed, pool, limits, _Terms(settings, domain, context or GateContext(), wait_seconds))


async def verify_program(
    source: str | bytes,
    pool: SandboxPool,
    limits: SandboxLimits,
    *,
    settings: VerificationSettings | None = None,
    domain: Domain = Domain.GAMES,
    context: GateContext | None = None,
    wait_seconds: float = WAIT_SECONDS,
) -> Judgement:
    """Judge an existing program, or the bytes of its file, without looking for a fenced block in it."""
    settings = settings or VerificationSettings()
    parsed = check_source(source, settings.max_source_bytes, settings.brace_repairs)
    return await _judge(parsed, pool, limits, _Terms(settings, domain, context or GateContext(), wait_seconds))


@dataclass(frozen=True)
class _Terms:
    settings: VerificationSettings
    domain: Domain
    context: GateContext
    wait_seconds: float


async def _judge(parsed: str | Verdict, pool: SandboxPool, limits: SandboxLimits, terms: _Terms) -> Judgement:
    if isinstance(parsed, Verdict):
        return Judgement(parsed, None)
    program = Program(
        parsed,
        pool,
        limits,
        domain=terms.domain,
        settings=terms.settings,
        max_turns=terms.context.max_turns,
        wait_seconds=terms.wait_seconds,
    )
    started = time.monotonic()
    try:
        verdict = await _first_rejection(program, terms.context) or accepted()
    finally:
        await program.settle()
    costs = {
        "steps": float(program.steps),
        "sessions": float(len(program.trials)),
        "cpu_seconds": round(program.cpu_seconds, 3),
        "seconds": round(time.monotonic() - started, 3),
    }
    return Judgement(with_facts(verdict, {**costs, **program.facts}), parsed)


async def _first_rejection(program: Program, context: GateContext) -> Verdict | None:
    for stage in STAGES:
        if stage.option is None or stage.option in program.settings.stages:
            rejection = await _attempted(stage, program, context)
            if rejection is not None:
                return rejection
    return None


async def _attempted(stage: GateStage, program: Program, context: GateContext) -> Verdict | None:
    """One stage's word; a stage under which sandboxes failed begins anew, as if it had not been."""
    problem = ""
    before = program.mark()
    for _ in range(ATTEMPTS):
        program.rewind(before)
        try:
            verdict = await stage.check(program, context)
        except InfrastructureFault as error:
            problem = str(error)
            continue
        except EnvironmentFault as error:
            return program.fault(stage.stage, error)
        except OutOfSteps:
            open_controls = [name for name, word in program.facts.items() if word == UNFINISHED and name not in LUCK]
            what = " and ".join(open_controls) or "this stage"
            message = f"the battery's {program.max_steps} steps are used up before {what} is finished"
            return program.rejection(stage.stage, Reason.BUDGET_SPENT, message, *program.traces[-1:])
        except OutOfTime:
            spent = f"the program used {program.cpu_seconds:.2f} s of CPU time; the battery may take at most "
            message = f"{spent}{program.settings.max_cpu_seconds:g} s"
            return program.rejection(stage.stage, Reason.BUDGET_SPENT, message, *program.traces[-1:])
        if verdict is not None and (verdict.accepted or verdict.reason is None):
            return rejected(stage.stage, Reason.NO_VERDICT, "the stage gave neither a pass nor a reason")
        return verdict
    return rejected(stage.stage, Reason.INFRASTRUCTURE, f"sandboxes failed {ATTEMPTS} times; the last time: {problem}")
