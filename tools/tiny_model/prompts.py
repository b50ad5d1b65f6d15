"""The designer requests that the report asks, in sets: like the training's but new, and of kinds held out of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from tools.tiny_model.conversations import DESIGN_TEMPLATE, DIFFICULTIES, draw_game, draw_memory, memory_example
from tools.tiny_model.documents import (
    NOUNS,
    TRAINING_PHRASINGS,
    UNSEEN_NOUNS,
    UNSEEN_PHRASINGS,
    draw_theme,
    write_document,
)
from tools.tiny_model.families import HELD_OUT_FAMILIES

from spade_trainer.design.prompt import ChatMessage, MemoryExample, designer_messages, load_design_template
from spade_trainer.design.skills import GAME_SKILLS, SPARE_GAME_SKILLS, Skill

Memory = tuple[list[MemoryExample], MemoryExample | None]


@dataclass(frozen=True)
class Request:
    """One designer prompt and what it is about."""

    skill: str
    document: str
    messages: list[ChatMessage]


def no_memory(rng: Random, skill: str) -> Memory:
    """A run's first cycle."""
    return [], None


def strange_memory(rng: Random, skill: str) -> Memory:
    """One good example of a family that no training prompt showed."""
    return [memory_example(draw_game(rng, HELD_OUT_FAMILIES), rng, taught_well=True)], None


def usual_memory(rng: Random, skill: str) -> Memory:
    """As in training: sometimes examples, often none."""
    return draw_memory(rng, skill)


@dataclass(frozen=True)
class PromptSet:
    """How the prompts of a set are drawn: phrasings and nouns make the document. seen: training had prompts like it."""

    name: str
    seen: bool
    skills: tuple[Skill, ...] = GAME_SKILLS
    phrasings: tuple[str, ...] = TRAINING_PHRASINGS
    nouns: tuple[str, ...] = NOUNS
    memory: Callable[[Random, str], Memory] = usual_memory


PROMPT_SETS = (
    PromptSet("new documents", seen=True),
    PromptSet("new document phrasings", seen=False, phrasings=UNSEEN_PHRASINGS),
    PromptSet("new words in documents", seen=False, nouns=UNSEEN_NOUNS),
    PromptSet("skills never trained", seen=False, skills=SPARE_GAME_SKILLS),
    PromptSet("memory of families never trained", seen=False, memory=strange_memory),
)


def requests(prompts: PromptSet, known_documents: frozenset[str], seed: int) -> Iterator[Request]:
    """Endless prompts of a set, skills in turn, none with a known document or one drawn before."""
    template, used, number = load_design_template(DESIGN_TEMPLATE), set(known_documents), 0
    while True:
        rng = Random(f"{prompts.name}/{seed}/{number}")
        skill = prompts.skills[number % len(prompts.skills)]
        number += 1
        document = write_document(draw_theme(rng, prompts.nouns), rng, prompts.phrasings)
        if document in used:
            continue
        used.add(document)
        positives, negative = prompts.memory(rng, skill.name)
        messages = designer_messages(
            template, skill.name, skill.description, rng.choice(DIFFICULTIES), document, positives, negative
        )
        yield Request(skill.name, document, messages)
