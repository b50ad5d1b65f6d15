"""Stage `order`: what is nearly the solution must not win (M5, M6, M7, M10, and M11 as far as it needs the solution).

Only what a correct verifier can never accept rejects: a step less than the program itself names, a meaningless value in
the place of one that is needed, several actions at once, another order where the program says that order matters, one
transcript from every seed. That a single step is not needed, or that order is free, is common and only said.
"""

import contextlib
import re
from collections.abc import Callable, Coroutine

from spade_contracts.config.environments import Domain
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify import actions, near_misses
from spade_sandbox.verify.checks import NO_SOLUTION, PASSED, run_check
from spade_sandbox.verify.moves import Episode, Move, Solved
from spade_sandbox.verify.playing import begin, make, play, shown_by
from spade_sandbox.verify.solution import AGAIN, check_again, own_moves
from spade_sandbox.verify.solutions import payload
from spade_sandbox.verify.tool_order import check_tool_order
from spade_sandbox.verify.trial import Program, Trial

STAGE = Stage.ORDER
MAX_POSITIONS = 3
LEAST_SEEDS = 2
"""Seeds from which an action that is nearly right must win before it says anything."""
ORDERED = re.compile(
    r"\bin (?:this|that|(?:the|its|their) (?:right|correct|given|exact|same|proper|following|shown|secret)) order\b"
    r"|\border matters\b|\bin (?:the )?(?:right |correct |exact |hidden |secret )?sequence\b"
    r"|\b(?:right|correct|exact|secret|hidden|proper) (?:order|sequence)\b",
    re.IGNORECASE,
)
FREE = re.compile(r"\b(?:any|whatever|no particular) order\b|\border does(?: not|n't) matter\b", re.IGNORECASE)


async def check_order(program: Program) -> Verdict | None:
    """None if nothing but the solution, or another honest way, wins."""
    if program.solved is None:
        for name in ("M5", "M6", "M7", "M10"):
            program.facts[name] = NO_SOLUTION
        return None
    checks = (*SHARED, *(TOOLS if program.domain is Domain.TOOLS else GAMES))
    async with program.session(f"{AGAIN}, and order") as trial:
        rejection = await run_check(program, "M4", check_again(trial, program.solved))
        if rejection is not None:
            return rejection
        for name, check in checks:
            rejection = await run_check(program, name, check(trial, program.solved))
            if rejection is not None:
                return rejection
    return None


async def _cross_seed(trial: Trial, solved: Solved) -> Verdict | None:
    """M10: one seed's solution from all the others."""
    program = trial.program
    own, *others = program.seeds
    episode = await play(trial, others[0], solved.moves[own])
    if not episode.won:
        return None
    with trial.confirming():
        for seed in others[1:]:
            episode = await play(trial, seed, solved.moves[own])
            if not episode.won:
                return None
    message = f"the solution of seed {own} wins from all of {len(others)} other seeds"
    return await _rejection(trial, episode, Reason.WINS_CROSS_SEED, message)


async def _missed(trial: Trial, solved: Solved) -> Verdict | None:
    """M10, one move: from each seed what another seed's solution begins with; stage `leaks` looks at the answers."""
    for seed, moves in solved.moves.items():
        other = next((others[0] for others in solved.moves.values() if others[0] != moves[0]), None)
        if other is not None:
            await play(trial, seed, [other])
    return None


async def _early(trial: Trial, solved: Solved) -> Verdict | None:
    """M5, the end: without its last move the solution must not win, if every move is one the program asked for."""
    if not (solved.exact and solved.early):
        return None
    program = trial.program
    episode = await play(trial, program.seeds[0], solved.moves[program.seeds[0]])
    message = f"the program's own solution wins after {len(episode.moves)} moves, before its end, from every seed"
    return await _rejection(trial, episode, Reason.WINS_TRUNCATED, message)


async def _several(trial: Trial, solved: Solved) -> Verdict | None:
    """M11 with the solution: one action that holds the right ones between others."""
    for seed, moves in solved.moves.items():
        text = actions.several_at_once([move.action for move in moves], actions.repeatable(seed))
        episode = await play(trial, seed, [Move(text)])
        if not episode.won:
            return None
    return await _rejection(
        trial, episode, Reason.WINS_BY_MALFORMED, "one action that holds the right ones among others"
    )


async def _misdirected(trial: Trial, solved: Solved) -> Verdict | None:
    """M7: a meaningless value in the place of one that is needed."""
    program = trial.program
    seed = program.seeds[0]
    moves = solved.moves[seed]
    for number, position in enumerate(positions(len(moves))):
        if number and not _affords(program, 2, moves):
            break
        wrong = Move(actions.misdirected(moves[position].action))
        episode = await play(trial, seed, [*moves[:position], wrong, *moves[position + 1 :]])
        if not episode.won:
            continue
        with trial.confirming():
            needed = not (await play(trial, seed, without(moves, position))).won
            aimed = needed and await _has_an_aim(trial, seed, moves, position)
        if aimed:
            message = f"{wrong} wins in the place of {moves[position]}, which is needed there"
            return await _rejection(trial, episode, Reason.WINS_WRONG_TARGET, message)
    return None


async def _has_an_aim(trial: Trial, seed: int, moves: tuple[Move, ...], position: int) -> bool:
    """Whether a move says more than that time passes, as `wait` does, in whose place any word may do.

    A bare word has no target of its own: then nonsense must do for another of the solution's moves too.
    """
    others = [number for number, move in enumerate(moves) if move != moves[position]]
    if not others or len(payload(moves[position].action).split()) > 1:
        return True
    wrong = Move(actions.misdirected(moves[others[-1]].action))
    return (await play(trial, seed, [*moves[: others[-1]], wrong, *moves[others[-1] + 1 :]])).won


async def _nearly(trial: Trial, solved: Solved) -> Verdict | None:
    """M7: the winning action with a part as other seeds have it, or with its inner parts turned round.

    Rejects a part that no seed's verifier reads, and inner parts whose order it does not read although it reads that of
    the outer ones. From a single seed an honest program may have several right answers.
    """
    program = trial.program
    finals = [moves[-1].action for moves in solved.moves.values()]
    others = [
        moves[-1].action for seed in program.seeds if seed not in solved.moves and (moves := own_moves(program, seed))
    ]
    split = near_misses.answers([*finals, *others]) or near_misses.answers(finals)
    mine = split[: len(finals)]
    moves = solved.moves[program.seeds[0]]
    for number, place in enumerate(near_misses.tried_places(mine[0]) if mine else ()):
        if number and not _affords(program, 3, moves):
            break
        episode = await _all_win(trial, solved, [near_misses.replaced(answer, split, place) for answer in mine])
        if episode is not None:
            part = mine[0].parts[place]
            message = (
                f"{episode.moves[-1]} wins like {moves[-1]}: what stands for {part!r} is not looked at, from every seed"
            )
            return await _rejection(trial, episode, Reason.WINS_WRONG_TARGET, message)
    if mine and len(moves) > 1 and not _affords(program, 3, moves):
        return None
    episode = await _all_win(trial, solved, [_some(near_misses.turned(answer)) for answer in mine])
    if episode is None:
        return None
    with trial.confirming():
        ends = await _all_win(trial, solved, [_some(near_misses.exchanged(answer)) for answer in mine])
    if ends is not None:
        return None
    message = (
        f"{episode.moves[-1]} wins like {moves[-1]}: the order of the inner parts is not looked at, that of the ends is"
    )
    return await _rejection(trial, episode, Reason.WINS_WRONG_TARGET, message)


async def _all_win(trial: Trial, solved: Solved, instead: list[list[str]]) -> Episode | None:
    """The last episode, if each of these actions wins in the place of the last one, from every seed."""
    if len(instead) < LEAST_SEEDS or not all(instead):
        return None
    first = True
    for (seed, moves), wrong in zip(solved.moves.items(), instead, strict=True):
        for action in wrong:
            with contextlib.nullcontext() if first else trial.confirming():
                episode = await play(trial, seed, (*moves[:-1], Move(action)))
            first = False
            if not episode.won:
                return None
    return episode


def _some(action: str) -> list[str]:
    return [action] if action else []


async def _shuffled(trial: Trial, solved: Solved) -> Verdict | None:
    """M6: another order wins only where the program does not say that order matters."""
    program = trial.program
    (seed, moves), *more = tuple(solved.moves.items())[:2]
    won = await _in_another_order(trial, seed, moves)
    with trial.confirming():
        for other, its_moves in more if won is not None else ():
            won = await _in_another_order(trial, other, its_moves)
    if won is None:
        program.facts["M6"] = PASSED if len(set(moves)) > 1 else "does not apply: the solution has one order"
        return None
    program.facts["order_free"] = 1.0
    said = "\n".join(text for episode in program.episodes for text in (episode.opening, *_texts(episode)))
    found = None if FREE.search(said) else ORDERED.search(said)
    if found is None:
        program.facts["M6"] = f"{PASSED}: another order wins too, and the program does not say that order matters"
        return None
    message = f"another order of the solution wins, although the program says {found.group(0)!r}"
    return await _rejection(trial, won, Reason.WINS_SHUFFLED, message)


async def _in_another_order(trial: Trial, seed: int, moves: tuple[Move, ...]) -> Episode | None:
    """An episode that wins with the same moves otherwise ordered."""
    for other in other_orders(moves, seed):
        episode = await play(trial, seed, other)
        if episode.won:
            return episode
    return None


async def _shortened(trial: Trial, solved: Solved) -> Verdict | None:
    """M5, the rest: a step that the program pays and remembers as done must be needed."""
    program = trial.program
    seed = program.seeds[0]
    moves = solved.moves[seed]
    redundant = 0
    for number, position in enumerate(positions(len(moves) - 1)):
        if number and not _affords(program, 1, moves):
            break
        episode = await play(trial, seed, without(moves, position))
        if not episode.won:
            continue
        redundant += 1
        with trial.confirming():
            free = await _counts_as_done(trial, seed, moves, position) and await _redundant_elsewhere(
                trial, solved, moves[position]
            )
        if free:
            message = f"the solution wins without {moves[position]}, which the program pays and remembers as done"
            return await _rejection(trial, episode, Reason.WINS_TRUNCATED, message)
    program.facts["redundant_steps"] = float(redundant)
    return None


async def _counts_as_done(trial: Trial, seed: int, moves: tuple[Move, ...], position: int) -> bool:
    """Whether a move raises the reward and turns an attribute of the program from False to True."""
    episode = await begin(trial, seed)
    for move in moves[:position]:
        await make(trial, episode, move)
    reward = episode.outcomes[-1].reward if episode.outcomes else 0.0
    before = (await trial.inspect()).values
    outcome = await make(trial, episode, moves[position])
    after = (await trial.inspect()).values
    turned = any(before.get(name) == "False" and value == "True" for name, value in after.items())
    return turned and outcome.reward > reward


async def _redundant_elsewhere(trial: Trial, solved: Solved, move: Move) -> bool:
    """Whether the same move is in the other seeds' solutions and not needed there either."""
    for seed, moves in tuple(solved.moves.items())[1:]:
        if move not in moves[:-1] or not (await play(trial, seed, without(moves, moves.index(move)))).won:
            return False
    return len(solved.moves) > 1


def _affords(program: Program, replays: int, moves: tuple[Move, ...]) -> bool:
    """Whether the steps left suffice for so many replays: further positions are tried only then."""
    return program.steps_left >= replays * len(moves)


def positions(length: int) -> tuple[int, ...]:
    """Some positions of a sequence, the last first."""
    if length <= 0:
        return ()
    return tuple(dict.fromkeys(min(length - 1, round(share * (length - 1))) for share in (1.0, 0.0, 0.5)))[
        :MAX_POSITIONS
    ]


def without(moves: tuple[Move, ...], position: int) -> tuple[Move, ...]:
    """The moves without one of them."""
    return (*moves[:position], *moves[position + 1 :])


def other_orders(moves: tuple[Move, ...], seed: int) -> list[tuple[Move, ...]]:
    """The reverse order and a shuffle, as far as they differ."""
    shuffled = list(moves)
    actions.repeatable(seed).shuffle(shuffled)
    return [order for order in dict.fromkeys((moves[::-1], tuple(shuffled))) if order != moves]


def _texts(episode: Episode) -> list[str]:
    return [outcome.text for outcome in episode.outcomes]


async def _rejection(trial: Trial, episode: Episode, reason: Reason, message: str) -> Verdict:
    return await shown_by(trial, episode, STAGE, reason, message)


OrderCheck = Callable[[Trial, Solved], Coroutine[None, None, Verdict | None]]
SHARED: tuple[tuple[str, OrderCheck], ...] = (("M10", _cross_seed), ("M5", _early))
GAMES: tuple[tuple[str, OrderCheck], ...] = (
    ("M10", _missed),
    ("M11", _several),
    ("M6", _shuffled),
    ("M7", _nearly),
    ("M7", _misdirected),
    ("M5", _shortened),
)
TOOLS: tuple[tuple[str, OrderCheck], ...] = (("M7", check_tool_order),)
