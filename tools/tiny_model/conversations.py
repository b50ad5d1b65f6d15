"""Training conversations of the three kinds that a run asks for: design, hint and play.

Prompts are rendered by the product's own prompt code, so that what the model learns is what a run sends. Every row is a
pure function of the seed and its number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from tools.tiny_model.documents import Theme, draw_theme, write_document
from tools.tiny_model.families import TRAINING_FAMILIES
from tools.tiny_model.families.base import Family, write_program
from tools.tiny_model.play import load_environment, scripted_play

from spade_contracts.config.environments import Domain
from spade_trainer.design.hint_prompt import hint_messages
from spade_trainer.design.prompt import (
    ChatMessage,
    DesignTemplate,
    MemoryExample,
    designer_messages,
    load_design_template,
)
from spade_trainer.design.skills import skill_named
from spade_trainer.play.prompt import first_message, with_hint

DIFFICULTIES = ("easy", "medium", "medium", "hard")
DESIGN_TEMPLATE = "games_compact"
HINT_TEMPLATE = "hint_compact"
PLAY_TEMPLATE = "games_compact"
OBSERVATION_WEIGHT = 0.05
"""Loss weight of observations: enough to learn to copy state, too little to spend the model on it."""
HINT_WEIGHT = 4.0
"""Loss weight of hints, which are few and short."""
MISTAKE_WEIGHT = 0.15
"""Loss weight of a scripted player's random replies in unhinted games."""

Kind = Literal["design", "hint", "play"]


@dataclass(frozen=True)
class Conversation:
    """Messages and the loss weight of each message's text."""

    kind: Kind
    family: str
    messages: list[ChatMessage]
    weights: list[float]


@dataclass(frozen=True)
class Game:
    """A generated program and the request that it answers."""

    family: Family
    theme: Theme
    document: str
    difficulty: str
    program: str


def draw_game(rng: Random, families: tuple[Family, ...] = TRAINING_FAMILIES) -> Game:
    """One game of a family drawn uniformly, with a training document."""
    family, theme, difficulty = rng.choice(families), draw_theme(rng), rng.choice(DIFFICULTIES)
    program = write_program(family, theme, difficulty, rng)
    return Game(family, theme, write_document(theme, rng), difficulty, program)


def memory_example(game: Game, rng: Random, taught_well: bool) -> MemoryExample:
    """The game as environment memory would show it, with figures of the wanted kind (method.md §6)."""
    name = game.program.split("class ")[1].split(":")[0]
    win_rate = rng.uniform(0.15, 0.85) if taught_well else rng.choice((rng.uniform(0.0, 0.1), rng.uniform(0.9, 1.0)))
    return MemoryExample(name, game.family.skill, game.program, win_rate, rng.uniform(-0.2, 0.4))


def draw_memory(rng: Random, skill: str) -> tuple[list[MemoryExample], MemoryExample | None]:
    """None to two good examples of a skill and at most one bad one; most requests have none, as a run's first cycle."""
    same_skill = tuple(f for f in TRAINING_FAMILIES if f.skill == skill) or TRAINING_FAMILIES
    positives = [memory_example(draw_game(rng, same_skill), rng, True) for _ in range(rng.choice((0, 0, 0, 0, 1, 2)))]
    negative = memory_example(draw_game(rng, same_skill), rng, False) if rng.random() < 0.2 else None
    return positives, negative


def design_request(
    template: DesignTemplate, game: Game, positives: list[MemoryExample], negative: MemoryExample | None
) -> list[ChatMessage]:
    """The designer prompt whose answer the game's program is."""
    skill = skill_named(Domain.GAMES, game.family.skill)
    return designer_messages(
        template, skill.name, skill.description, game.difficulty, game.document, positives, negative
    )


def design_conversation(rng: Random, template: DesignTemplate) -> Conversation:
    """A designer prompt and its program in a fence."""
    game = draw_game(rng)
    messages = design_request(template, game, *draw_memory(rng, game.family.skill))
    answer: ChatMessage = {"role": "assistant", "content": f"```python\n{game.program}\n```"}
    return Conversation("design", game.family.name, [*messages, answer], [0.0] * len(messages) + [1.0])


def hint_conversation(rng: Random) -> Conversation:
    """A program and a hint of its family."""
    game = draw_game(rng)
    answer: ChatMessage = {"role": "assistant", "content": rng.choice(game.family.hints)}
    messages = hint_messages(HINT_TEMPLATE, game.program)
    return Conversation("hint", game.family.name, [*messages, answer], [0.0] * len(messages) + [HINT_WEIGHT])


def play_conversation(rng: Random) -> Conversation:
    """An episode of a scripted player. With a hint it plays well and is learned whole; without one it errs now and
    then, and its errors are learned lightly."""
    game = draw_game(rng)
    hinted = rng.random() < 0.3
    error_rate = rng.choice((0.0, 0.0, 0.1)) if hinted else rng.choice((0.0, 0.1, 0.1, 0.25, 0.25, 0.5))
    play = scripted_play(load_environment(game.program), game.family, rng.randrange(10**6), error_rate, rng)
    opening = play.observations[0]
    if hinted:
        opening = with_hint(opening, rng.choice(game.family.hints), PLAY_TEMPLATE)
    messages: list[ChatMessage] = []
    weights: list[float] = []
    for number, (observation, reply, chosen) in enumerate(
        zip(play.observations, play.replies, play.chosen, strict=False)
    ):
        text = first_message(opening, PLAY_TEMPLATE) if number == 0 else observation
        messages.append({"role": "user", "content": text})
        weights.append(OBSERVATION_WEIGHT if number else 0.0)
        messages.append({"role": "assistant", "content": reply})
        weights.append(1.0 if chosen else 0.0 if hinted else MISTAKE_WEIGHT)
    return Conversation("play", game.family.name, messages, weights)


def conversations(seed: int, design: int, hint: int, play: int) -> Iterator[Conversation]:
    """That many conversations of each kind, the kinds well mixed, reproducible by seed."""
    wanted: tuple[tuple[Kind, int], ...] = (("design", design), ("hint", hint), ("play", play))
    kinds: list[Kind] = [kind for kind, count in wanted for _ in range(count)]
    Random(seed).shuffle(kinds)
    template = load_design_template(DESIGN_TEMPLATE)
    for number, kind in enumerate(kinds):
        rng = Random(f"{seed}/{number}")
        if kind == "design":
            yield design_conversation(rng, template)
        elif kind == "hint":
            yield hint_conversation(rng)
        else:
            yield play_conversation(rng)
