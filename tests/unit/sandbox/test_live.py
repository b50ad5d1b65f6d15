"""Live detectors name episodes that contradict themselves, and leave the player's mistakes alone."""

import pytest

from spade_contracts.protocol import PROGRAM_FAULTS
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.client import StepResult
from spade_sandbox.client.errors import PROGRAM_ERRORS
from spade_sandbox.verify import verifier_failure


def step(observation: str = "ok", reward: float = 0.0, terminated: bool = False, **info: str | bool) -> StepResult:
    """One step's result."""
    return StepResult(observation, reward, terminated, False, dict(info))


WIN = step("Solved.", 1.0, True)
TRACE = "Traceback (most recent call last):\n  ..."


@pytest.mark.parametrize(
    "steps",
    [
        [step(error="division by zero"), WIN],
        [step(TRACE), WIN],
        [step("Error: no such room", 1.0, True)],
        [step("** Invalid command. **", 1.0, True)],
        [step("Well done", 1.0, True, exception=True)],
    ],
)
def test_full_reward_next_to_an_error_is_a_verifier_failure(steps: list[StepResult]) -> None:
    assert verifier_failure(steps) is VerifierFailure.SUCCESS_WITH_ERROR


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [WIN],
        [step("Invalid command."), WIN],
        [step(TRACE), step("lost", 0.0, True)],
        [step(TRACE, 0.5, True)],
        [step("no", error=""), WIN],
        [step("You found the error in the code.", 1.0, True)],
        [step("x", 1.0, False)],
    ],
)
def test_ordinary_episodes_are_none(steps: list[StepResult]) -> None:
    assert verifier_failure(steps) is None


@pytest.mark.parametrize("kind", sorted(PROGRAM_FAULTS))
def test_every_fault_of_a_program_is_a_failure_of_its_kind(kind: str) -> None:
    error = next(error for key, error in PROGRAM_ERRORS.items() if key == kind)
    assert verifier_failure([WIN], error(kind, "x")) == VerifierFailure(kind)
