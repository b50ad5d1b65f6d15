"""Stage `solution` (M4): the program's own solution must win, twice in the same way, and from more than one seed.

A solution in the form asked for that does not win is a rejection. One in another form may have been misread, so the
program is then judged without it, unless the settings ask for a solution; the verdict says which it was. A game that
nobody has seen won, and that answers every action alike, is rejected.
"""

from collections.abc import Sequence

from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import OptionalStage, SolutionRule
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.actions import vocabulary
from spade_sandbox.verify.checks import NO_SOLUTION, PASSED, UNFINISHED
from spade_sandbox.verify.moves import Episode, Move, Outcome, Solved
from spade_sandbox.verify.playing import play, shown_by
from spade_sandbox.verify.solutions import Reading, boxed, readings
from spade_sandbox.verify.trial import OutOfSteps, Program, Trial

STAGE = Stage.SOLUTION
FIRST, AGAIN = "M4: own solution", "M4: own solution again"
MAX_COMMANDS = 12
SEEDS = 3
"""Seeds whose solutions are played; the first one twice."""
REPLAYABLE = ("exact", "boxed", "calls")
"""Forms that are actions beyond doubt; words of prose may be none."""


async def check_solution(program: Program) -> Verdict | None:
    """None if the solution wins, or if there is none and the settings let that pass.

    Raises OutOfSteps where there is one that the battery's steps do not suffice to replay.
    """
    try:
        return await _check(program)
    except OutOfSteps:
        read = readings(program.solutions.get(program.seeds[0], ""), program.domain)
        if not read or read[0].form in REPLAYABLE:
            program.facts["M4"] = UNFINISHED
            raise
    program.facts["solution_form"] = "unreadable"
    why = f"read as {read[0].form} it has {len(read[0].moves)} moves, more than the battery's steps allow"
    return _not_run(program, why)


async def _check(program: Program) -> Verdict | None:
    seed = program.seeds[0]
    read = readings(program.solutions.get(seed, ""), program.domain)
    if not read:
        program.facts["solution_form"] = "none"
        return await _without(
            program, str(program.facts.get("solution", "it gives no text that can be read as actions"))
        )
    async with program.session(FIRST) as trial:
        reading, first = await _winning(trial, seed, read)
        if not first.won and read[0].exact:
            return await _failure(trial, first)
        solved = await _solved(trial, reading, first) if first.won else None
    if solved is None:
        program.facts["solution_form"] = "unreadable"
        return await _without(program, f"read as {' or '.join(one.form for one in read)} it does not win")
    if isinstance(solved, Verdict):
        return solved
    program.facts["solution_form"] = reading.form
    program.facts["solution_steps"] = float(len(first.moves))
    program.solved = solved
    if OptionalStage.ORDER in program.settings.stages:
        return None  # whose session begins with the second replay
    async with program.session(AGAIN) as again:
        return await check_again(again, solved)


async def check_again(trial: Trial, solved: Solved) -> Verdict | None:
    """The second replay, first of all in a session of another process: None if it is answered like the first."""
    program = trial.program
    second = await play(trial, program.seeds[0], solved.moves[program.seeds[0]])
    if tuple(second.outcomes) != solved.outcomes:
        message = "the program's own solution wins once and is answered otherwise the second time"
        first = next(one.trace for one in program.trials if one.note == FIRST)
        return program.rejection(STAGE, Reason.SOLUTION_UNSTABLE, message, first, trial.trace)
    won = len(solved.moves)
    program.facts["M4"] = PASSED if won == SEEDS else f"{PASSED} from {won} of {SEEDS} seeds"
    return None


async def _solved(trial: Trial, reading: Reading, first: Episode) -> Solved | Verdict:
    """The solution from other seeds too, or the rejection that one of them means."""
    program = trial.program
    moves = {first.seed: _won_by(first)}
    early = [len(first.moves) < len(reading.moves)]
    for other in program.seeds[1:SEEDS]:
        another = await _another(trial, other, reading)
        if another is None:
            continue
        if not another.won and reading.exact:
            return await _failure(trial, another)
        if another.won:
            moves[other] = _won_by(another)
            early.append(len(another.moves) < len(_read_alike(program, other, reading)))
    return Solved(reading.exact, moves, all(early), tuple(first.outcomes))


def longest_solution(program: Program) -> int:
    """Moves of the longest solution that this stage may replay, however it is read; 0 if the stage is off."""
    if OptionalStage.SOLUTION not in program.settings.stages:
        return 0
    texts = (program.solutions.get(seed, "") for seed in program.seeds[:SEEDS])
    return max((len(one.moves) for text in texts for one in readings(text, program.domain)), default=0)


def own_moves(program: Program, seed: int) -> tuple[Move, ...]:
    """A seed's solution as it is read first, or nothing."""
    read = readings(program.solutions.get(seed, ""), program.domain)
    return read[0].moves if read else ()


async def _winning(trial: Trial, seed: int, read: tuple[Reading, ...]) -> tuple[Reading, Episode]:
    """The first reading that wins, or the last one tried."""
    for reading in read:
        episode = await play(trial, seed, reading.moves)
        if episode.won:
            break
    return reading, episode


async def _another(trial: Trial, seed: int, reading: Reading) -> Episode | None:
    moves = _read_alike(trial.program, seed, reading)
    return await play(trial, seed, moves) if moves else None


def _read_alike(program: Program, seed: int, reading: Reading) -> tuple[Move, ...]:
    """Another seed's solution, read in the same way."""
    read = readings(program.solutions.get(seed, ""), program.domain)
    return next((one.moves for one in read if one.form == reading.form), ())


def _won_by(episode: Episode) -> tuple[Move, ...]:
    return tuple(episode.moves)


async def _without(program: Program, why: str) -> Verdict | None:
    rejection = _not_run(program, why)
    if rejection is not None:
        return rejection
    if program.domain is Domain.GAMES and _answers_all_alike(program.episodes):
        async with program.session("first moves") as trial:
            await _try_commands(trial)
        if _answers_all_alike(program.episodes):
            message = "no action made a difference to what it answers, and none has won"
            return program.rejection(STAGE, Reason.IGNORES_ACTIONS, message, trial.trace)
    return None


def _not_run(program: Program, why: str) -> Verdict | None:
    program.facts["M4"] = f"{NO_SOLUTION} ({why})"
    if program.settings.solution is SolutionRule.REQUIRED:
        return program.rejection(STAGE, Reason.NO_SOLUTION, f"no solution that can be replayed: {why}")
    return None


async def _try_commands(trial: Trial) -> None:
    """Each command that the opening shows, and some of its words, as the first move from one seed."""
    seed = trial.program.seeds[0]
    shown, words = vocabulary(next(look.opening for look in trial.program.looks if look.seed == seed))
    for word in (*shown, *words)[:MAX_COMMANDS]:
        await play(trial, seed, [Move(boxed(word))])


def _answers_all_alike(episodes: Sequence[Episode]) -> bool:
    """Whether from each seed the answers depend on the turn alone, although different actions were made in it."""
    tried: dict[tuple[int, int], dict[Move, Outcome]] = {}
    for episode in episodes:
        for turn, (move, outcome) in enumerate(zip(episode.moves, episode.outcomes, strict=True)):
            tried.setdefault((episode.seed, turn), {})[move] = outcome
    return any(len(made) > 1 for made in tried.values()) and all(
        len(set(made.values())) == 1 for made in tried.values()
    )


async def _failure(trial: Trial, episode: Episode) -> Verdict:
    last = episode.outcomes[-1]
    ends = "ends the episode" if last.over else "does not end the episode"
    message = f"the program's own solution {ends} with reward {last.reward:g} after {len(episode.moves)} moves"
    return await shown_by(trial, episode, STAGE, Reason.SOLUTION_FAILS, message)
