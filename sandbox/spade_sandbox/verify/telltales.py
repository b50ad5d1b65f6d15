"""M14 beyond openings: answers to moves that are not the solution's must not tell the solution of a game.

What the controls have seen anyway is searched. A move that is told the whole solution, or a wrong first move that is
told the right one, is made again from the seeds that are solved: only where every seed's answer holds its own solution,
and that is still worth full reward then, it is a leak. So a value met by chance is none, nor a riddle's answer that is
told when it is too late, nor what the solution's own moves find out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.moves import Episode, Move, Solved
from spade_sandbox.verify.playing import begin, make, shown_by
from spade_sandbox.verify.solution import own_moves
from spade_sandbox.verify.solutions import payload
from spade_sandbox.verify.trial import Program, Trial
from spade_sandbox.verify.words import tokens, within

STAGE = Stage.LEAKS
LEAST_CHARACTERS = 3
"""Of a solution's own words; shorter ones stand in a text by chance."""
LEAST_SEEDS = 2
MAX_CONFIRMED = 3
"""Suspicions that are looked into."""
Words = tuple[str, ...]


@dataclass(frozen=True)
class Secret:
    """What a seed's solution says that its opening and the solutions of all other seeds do not say."""

    moves: tuple[Words, ...]
    """By move; empty where it says nothing of its own."""

    @property
    def first(self) -> Words:
        """Of the first move."""
        return self.moves[0]

    @property
    def whole(self) -> tuple[Words, ...]:
        """Of all moves that say something."""
        return tuple(words for words in self.moves if words)


@dataclass(frozen=True)
class Suspicion:
    """An answer in a control's episode that holds a solution."""

    episode: Episode
    turn: int
    missed: bool
    """Whether a wrong first move was told the right one; otherwise the whole solution was told."""


async def check_telltales(program: Program) -> Verdict | None:
    """None if no answer that the controls have seen tells a solution that can still be used."""
    solved = program.solved
    if solved is None or len(solved.moves) < LEAST_SEEDS:
        return None
    secrets = secrets_of(program, solved)
    found = list(dict.fromkeys(_key(one) for one in suspicions(program, solved, secrets)))[:MAX_CONFIRMED]
    if not found:
        return None
    async with program.session("M14: what is told") as trial:
        with trial.confirming():
            for moves, missed in found:
                rejection = await _confirmed(trial, solved, secrets, moves, missed)
                if rejection is not None:
                    return rejection
    return None


def secrets_of(program: Program, solved: Solved) -> dict[int, Secret]:
    """By seed; without seeds whose solution says too little to be recognised."""
    said = {seed: tuple(tokens(_content(move)) for move in moves) for seed, moves in solved.moves.items()}
    openings = {look.seed: frozenset(tokens(look.opening)) for look in program.looks}
    everywhere = (own_moves(program, look.seed) for look in program.looks if look.solution)
    common = frozenset.intersection(*(frozenset(tokens(" ".join(map(_content, moves)))) for moves in everywhere))
    return {
        seed: Secret(tuple(tuple(w for w in words if w not in common | openings[seed]) for words in moves))
        for seed, moves in said.items()
    }


def _content(move: Move) -> str:
    return payload(move.action)


def suspicions(program: Program, solved: Solved, secrets: dict[int, Secret]) -> Iterator[Suspicion]:
    """Answers in the controls' episodes that hold a solution, as far as they are of solved seeds."""
    firsts = {moves[0] for moves in solved.moves.values()}
    for episode in program.episodes:
        secret, own = secrets.get(episode.seed), solved.moves.get(episode.seed, ())
        if secret is None:
            continue
        for turn, (move, outcome) in enumerate(zip(episode.moves, episode.outcomes, strict=True)):
            if outcome.over or move in own:
                break
            sent = tokens(" ".join(one.action for one in episode.moves[: turn + 1]))
            if turn == 0 and move in firsts and _tells((secret.first,), outcome.text, sent):
                yield Suspicion(episode, turn, missed=True)  # from its own seed this move is no miss, so first
            elif _tells(secret.whole, outcome.text, sent):
                yield Suspicion(episode, turn, missed=False)


def _tells(secret: Sequence[Words], text: str, sent: Words) -> bool:
    """Whether a text holds all of it, and the player did not say it first."""
    if sum(len(word) for words in secret for word in words) < LEAST_CHARACTERS:
        return False
    said = tokens(text)
    return all(within(words, said) for words in secret) and not all(within(words, sent) for words in secret)


def _key(suspicion: Suspicion) -> tuple[tuple[Move, ...], bool]:
    return tuple(suspicion.episode.moves[: suspicion.turn + 1]), suspicion.missed


async def _confirmed(
    trial: Trial, solved: Solved, secrets: dict[int, Secret], moves: tuple[Move, ...], missed: bool
) -> Verdict | None:
    """A rejection if the same is told from every seed that is solved, and the solution still wins after it."""
    told: list[Episode] = []
    for seed, own in solved.moves.items():
        before = moves if not missed else _another_first(solved, seed)
        secret = (secrets[seed].first,) if missed else secrets[seed].whole
        episode = await begin(trial, seed)
        for move in before:
            if (await make(trial, episode, move)).over:
                return None
        sent = tokens(" ".join(move.action for move in before))
        if not before or not _tells(secret, episode.last, sent):
            return None
        for move in own:
            if (await make(trial, episode, move)).over:
                break
        if not episode.won:
            return None
        told.append(episode)
    told_what = "a wrong first move is told the right one" if missed else f"{moves[-1]} is told the whole solution"
    message = f"{told_what}, from every seed, and full reward can still be had"
    return await shown_by(trial, told[0], STAGE, Reason.SOLUTION_SHOWN, message)


def _another_first(solved: Solved, seed: int) -> tuple[Move, ...]:
    """The first move of another seed's solution, if that is another."""
    own = solved.moves[seed][0]
    return next(((moves[0],) for moves in solved.moves.values() if moves[0] != own), ())
