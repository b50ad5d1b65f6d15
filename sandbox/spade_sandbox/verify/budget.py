"""How the battery's steps are shared out: what the replays of a solution need is kept before luck is tried. Pure.

A solution of a few moves finds its replays within `maxSteps`. A longer one is granted its own replays on top, up to a
length: so the bound stays a bound, and no program escapes the controls of its solution by making that long.
"""

from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_sandbox.verify.moves import MAX_TURNS


@dataclass(frozen=True)
class Share:
    """What stages `solution` and `order` need, counted in replays of the solution."""

    replays: int
    within: int
    """Moves of a solution whose replays fit into `maxSteps` beside the other controls."""


SHARES = {Domain.GAMES: Share(11, 6), Domain.TOOLS: Share(20, 5)}
"""Tools need more: every call that completes an instruction is left out once and made with wrong values."""
SINGLE_MOVES = 8
"""Steps of their checks that make one move."""
JUDGEABLE = 40
"""Moves of the longest solution that is granted all its replays."""


def kept(domain: Domain, moves: int) -> int:
    """Steps that the controls leave for a solution of so many moves."""
    return SHARES[domain].replays * min(moves, JUDGEABLE) + (SINGLE_MOVES if moves else 0)


def granted(max_steps: int, domain: Domain, moves: int, max_turns: int) -> int:
    """Steps of the whole battery: `max_steps`, and what long solutions and long episodes need beyond it."""
    share = SHARES[domain]
    longer = max(0, min(moves, JUDGEABLE) - share.within)
    return max_steps + share.replays * longer + max(0, max_turns - MAX_TURNS)
