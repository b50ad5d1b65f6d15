"""Stage `controls`: play that deserves nothing must not win (design §10). Games; tool programs are in tool_controls.

The empty, the blank and the malformed must win from no seed. A fixed command, a random or a pretending one may be
lucky, so it must not win from every seed. All that is repeated or drawn stays within this stage's share of the steps.
"""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from itertools import cycle, islice
from random import Random

from spade_contracts.config.environments import Domain
from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify import actions
from spade_sandbox.verify.checks import GAMES_HAVE_NO_TOOLS, NO_SOLUTION, run_check
from spade_sandbox.verify.fixed_play import check_fixed_play
from spade_sandbox.verify.luck import random_play
from spade_sandbox.verify.moves import Episode, Look, Move
from spade_sandbox.verify.playing import begin, demonstrated, earned, make, play, shown_by
from spade_sandbox.verify.solution import longest_solution, own_moves
from spade_sandbox.verify.tool_controls import check_tool_controls, check_untouched
from spade_sandbox.verify.tool_leaks import SEEDS as VAIN_SEEDS
from spade_sandbox.verify.tool_leaks import described, vain_answers
from spade_sandbox.verify.trial import OutOfSteps, Program, Trial

STAGE = Stage.CONTROLS
SHORT, MEDIUM = 3, 6
"""Turns of an episode that need not be played out."""
RANDOM_EPISODES, MOST_RANDOM_EPISODES, RANDOM_TURNS = 4, 8, 6
BLUNDERS = 4
"""Seeds from which a meaningless first move is made."""
LUCK_SEEDS = 5
"""A win counts when it repeats from so many more seeds."""


async def check_controls(program: Program) -> Verdict | None:
    """None if no control wins. Raises InfrastructureFault when the program could not be judged.

    One session serves all: nothing was done in it when M0 and M1 begin. Where `solution` breaks it there is another.
    """
    tools = program.domain is Domain.TOOLS
    async with program.session("controls") as trial:
        rejection = await (check_untouched(trial) if tools else run_check(program, "M1", _nothing(trial)))
        if rejection is not None:
            return rejection
        unbroken = await _look(trial)
        program.solution_moves = longest_solution(program)
        if unbroken:
            return await (check_tool_controls(trial) if tools else _check_games(trial))
    async with program.session("controls, without a solution") as trial:
        return await (check_tool_controls(trial) if tools else _check_games(trial))


async def _check_games(trial: Trial) -> Verdict | None:
    program = trial.program
    program.facts["M0"] = program.facts["M1"]
    program.facts["M8"] = GAMES_HAVE_NO_TOOLS
    for name, check in CONTROLS:
        rejection = await run_check(program, name, check(trial))
        if rejection is not None:
            return rejection
    return None


async def _look(trial: Trial) -> bool:
    """Openings, hidden states and solutions; False if the program broke its session.

    A `solution` that raises is the designer's word missing, not a fault of the game.
    """
    program = trial.program
    tools = program.domain is Domain.TOOLS
    for number, seed in enumerate(program.seeds):
        opening = await trial.reset(seed)
        hidden = (await trial.inspect()).values
        listed = await trial.tools() if tools else ()
        blunder = ""
        if number < (VAIN_SEEDS if tools else BLUNDERS):
            blunder = await (vain_answers(trial, seed, listed) if tools else _blunder(trial, seed))
        program.looks.append(Look(seed, opening, hidden, "", blunder, described(listed)))
    for number, look in enumerate(program.looks):
        await trial.reset(look.seed)
        try:
            program.looks[number] = replace(look, solution=await trial.solution())
        except EnvironmentFault as error:
            program.facts["solution"] = f"none from seed {look.seed}: {error}"
            return False
    return True


async def _blunder(trial: Trial, seed: int) -> str:
    try:
        outcome = (await play(trial, seed, [Move(actions.BLUNDER)])).outcomes[0]
    except OutOfSteps:
        return ""
    return "" if outcome.over else outcome.text


async def _nothing(trial: Trial) -> Verdict | None:
    """M0 and M1: the first seed is played out, two more begin."""
    program = trial.program
    limit = program.limits.action_characters
    episodes = []
    for seed, turns in zip(program.seeds, (program.max_turns, SHORT, SHORT), strict=False):
        blanks = (Move(action) for action in islice(actions.cycle_blanks(limit), turns))
        episodes.append(await play(trial, seed, blanks))
    paid = [episode for episode in episodes if episode.won or episode.paid]
    if not paid:
        return None
    at_once = len(paid) == len(episodes) and all(len(episode.moves) == 1 for episode in paid)
    reason = Reason.WINS_AT_RESET if at_once else Reason.WINS_BY_NULL
    message = f"the empty action and the like earn {paid[0].outcomes[-1].reward:g} in turn {len(paid[0].moves)}"
    return program.rejection(STAGE, reason, message, await demonstrated(program, trial, paid[0]))


async def _malformed(trial: Trial) -> Verdict | None:
    """M11, as far as no solution is needed: what is no command must not win."""
    episode = await _through(trial, [Move(text) for text in actions.MALFORMED])
    if episode is None:
        return None
    return await _rejection(trial, episode, Reason.WINS_BY_MALFORMED, "actions that are no commands")


async def _spoofs(trial: Trial) -> Verdict | None:
    """M12: what imitates success must not win more than once by luck, and must not crash."""
    program = trial.program
    own = [actions.twin(move.action) for move in own_moves(program, program.seeds[0])[:1]]
    opening = next((episode.opening for episode in program.episodes), "")
    episode = await _through(
        trial, [Move(text) for text in (opening, actions.literals(program.source), *actions.SPOOFS, *own)]
    )
    if episode is None or not await _repeats(trial, episode.moves):
        return None
    return await _rejection(
        trial,
        episode,
        Reason.WINS_BY_SPOOF,
        f"texts that only look like success, the last of them {episode.moves[-1]},",
    )


async def _replay(trial: Trial) -> Verdict | None:
    """M9: the first action of a longer solution, repeated, must not win from every seed."""
    program = trial.program
    if not program.solutions:
        program.facts["M9"] = NO_SOLUTION
        return None
    for seed in program.seeds[:LUCK_SEEDS]:
        moves = own_moves(program, seed)
        if len(moves) < 2:
            program.facts["M9"] = "does not apply: the solution has one step" if moves else NO_SOLUTION
            return None
        turns = min(MEDIUM, len(moves) + 2)
        episode = await play(trial, seed, islice(cycle(moves[:1]), turns))
        if not episode.won or len(episode.moves) == 1:  # a first step that wins by itself is for M5
            return None
    return await _rejection(trial, episode, Reason.WINS_BY_REPLAY, f"{episode.moves[0]}, repeated,", LUCK_SEEDS)


async def _constants(trial: Trial) -> Verdict | None:
    """M3: no fixed play may win from every seed. Random play is left a few turns."""
    return await check_fixed_play(trial, RANDOM_EPISODES * SHORT)


async def _random(trial: Trial) -> Verdict | None:
    """M2: random commands of the right look may win now and then."""
    turns = max(SHORT, min(RANDOM_TURNS, trial.program.spare // RANDOM_EPISODES))

    async def at_random(seed: int, rng: Random) -> Episode:
        episode = await begin(trial, seed)
        for _ in range(turns):
            if (await make(trial, episode, Move(actions.random_action(episode.last, rng)))).over:
                break
        return episode

    lucky = await random_play(trial.program, RANDOM_EPISODES, MOST_RANDOM_EPISODES, at_random)
    return None if lucky is None else await _rejection(trial, lucky.last, Reason.WINS_BY_RANDOM, str(lucky))


async def _through(trial: Trial, moves: list[Move]) -> Episode | None:
    """All these moves, in as many episodes as they need; the first episode that pays for them."""
    left, number = list(moves), 0
    while left:
        episode = await begin(trial, trial.program.seeds[number % 2])
        number += 1
        while left and not (await make(trial, episode, left.pop(0))).over:
            pass
        if episode.won or episode.paid:
            return episode
    return None


async def _repeats(trial: Trial, moves: list[Move]) -> bool:
    """Whether the same moves win at once from most other seeds too."""
    seeds = trial.program.seeds[2:5]
    won = [(await play(trial, seed, moves)).won for seed in seeds]
    return sum(won) * 2 > len(won)


async def _rejection(trial: Trial, episode: Episode, reason: Reason, what: str, seeds: int = 1) -> Verdict:
    return await shown_by(trial, episode, STAGE, reason, earned(what, episode, seeds))


CONTROLS: tuple[tuple[str, Callable[[Trial], Coroutine[None, None, Verdict | None]]], ...] = (
    ("M11", _malformed),
    ("M12", _spoofs),
    ("M9", _replay),
    ("M3", _constants),
    ("M2", _random),
)
"""Controls that share a session, by their name in the verdict."""
