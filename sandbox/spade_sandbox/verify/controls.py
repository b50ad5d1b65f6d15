"""Stage `controls`: play that deserves nothing must not win (design §10).

One control is an endless list of actions. A program whose goal holds at reset is won by its first action, whatever that
says. The empty action and malformed ones must win from no seed; one fixed command may be lucky once, so it must not
win from every seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.trial import Program, Trial, over, wins

SEEDS = (0, 1, 2)
MAX_TURNS = 25
"""Turns of an episode in play (method.md §1.5)."""
MALFORMED = (
    r"\boxed{zxqv}",
    "I do not know.",
    r"\boxed{",
    r"\boxed{}",
    "}{",
    r"\boxed{" + "9" * 400 + "}",
    "\u2603 \x00 \\n",
    r"\boxed{None}",
)
STAGE = Stage.CONTROLS


@dataclass(frozen=True)
class Control:
    """One way to play without merit."""

    actions: tuple[str, ...]
    """Repeated until the episode ends."""
    reason: Reason
    may_be_lucky: bool
    """Whether only a win from every seed counts."""


CONTROLS = (
    Control(("",), Reason.WINS_BY_NULL, may_be_lucky=False),
    Control(MALFORMED, Reason.WINS_BY_MALFORMED, may_be_lucky=False),
    Control((r"\boxed{1}",), Reason.WINS_BY_CONSTANT, may_be_lucky=True),
)


async def check_controls(program: Program) -> Verdict | None:
    """None if no control wins. Raises InfrastructureFault when the program could not be judged."""
    for control in CONTROLS:
        async with program.session(control.reason.value) as trial:
            won = [await _turn_of_win(trial, seed, cycle(control.actions)) for seed in SEEDS]
        if all(won) if control.may_be_lucky else any(won):
            at_reset = not control.may_be_lucky and all(turns == 1 for turns in won)
            reason = Reason.WINS_AT_RESET if at_reset else control.reason
            message = f"{control.actions[0]!r} and the like win in turns {won}"
            return program.rejection(STAGE, reason, message, trial.trace)
    return None


async def _turn_of_win(trial: Trial, seed: int, actions: Iterator[str]) -> int:
    await trial.reset(seed)
    for turn, action in enumerate(islice(actions, MAX_TURNS), start=1):
        result = await trial.step(action)
        if wins(result):
            return turn
        if over(result):
            return 0
    return 0
