"""Stage `leaks` in the gate: formulas, documents, and answers that tell the solution; and what is no leak."""

import pytest
from tests.component.sandbox.programs import stepping

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import GateContext, verify_program

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)
TITLE = "Annals of the Quiet Harbour"
LOCK = """
import random


class LockEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.code = "".join(random.Random(seed).choice("abcdefgh") for _ in range(6))
        self.turns = 0
        return "OPENING \\\\boxed{turn LETTERS} or \\\\boxed{listen}.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\\\boxed{").removesuffix("}")
        late = self.turns >= self.max_turns
        if word == "turn " + self.code:
            return "Open.", 1.0, True, False, {}
        if word == "listen":
            return HEARD, 0.0, False, late, {}
        return f"{sum(a == b for a, b in zip(word[5:], self.code))} are right. MISSED", 0.0, False, late, {}

    def solution(self):
        return "\\\\boxed{turn " + self.code + "}"
"""


def lock(opening: str = "Six letters from a to h.", heard: str = "'Nothing.'", missed: str = "") -> str:
    """A lock that says these things; `heard` is an expression."""
    return LOCK.replace("OPENING", opening).replace("HEARD", heard).replace("MISSED", missed)


async def judged(pool: SandboxPool, source: str, context: GateContext | None = None) -> Verdict:
    return (await verify_program(source, pool, LIMITS, context=context)).verdict


async def test_lock_that_tells_nothing_is_accepted(pool: SandboxPool) -> None:
    verdict = await judged(pool, lock(), GateContext(documents=(TITLE,)))
    assert verdict.accepted, verdict
    assert verdict.facts["M14"] == "passed"


async def test_formula_in_the_opening_is_a_leak(pool: SandboxPool) -> None:
    verdict = await judged(pool, lock(opening="The letters follow n = 3 * k + 2."))
    assert (verdict.stage, verdict.reason) == (Stage.LEAKS, Reason.FORMULA_SHOWN)
    assert "n = 3 * k" in verdict.message
    assert verdict.evidence


@pytest.mark.parametrize("where", ["opening", "missed"])
async def test_words_that_speak_of_a_document_are_a_leak(pool: SandboxPool, where: str) -> None:
    verdict = await judged(pool, lock(**{where: "According to the document this is a lock."}))
    assert (verdict.stage, verdict.reason) == (Stage.LEAKS, Reason.DOCUMENT_NAMED)


@pytest.mark.parametrize("where", ["opening", "missed"])
async def test_title_of_the_corpus_document_is_a_leak_in_any_case(pool: SandboxPool, where: str) -> None:
    source = lock(**{where: f"See {TITLE.upper()}."})
    verdict = await judged(pool, source, GateContext(documents=(TITLE,)))
    assert (verdict.stage, verdict.reason) == (Stage.LEAKS, Reason.DOCUMENT_NAMED)
    assert TITLE in verdict.message
    assert (await judged(pool, source)).accepted  # nobody has named it


async def test_title_of_a_common_word_is_none(pool: SandboxPool) -> None:
    assert (await judged(pool, lock(), GateContext(documents=("Letters",)))).accepted


async def test_shown_command_that_tells_the_whole_solution_is_a_leak(pool: SandboxPool) -> None:
    verdict = await judged(pool, lock(heard="f'It clicks at {self.code}.'"))
    assert (verdict.stage, verdict.reason) == (Stage.LEAKS, Reason.SOLUTION_SHOWN)
    assert "listen" in verdict.message
    assert any(exchange.action == r"\boxed{listen}" for exchange in verdict.evidence[0].exchanges)


@pytest.mark.parametrize(
    "heard",
    ["f'It clicks at {self.code[0]}.'", "f'It clicked at {self.code}.' + str(setattr(self, 'code', 'hgfedc'))[4:]"],
    ids=["a part of it", "what is worth nothing any more"],
)
async def test_command_that_tells_less_is_none(pool: SandboxPool, heard: str) -> None:
    assert (await judged(pool, lock(heard=heard))).accepted


async def test_wrong_guess_that_is_told_the_right_one_is_a_leak(pool: SandboxPool) -> None:
    verdict = await judged(pool, lock(missed="{'It was not ' + self.code if len(word) == 11 else ''}"))
    assert (verdict.stage, verdict.reason) == (Stage.LEAKS, Reason.SOLUTION_SHOWN)


async def test_opening_of_a_program_without_a_solution_is_looked_at_too(pool: SandboxPool) -> None:
    source = stepping("return f'turn {self.turns} {action[:9]}', 0.0, False, self.turns > 9, {}").replace(
        'f"seed {seed}"', "'A law: force = mass * speed.'"
    )
    assert (await judged(pool, source)).reason is Reason.FORMULA_SHOWN
