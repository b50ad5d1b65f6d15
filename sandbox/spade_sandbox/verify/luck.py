"""M2: episodes of random moves, which may be won now and then and no more often than the settings allow."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from spade_sandbox.verify.actions import repeatable
from spade_sandbox.verify.checks import UNFINISHED
from spade_sandbox.verify.moves import Episode
from spade_sandbox.verify.trial import Program

PlayAtRandom = Callable[[int, Random], Awaitable[Episode]]
"""A seed and a source of chance → an episode of random moves."""


@dataclass(frozen=True)
class TooLucky:
    """Random play that won too often."""

    last: Episode
    won: int
    played: int

    def __str__(self) -> str:
        return f"{self.won} of {self.played} random episodes; one of them"


async def random_play(program: Program, least: int, most: int, play_at_random: PlayAtRandom) -> TooLucky | None:
    """Play `least` episodes, and up to `most` while they are won too often. Raises OutOfSteps.

    An episode that would need steps kept for the solution is not begun. Leaves the share of wins and the mean return
    in the program's facts; where fewer than `least` were played, that too, and then nothing is too lucky.
    """
    bound = program.settings.max_random_wins
    played: list[Episode] = []
    won: list[Episode] = []
    for number in range(1, most + 1):
        if program.spare < max((len(episode.moves) for episode in played), default=1):
            program.facts["M2"] = f"{UNFINISHED} after {number - 1} of {least} random episodes"
            break
        seed = program.seeds[number % len(program.seeds)]
        played.append(await play_at_random(seed, repeatable(seed)))
        won = [episode for episode in played if episode.won]
        if number >= least and len(won) / number <= bound:
            break
    if not played:
        return None
    program.facts["random_wins"] = round(len(won) / len(played), 3)
    program.facts["random_return"] = round(sum(episode.earned for episode in played) / len(played), 4)
    enough = len(played) >= least and len(won) / len(played) > bound
    return TooLucky(won[-1], len(won), len(played)) if enough else None
