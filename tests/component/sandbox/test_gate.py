"""The gate accepts the known good programs and rejects each known bad one at its stage, for its reason."""

import pytest
from tests.component.sandbox.programs import PROGRAMS, stepping

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import gate, verify, verify_program
from spade_sandbox.verify.trial import Program

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)
IMPATIENT = LIMITS.model_copy(update={"step_seconds": 1.0})
GOOD = {path.stem: path.read_text() for path in sorted((PROGRAMS / "good").glob("*.py"))}
BAD = {path.stem: path.read_text() for path in sorted((PROGRAMS / "bad").glob("*.py"))}
EXPECTATION = "# expect: "


@pytest.mark.parametrize("name", GOOD)
async def test_known_good_program_is_accepted(pool: SandboxPool, name: str) -> None:
    judgement = await verify(f"My game:\n```python\n{GOOD[name]}```\n", pool, LIMITS)
    assert judgement.verdict.accepted, judgement.verdict
    assert judgement.source == GOOD[name]


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
    assert verdict.evidence[0].startswith("reset(seed=0)")
    assert any("reward=1.0, terminated=True" in line for line in verdict.evidence)


async def test_one_lucky_seed_of_a_fixed_command_is_no_rejection(pool: SandboxPool) -> None:
    lucky = "won = self.seed == 1 and action == '\\\\boxed{1}'\nreturn 'x', float(won), won, self.turns > 20, {}"
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
    async def silent(program: Program) -> Verdict:
        return Verdict(stage=Stage.CONTRACT, reason=None)

    monkeypatch.setattr(gate, "STAGES", ((Stage.CONTRACT, silent),))
    verdict = (await verify_program(GOOD["number_search"], pool, LIMITS)).verdict
    assert not verdict.accepted
    assert verdict.reason is Reason.NO_VERDICT
