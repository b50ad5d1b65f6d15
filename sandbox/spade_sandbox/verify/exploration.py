"""Play beyond the controls: episodes that might tell a mutant from its original where the controls did not. Pure.

Deterministic and bounded: the program's own solution with steps left out, repeated or exchanged, and random walks over
moves that the program has shown to understand, from seeds that the controls did not use.
"""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_sandbox.verify.moves import Episode, Move
from spade_sandbox.verify.trees import module_of

MAX_TEXT_CHARACTERS = 2_000
"""Longer texts are cut in replays; what matters of them is that they are long."""
MAX_WORD_CHARACTERS = 200
WALK_SEEDS = tuple(range(1001, 1009))
MAX_VARIED_STEPS = 8
MAX_WORDS = 40
_COMMAND = re.compile(r"\\boxed\{([^{}]{1,60})\}")
_WORD = re.compile(r"[A-Za-z0-9][\w .:,=+-]{0,30}")


@dataclass(frozen=True)
class Replay:
    """One episode to play, in a program of its own."""

    seed: int
    moves: tuple[Move, ...]


def replays_of(episodes: Sequence[Episode]) -> tuple[Replay, ...]:
    """Episodes of the controls, each once; those that win come first, because they tell most."""
    found: dict[Replay, bool] = {}
    for episode in episodes:
        if episode.moves:
            found.setdefault(Replay(episode.seed, tuple(map(_cut, episode.moves))), episode.won)
    return tuple(sorted(found, key=lambda replay: not found[replay]))


def explorations(episodes: Sequence[Episode], source: str, domain: Domain, max_turns: int) -> tuple[Replay, ...]:
    """Episodes beyond the controls, in the order in which they should be tried."""
    wins = replays_of([episode for episode in episodes if episode.won])
    found = dict.fromkeys(_variants(wins, max_turns))
    words = _vocabulary(episodes, source, domain)
    if words:
        draw = random.Random(0)  # noqa: S311  # the same walks for everybody
        walks = (tuple(draw.choice(words) for _ in range(max_turns)) for _ in WALK_SEEDS)
        found |= {Replay(seed, moves): None for seed, moves in zip(WALK_SEEDS, walks, strict=True)}
    known = set(replays_of(episodes))
    return tuple(replay for replay in found if replay not in known)


def _variants(wins: Sequence[Replay], max_turns: int) -> Iterator[Replay]:
    """A solution with one step out, twice, or before its time; and solutions from other seeds."""
    for win in wins[:1]:
        moves = win.moves
        for at in range(min(len(moves), MAX_VARIED_STEPS)):
            without = (*moves[:at], *moves[at + 1 :], *moves[-1:])
            twice = (*moves[: at + 1], *moves[at:])
            exchanged = (*moves[:at], *moves[at + 1 : at + 2], *moves[at : at + 1], *moves[at + 2 :])
            yield from (Replay(win.seed, variant[: 2 * max_turns]) for variant in (without, twice, exchanged))
    yield from (Replay(seed, win.moves) for win in wins[:2] for seed in WALK_SEEDS[:2])


def _vocabulary(episodes: Sequence[Episode], source: str, domain: Domain) -> tuple[Move, ...]:
    """Moves that the program may understand: those made, commands that it speaks of, short texts of its code."""
    made = (move for episode in episodes for move in episode.moves)
    words = dict.fromkeys(move for move in made if len(move.action) + len(move.arguments) <= MAX_WORD_CHARACTERS)
    if domain is Domain.GAMES:
        shown = (text for episode in episodes for text in (episode.opening, *(one.text for one in episode.outcomes)))
        spoken = dict.fromkeys(found for text in shown for found in _COMMAND.findall(text))
        for word in (*spoken, *_constants(source), *map(str, range(10))):
            words.setdefault(Move(f"\\boxed{{{word}}}"))
    return tuple(words)[-MAX_WORDS:]


def _constants(source: str) -> tuple[str, ...]:
    """Short texts of the program that could be commands."""
    texts = (node.value for node in ast.walk(module_of(source)) if isinstance(node, ast.Constant))
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str) and _WORD.fullmatch(text)))


def _cut(move: Move) -> Move:
    return Move(move.action[:MAX_TEXT_CHARACTERS], move.name, move.arguments[:MAX_TEXT_CHARACTERS])
