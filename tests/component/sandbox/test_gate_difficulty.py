"""Stage `difficulty` in the gate: a probe policy's mean return, its bounds, and the cost bound of its episodes."""

from collections.abc import Sequence

import pytest
from tests.component.sandbox.programs import stepping

from spade_contracts.config import VerificationSettings
from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import DifficultySettings, OptionalStage
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import SandboxPool, Tool
from spade_sandbox.verify import GateContext, verify_program
from spade_sandbox.verify.difficulty import ProbePolicy

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)
KNOCK = stepping(
    "knocks = action.strip() == '\\\\boxed{knock twice}'\n"
    "return f'turn {self.turns}', float(knocks), knocks, self.turns > 20, {}"
)
ENDS_AT_ONCE = "knock twice"


def saying(*texts: str) -> ProbePolicy:
    """A policy that says these one after the other, the last one for ever."""

    async def policy(conversation: Sequence[str], tools: Sequence[Tool]) -> str:
        assert not tools
        return rf"\boxed{{{texts[min(len(conversation) // 2, len(texts) - 1)]}}}"

    return policy


async def judged(
    pool: SandboxPool, policy: ProbePolicy | None, difficulty: DifficultySettings, max_steps: int = 200
) -> Verdict:
    settings = VerificationSettings(
        stages=(OptionalStage.DIFFICULTY,), difficulty=difficulty, max_steps=max_steps, max_random_wins=1.0
    )
    context = GateContext(policy=policy)
    return (await verify_program(KNOCK, pool, LIMITS, domain=Domain.GAMES, settings=settings, context=context)).verdict


async def test_mean_return_of_the_probes_is_a_fact_and_by_default_rejects_nothing(pool: SandboxPool) -> None:
    verdict = await judged(pool, saying("wait", ENDS_AT_ONCE), DifficultySettings(probes=3))
    assert verdict.accepted, verdict
    assert (verdict.facts["probe_return"], verdict.facts["probes"]) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("says", "bounds", "reason"),
    [
        (ENDS_AT_ONCE, {"max_return": 0.9}, Reason.TOO_EASY),
        ("wait", {"min_return": 0.1}, Reason.TOO_HARD),
        (ENDS_AT_ONCE, {"min_return": 0.1}, None),
        ("wait", {"max_return": 0.9}, None),
    ],
)
async def test_return_outside_of_the_bounds_rejects(
    pool: SandboxPool, says: str, bounds: dict[str, float], reason: Reason | None
) -> None:
    verdict = await judged(pool, saying(says), DifficultySettings(probes=2, **bounds))
    assert verdict.reason is reason, verdict
    if reason is not None:
        assert verdict.stage is Stage.DIFFICULTY
        assert len(verdict.evidence) == 2


async def test_without_a_policy_it_says_so(pool: SandboxPool) -> None:
    verdict = await judged(pool, None, DifficultySettings(min_return=0.5))
    assert verdict.accepted
    assert verdict.facts["difficulty"] == "no probe policy"


async def test_probes_that_the_steps_do_not_suffice_for_are_left_out_and_said(pool: SandboxPool) -> None:
    verdict = await judged(pool, saying("wait"), DifficultySettings(probes=60), max_steps=200)
    assert verdict.accepted
    assert verdict.facts["steps"] == 200
    assert "ended the probes after" in str(verdict.facts["difficulty"])
    assert 0 < float(verdict.facts["probes"]) < 60
