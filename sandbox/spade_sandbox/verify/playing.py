"""Episodes in a session: the controls' moves, made one after the other."""

from collections.abc import Iterable

from spade_contracts.protocol import Criterion
from spade_contracts.verdicts import Reason, Stage, Trace, Verdict
from spade_sandbox.client import Inspection
from spade_sandbox.verify.moves import Episode, Move, Outcome
from spade_sandbox.verify.trial import OutOfSteps, Program, Trial


async def begin(trial: Trial, seed: int) -> Episode:
    """Reset."""
    episode = Episode(seed, await trial.reset(seed))
    trial.program.episodes.append(episode)
    return episode


async def make(trial: Trial, episode: Episode, move: Move) -> Outcome:
    """One move. Raises OutOfSteps."""
    if move.name:
        called = await trial.call(move.name, move.arguments)
        outcome = Outcome(called.output, failed=called.returncode != 0)
    else:
        result = await trial.step(move.action)
        outcome = Outcome(result.observation, result.reward, result.terminated, result.truncated)
    episode.moves.append(move)
    episode.outcomes.append(outcome)
    return outcome


async def play(trial: Trial, seed: int, moves: Iterable[Move]) -> Episode:
    """Moves from a reset on, until they or the episode end. Raises OutOfSteps."""
    episode = await begin(trial, seed)
    for move in moves:
        if (await make(trial, episode, move)).over:
            break
    return episode


def completes(before: Inspection, after: Inspection) -> bool:
    """Whether the open instruction is completed now, or will count as such with the next call."""
    held = after.criteria[before.instruction : before.instruction + 1] == (Criterion.TRUE,)
    return after.instruction > before.instruction or held


def earned(what: str, episode: Episode, seeds: int = 1) -> str:
    """What a control's play was paid."""
    where = f" from {seeds} seeds" if seeds > 1 else ""
    return f"{what} earn {episode.outcomes[-1].reward:g} in turn {len(episode.moves)}{where}"


async def shown_by(trial: Trial, episode: Episode, stage: Stage, reason: Reason, message: str) -> Verdict:
    """A rejection that an episode of this session shows."""
    evidence = await demonstrated(trial.program, trial, episode)
    return trial.program.rejection(stage, reason, message[:500], evidence)


async def demonstrated(program: Program, trial: Trial, episode: Episode) -> Trace:
    """Evidence of an episode: a session of its own that shows the same, or else the session in which it happened."""
    steps = program.steps
    try:
        async with program.session(f"evidence: {trial.note}") as alone:
            again = await play(alone, episode.seed, tuple(episode.moves))
    except OutOfSteps:
        return trial.trace
    finally:
        program.steps = steps
    return alone.trace if again.outcomes == episode.outcomes else trial.trace
