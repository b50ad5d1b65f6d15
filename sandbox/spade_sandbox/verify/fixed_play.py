"""M3 for games: no fixed play wins from every seed. One command repeated, one with its places filled, two by turns.

What is worth trying follows from what the program shows, from its solution's first move, and from values of its state
that are the same from every seed, so that nothing secret is tried.
"""

import contextlib
import re
from collections.abc import Iterable, Sequence
from itertools import cycle, islice, pairwise

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify import actions
from spade_sandbox.verify.checks import UNFINISHED
from spade_sandbox.verify.moves import Episode, Move
from spade_sandbox.verify.playing import begin, earned, make, play, shown_by
from spade_sandbox.verify.solution import own_moves
from spade_sandbox.verify.solutions import boxed, payload
from spade_sandbox.verify.trial import Program, Trial

STAGE = Stage.CONTROLS
FEW, SEVERAL = 6, 10
"""Turns of a repeated action; the first one gets several."""
MAX_CONSTANTS = 5
LUCK_SEEDS = 5
"""A win counts when it repeats from so many more seeds."""
MAX_COMMANDS, MAX_VALUES = 4, 3
CYCLES = 3
"""Times that two commands are alternated before that must have led somewhere."""
ALTERNATION_SEEDS = 4
_INTEGER = re.compile(r"-?\d{1,6}")


async def check_fixed_play(trial: Trial, left_for_luck: int) -> Verdict | None:
    """M3. Ends early rather than take steps that are kept for the solution, or these for random play."""
    program = trial.program
    first, *rest = _repeated(program)
    turns = SEVERAL if program.spare >= SEVERAL + 2 * CYCLES + left_for_luck else FEW
    rejection = await _repeat(trial, first, turns) or await _alternate(trial) or await _fill(trial, left_for_luck)
    if rejection is not None:
        return rejection
    for number, action in enumerate(rest, start=1):
        if program.spare < FEW + left_for_luck:
            program.facts["M3"] = f"{UNFINISHED} after {number} of {1 + len(rest)} repeated actions"
            return None
        rejection = await _repeat(trial, action, FEW)
        if rejection is not None:
            return rejection
    return None


def _repeated(program: Program) -> list[str]:
    """Actions worth repeating, the best first; those of the solution are tried too."""
    own = dict.fromkeys(move.action for move in reversed(own_moves(program, program.seeds[0])))
    shown = actions.constants(_opening(program))
    return list(dict.fromkeys((*shown[:1], *own, *shown[1:])))[:MAX_CONSTANTS]


async def _repeat(trial: Trial, action: str, turns: int) -> Verdict | None:
    for seed in trial.program.seeds[: 1 + LUCK_SEEDS]:
        episode = await play(trial, seed, islice(cycle((Move(action),)), turns))
        if not episode.won:
            return None
    return await _rejection(trial, episode, f"{action!r}, repeated,", 1 + LUCK_SEEDS)


async def _fill(trial: Trial, left_for_luck: int) -> Verdict | None:
    """Commands shown with places, one after the other: the same few values in each."""
    program = trial.program
    shown, _ = actions.vocabulary(_opening(program))
    values = plausible_values(program)
    for command in [one for one in shown if actions.has_places(one)][:MAX_COMMANDS]:
        if program.spare < len(values) + left_for_luck:
            return None
        moves = tuple(Move(boxed(actions.filled(command, value))) for value in values)
        episode = await play(trial, program.seeds[0], moves)
        if not episode.won:
            continue
        with trial.confirming():
            wins = await _wins_from(trial, program.seeds[1 : 1 + LUCK_SEEDS], [episode.moves] * LUCK_SEEDS)
        if wins == LUCK_SEEDS:
            return await _rejection(trial, episode, f"{episode.moves[-1]}, a guess,", 1 + LUCK_SEEDS)
    return None


async def _alternate(trial: Trial) -> Verdict | None:
    """Two commands by turns, one of them the solution's first, win only where they are all that is needed.

    They go on beyond a few turns only while the reward grows or, within the steps to spare, the answers change.
    """
    program = trial.program
    seed = program.seeds[0]
    pair = alternating(program, seed)
    if not pair:
        return None
    episode = await begin(trial, seed)
    for turn in range(program.max_turns):
        grows = len(episode.outcomes) >= 2 * CYCLES and _grows(episode)
        if not grows and turn >= 2 * CYCLES and (_repeats(episode) or program.spare < FEW * CYCLES):
            return None
        with trial.confirming() if grows else contextlib.nullcontext():
            outcome = await make(trial, episode, pair[turn % 2])
        if outcome.over:
            break
    if not episode.won or len(episode.moves) == 1:  # a first step that wins by itself is for M5
        return None
    seeds = program.seeds[1 : 1 + ALTERNATION_SEEDS]
    others = [list(islice(cycle(alternating(program, other)), program.max_turns)) for other in seeds]
    with trial.confirming():
        wins = await _wins_from(trial, seeds, others)
    if 2 * wins <= ALTERNATION_SEEDS:
        return None
    return await _rejection(trial, episode, f"{pair[0]} and {pair[1]} by turns", 1 + wins)


def alternating(program: Program, seed: int) -> tuple[Move, ...]:
    """The solution's first move and another shown command with the same values; nothing if they may be the solution."""
    own = own_moves(program, seed)
    if not own:
        return ()
    verb, *values = payload(own[0].action).split() or [""]
    opening = next((look.opening for look in program.looks if look.seed == seed), "")
    for command in actions.vocabulary(opening)[0]:
        other, *places = command.split()
        if other != verb and len(places) == len(values) and not actions.has_places(other):
            pair = (own[0], Move(boxed(" ".join((other, *values)))))
            return () if set(own) <= set(pair) else pair
    return ()


def _grows(episode: Episode) -> bool:
    """Whether the best reward of each round of two is above that of the round before."""
    rewards = [outcome.reward for outcome in episode.outcomes]
    best = [max(rewards[start : start + 2]) for start in range(0, len(rewards) - 1, 2)]
    return all(later > earlier for earlier, later in pairwise(best))


def _repeats(episode: Episode) -> bool:
    """Whether the last round of two was answered like the one before."""
    return episode.outcomes[-2:] == episode.outcomes[-4:-2]


def plausible_values(program: Program) -> tuple[str, ...]:
    """Integers of the state that are the same from every seed, a small one, and one of the opening."""
    held = [look.hidden for look in program.looks]
    plain = [
        value
        for name, value in (held[0].items() if held else ())
        if _INTEGER.fullmatch(value) and "turn" not in name and all(one.get(name) == value for one in held)
    ]
    _, words = actions.vocabulary(_opening(program))
    named = [word for word in words if word.isdigit()]
    return tuple(dict.fromkeys((*[value for value in plain if value not in ("0", "1")], "1", *named[-1:], "0")))[
        :MAX_VALUES
    ]


def _opening(program: Program) -> str:
    return next((episode.opening for episode in program.episodes if episode.seed == program.seeds[0]), "")


async def _wins_from(trial: Trial, seeds: Sequence[int], moves: Iterable[Sequence[Move]]) -> int:
    """From how many of these seeds these moves win."""
    return sum([bool(some) and (await play(trial, seed, some)).won for seed, some in zip(seeds, moves, strict=False)])


async def _rejection(trial: Trial, episode: Episode, what: str, seeds: int) -> Verdict:
    return await shown_by(trial, episode, STAGE, Reason.WINS_BY_CONSTANT, earned(what, episode, seeds))
