"""How a check of the battery is run, and what the verdict says of it: passed, not finished, does not apply."""

from collections.abc import Awaitable

from spade_contracts.verdicts import Verdict
from spade_sandbox.verify.trial import OutOfSteps, Program

PASSED = "passed"
NO_SOLUTION = "not run: no solution that can be replayed"
UNFINISHED = "not finished: the battery's steps are used up"
GAMES_HAVE_NO_TOOLS = "does not apply: games have no tools"
LUCK = frozenset({"M2", "M3"})
"""Controls that only try their luck: they may be cut short. All others are finished, or the program is rejected."""


async def run_check(program: Program, name: str, check: Awaitable[Verdict | None]) -> Verdict | None:
    """One control; its word stands in the program's facts under its name, unless the check wrote its own.

    A rejection goes up. When the steps run out the verdict says which control was not finished; raises OutOfSteps,
    unless that control only tries its luck.
    """
    try:
        rejection = await check
    except OutOfSteps:
        program.facts[name] = UNFINISHED
        if name in LUCK:
            return None
        raise
    if rejection is None:
        program.facts.setdefault(name, PASSED)
    return rejection
