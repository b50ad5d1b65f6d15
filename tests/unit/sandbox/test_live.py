"""Live detectors name episodes that contradict themselves, and leave the player's mistakes alone."""

import pytest

from spade_contracts.protocol import PROGRAM_FAULTS
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.client import StepResult
from spade_sandbox.client.errors import PROGRAM_ERRORS
from spade_sandbox.verify import Play, concentration, contradictions, verifier_failure
from spade_sandbox.verify.live import MIN_SEEDS, MIN_UNCHANGED_ACTIONS, MIN_UNCHANGED_WINS


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


def play(seed: int | None, *actions: str, won: bool = True, answers: tuple[str, ...] = ()) -> Play:
    """One play; answers differ unless they are given."""
    said = answers or tuple(f"answer {place} to {action}" for place, action in enumerate(actions))
    return Play(seed, actions, said, won)


def test_one_transcript_that_wins_from_every_seed_is_found() -> None:
    assert contradictions([play(s, "a", "b") for s in range(MIN_SEEDS)]) == (VerifierFailure.ONE_TRANSCRIPT_WINS,)
    assert contradictions([play(None, "a", "b") for _ in range(MIN_SEEDS)]) == (VerifierFailure.ONE_TRANSCRIPT_WINS,)


def test_one_action_repeated_as_often_as_it_takes_is_one_transcript() -> None:
    assert contradictions([play(s, *["go"] * (s + 1)) for s in range(MIN_SEEDS)]) == (
        VerifierFailure.ONE_TRANSCRIPT_WINS,
    )


@pytest.mark.parametrize(
    "plays",
    [
        [play(s, "a", str(s)) for s in range(20)],
        [play(s, "a", "b") for s in range(MIN_SEEDS - 1)],
        [play(0, "a", "b")] * 20,
        [*(play(s, "a", "b") for s in range(20)), play(20, "a", "b", won=False)],
        [],
    ],
)
def test_wins_that_depend_on_the_seed_are_no_contradiction(plays: list[Play]) -> None:
    assert contradictions(plays) == ()


def blind(seed: int, turns: int = MIN_UNCHANGED_ACTIONS) -> Play:
    """Won after answers that were all alike."""
    actions = tuple(f"{seed} {turn}" for turn in range(turns))
    return play(seed, *actions, answers=("Ok.",) * (turns - 1) + ("Well done.",))


def test_wins_after_answers_that_were_all_alike_are_found() -> None:
    plays = [blind(seed) for seed in range(MIN_UNCHANGED_WINS)]
    assert contradictions(plays) == (VerifierFailure.SUCCESS_WITHOUT_CHANGE,)
    seeing = [play(s, str(s), f"{s} again") for s in range(MIN_UNCHANGED_WINS)]
    assert contradictions([*plays, *seeing]) == (VerifierFailure.SUCCESS_WITHOUT_CHANGE,)
    assert contradictions([*plays, *seeing, play(99, "x", "y")]) == (), "most wins were seen coming"


def test_short_or_rare_wins_without_change_are_none() -> None:
    assert contradictions([blind(seed, MIN_UNCHANGED_ACTIONS - 1) for seed in range(9)]) == ()
    assert contradictions([blind(seed) for seed in range(MIN_UNCHANGED_WINS - 1)]) == ()
    lost = [play(s, "a", "b", str(s), won=False, answers=("Ok.",) * 3) for s in range(9)]
    assert contradictions(lost) == ()


def test_reward_from_few_environments_that_are_always_won_is_found() -> None:
    poor = {f"e{number}": (0.0, 0.05, 0.0) for number in range(9)}
    assert concentration(poor | {"rich": (1.0, 1.0, 0.9)}) == {"rich"}


@pytest.mark.parametrize(
    "returns",
    [
        {},
        {"rich": (1.0, 1.0), "poor": (0.0, 0.0)},
        {f"e{number}": (0.0, -1.0) for number in range(9)},
        {f"e{number}": (0.5, 0.4) for number in range(9)} | {"rich": (1.0, 1.0)},
        {f"e{number}": (0.0, 0.0) for number in range(9)} | {"middling": (1.0, 0.0)},
        {f"e{number}": (float(number < 4), float(number < 4)) for number in range(12)},
    ],
)
def test_reward_that_is_spread_or_hard_won_is_none(returns: dict[str, tuple[float, ...]]) -> None:
    assert concentration(returns) == frozenset()
