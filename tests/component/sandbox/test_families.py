"""The procedural families pass the gate: their verifiers hold against its whole battery, their solutions win."""

import pytest

from spade_contracts.config import VerificationSettings
from spade_contracts.config.families import ALL_FAMILIES, Family
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import SolutionRule
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import verify_program
from spade_trainer.design.procedural import family_program

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)
SETTINGS = VerificationSettings(solution=SolutionRule.REQUIRED)


@pytest.mark.parametrize("family", ALL_FAMILIES)
async def test_family_is_accepted_with_its_solution(pool: SandboxPool, family: Family) -> None:
    judgement = await verify_program(family_program(family, 5), pool, LIMITS, settings=SETTINGS)
    assert judgement.verdict.accepted, judgement.verdict
    assert judgement.verdict.facts["solution_form"] == "exact"
