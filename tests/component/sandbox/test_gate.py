"""The gate accepts the known good programs and rejects each known bad one at its stage, for its reason."""

import re
from pathlib import Path

import pytest
from tests.component.sandbox.programs import PROGRAMS, stepping

from spade_contracts.config import VerificationSettings
from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import SolutionRule
from spade_contracts.verdicts import Operation, Reason, Stage, Verdict
from spade_sandbox.client import SandboxLost, SandboxPool
from spade_sandbox.verify import GateContext, gate, verify, verify_program
from spade_sandbox.verify.record import perform
from spade_sandbox.verify.trial import Program

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)
IMPATIENT = LIMITS.model_copy(update={"step_seconds": 1.0})
GOOD = {path.stem: path.read_text() for path in sorted((PROGRAMS / "good").glob("*.py"))}
BAD = {path.stem: path.read_text() for path in sorted((PROGRAMS / "bad").glob("*.py"))}
PAGE = Path(__file__).parents[3] / "docs" / "programs.md"
EXPECTATION = "# expect: "


@pytest.mark.parametrize("name", GOOD)
async def test_known_good_program_is_accepted(pool: SandboxPool, name: str) -> None:
    judgement = await verify(f"My game:\n```python\n{GOOD[name]}```\n", pool, LIMITS)
    assert judgement.verdict.accepted, judgement.verdict
    assert judgement.source == GOOD[name]


@pytest.mark.parametrize("domain", Domain)
async def test_example_of_the_page_is_accepted_with_its_solution(pool: SandboxPool, domain: Domain) -> None:
    game, task = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    judgement = await verify_program(task if domain is Domain.TOOLS else game, pool, LIMITS, domain=domain)
    assert judgement.verdict.accepted, judgement.verdict
    assert judgement.verdict.facts["solution_form"] == "exact"


@pytest.mark.parametrize("name", BAD)
async def test_known_bad_program_is_rejected_for_its_reason(pool: SandboxPool, name: str) -> None:
    source = BAD[name]
    expected = source.partition("\n")[0].removeprefix(EXPECTATION)
    judgement = await verify_program(source, pool, IMPATIENT if expected.endswith("timeout") else LIMITS)
    assert not judgement.verdict.accepted
    assert f"{judgement.verdict.stage}/{judgement.verdict.reason}" == expected, judgement.verdict
    if judgement.verdict.stage is not Stage.PARSE:
        assert judgement.verdict.evidence or "open" in judgement.verdict.message


async def test_rejection_holds_the_transcript_that_shows_it(pool: SandboxPool) -> None:
    verdict = (await verify_program(BAD["fixed_command_wins"], pool, LIMITS)).verdict
    (trace,) = verdict.evidence
    assert trace.exchanges[0].op is Operation.RESET
    assert {exchange.action for exchange in trace.exchanges[1:]} == {r"\boxed{1}"}
    assert '"reward":1.0' in trace.exchanges[-1].answer


@pytest.mark.parametrize(
    "name", ["fixed_command_wins", "goal_holds_at_reset", "draws_from_the_clock", "crashes_on_garbage"]
)
async def test_evidence_does_the_same_again(pool: SandboxPool, name: str) -> None:
    judgement = await verify_program(BAD[name], pool, LIMITS)
    trace = judgement.verdict.evidence[-1]
    assert judgement.source is not None
    opened = pool.session(
        judgement.source, LIMITS, trace.domain, max_turns=trace.max_turns, other_hash_seed=trace.other_hash_seed
    )
    async with opened as session:
        answers = [await perform(session, exchange) for exchange in trace.exchanges]
    same = [answer == exchange.answer for answer, exchange in zip(answers, trace.exchanges, strict=True)]
    assert all(same) is (name != "draws_from_the_clock")


async def test_a_fixed_command_may_be_lucky_from_some_seeds(pool: SandboxPool) -> None:
    lucky = "won = self.seed % 2 == 1 and action == '\\\\boxed{1}'\nreturn 'x', float(won), won, self.turns > 20, {}"
    source = stepping(lucky).replace(
        "self.turns = 0\n        return", "self.turns, self.seed = 0, seed\n        return"
    )
    assert (await verify_program(source, pool, LIMITS)).verdict.accepted


async def test_lost_sandboxes_are_no_acceptance_and_no_word_on_the_program() -> None:
    async with SandboxPool("127.0.0.1:1", "token") as nowhere:
        verdict = (await verify_program(GOOD["number_search"], nowhere, LIMITS, wait_seconds=0.2)).verdict
    assert not verdict.accepted
    assert verdict.reason is Reason.INFRASTRUCTURE


async def test_stage_without_a_reason_is_no_acceptance(pool: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(program: Program, context: GateContext) -> Verdict:
        return Verdict(stage=Stage.CONTRACT, reason=None)

    monkeypatch.setattr(gate, "STAGES", (gate.GateStage(Stage.CONTRACT, silent),))
    verdict = (await verify_program(GOOD["number_search"], pool, LIMITS)).verdict
    assert not verdict.accepted
    assert verdict.reason is Reason.NO_VERDICT


async def test_stage_begins_anew_when_its_sandbox_is_lost(pool: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    async def unlucky(program: Program, context: GateContext) -> None:
        seen.append(program.steps)
        async with program.session("once more") as trial:
            await trial.reset(1)
            await trial.step("x")
            if len(seen) < gate.ATTEMPTS:
                raise SandboxLost("gone")

    monkeypatch.setattr(gate, "STAGES", (gate.GateStage(Stage.CONTRACT, unlucky),))
    verdict = (await verify_program(GOOD["number_search"], pool, LIMITS)).verdict
    assert verdict.accepted
    assert seen == [0] * gate.ATTEMPTS
    assert verdict.facts["steps"] == 1


@pytest.mark.parametrize("name", GOOD)
async def test_every_control_is_accounted_for(pool: SandboxPool, name: str) -> None:
    facts = (await verify_program(GOOD[name], pool, LIMITS)).verdict.facts
    assert {f"M{number}" for number in range(16)} <= set(facts)
    assert facts["M8"] == "does not apply: games have no tools"


ENDLESS = stepping("return f'turn {self.turns} {action[:9]}', 0.0, False, False, {}")


async def test_program_whose_controls_the_steps_do_not_suffice_for_is_rejected(pool: SandboxPool) -> None:
    settings = VerificationSettings(max_steps=50)
    verdict = (await verify_program(ENDLESS, pool, LIMITS, settings=settings)).verdict
    assert (verdict.stage, verdict.reason) == (Stage.CONTROLS, Reason.BUDGET_SPENT)
    assert verdict.facts["steps"] == 50
    assert "before M1 is finished" in verdict.message
    assert "not finished" in str(verdict.facts["M1"])


async def test_random_and_constant_play_may_be_cut_short_and_the_verdict_says_so(pool: SandboxPool) -> None:
    settings = VerificationSettings(max_steps=100)
    verdict = (await verify_program(ENDLESS, pool, LIMITS, settings=settings)).verdict
    assert verdict.accepted
    assert float(verdict.facts["steps"]) <= 100
    assert all("not finished" in str(verdict.facts[name]) for name in ("M2", "M3"))


@pytest.mark.parametrize("length", [8, 14, 24, 40])
async def test_long_solution_is_tried_in_full(pool: SandboxPool, length: int) -> None:
    context = GateContext(max_turns=50)
    judgement = await verify_program(long_walk(length), pool, LIMITS, context=context)
    facts = judgement.verdict.facts
    assert judgement.verdict.accepted, judgement.verdict
    assert facts["solution_steps"] == length
    assert {facts[name] for name in ("M4", "M5", "M6", "M7", "M10")} == {"passed"}


async def test_solution_too_long_to_be_replayed_is_a_rejection(pool: SandboxPool) -> None:
    context = GateContext(max_turns=200)
    verdict = (await verify_program(long_walk(150), pool, LIMITS, context=context)).verdict
    assert (verdict.stage, verdict.reason) == (Stage.SOLUTION, Reason.BUDGET_SPENT)
    assert "before M4 is finished" in verdict.message


async def test_program_that_spends_the_batterys_cpu_time_is_rejected(pool: SandboxPool) -> None:
    busy = stepping("for _ in range(3_000_000):\n    pass\nreturn 'x', 0.0, False, False, {}")
    settings = VerificationSettings(max_cpu_seconds=0.5)
    verdict = (await verify_program(busy, pool, LIMITS, settings=settings)).verdict
    assert verdict.reason in (Reason.BUDGET_SPENT, Reason.TIMEOUT)


WALK = """
import random

class WalkEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        r = random.Random(seed)
        self.path = [r.choice(["north", "south", "east", "west"]) for _ in range(4)]
        self.at = self.turns = 0
        return "A dark maze. Go \\\\boxed{north}, \\\\boxed{south}, \\\\boxed{east} or \\\\boxed{west}.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\\\boxed{").removesuffix("}")
        self.at = self.at + 1 if word == self.path[self.at] else 0
        won = self.at == 4
        return f"You are {self.at} deep.", 1.0 if won else self.at / 5, won, self.turns >= self.max_turns, {}

    def solution(self):
        return SOLUTION
"""


def long_walk(length: int) -> str:
    """WALK of so many rooms with its exact solution."""
    exact = r"""'\n'.join(f'\\boxed{{{word}}}' for word in self.path)"""
    source = WALK.replace("SOLUTION", exact).replace("range(4)", f"range({length})")
    source = source.replace("max_turns=12", f"max_turns={2 * length}")
    return source.replace("self.at == 4", f"self.at == {length}").replace("self.at / 5", "self.at / 500")


@pytest.mark.parametrize(
    ("solution", "form", "reason"),
    [
        (r"""'\n'.join(f'\\boxed{{{word}}}' for word in self.path)""", "exact", None),
        ("' '.join(self.path)", "words", None),
        ("'First ' + ', then '.join(f'\\\\boxed{{{word}}}' for word in self.path)", "boxed", None),
        ("'Feel your way along the walls.'", "unreadable", None),
        ("''", "none", None),
        ("1 / 0", "none", None),
        (r"""'\n'.join(f'\\boxed{{{word}}}' for word in self.path[:3])""", None, Reason.SOLUTION_FAILS),
        (r"""'\n'.join(f'\\boxed{{{word}}}' for word in [*self.path, 'north'])""", "exact", Reason.WINS_TRUNCATED),
    ],
)
async def test_solutions_are_read_as_far_as_they_go(
    pool: SandboxPool, solution: str, form: str | None, reason: Reason | None
) -> None:
    verdict = (await verify_program(WALK.replace("SOLUTION", solution), pool, LIMITS)).verdict
    assert verdict.reason is reason, verdict
    assert verdict.facts.get("solution_form") == form
    if form in ("unreadable", "none"):
        assert all("not run" in str(verdict.facts[name]) for name in ("M4", "M5", "M6", "M7", "M10"))


async def test_solution_can_be_required(pool: SandboxPool) -> None:
    settings = VerificationSettings(solution=SolutionRule.REQUIRED)
    verdict = (await verify_program(WALK.replace("SOLUTION", "''"), pool, LIMITS, settings=settings)).verdict
    assert verdict.reason is Reason.NO_SOLUTION
