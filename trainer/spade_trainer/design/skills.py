"""The skills of both domains: the words that a designer prompt gets to see (method.md §2.10)."""

from collections.abc import Iterable
from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_contracts.config.skills import GAMES_SKILLS, SPARE_GAMES_SKILLS, TOOLS_SKILLS, known_skills, same_skill


@dataclass(frozen=True)
class Skill:
    """One trainable skill, in the words that enter prompts."""

    name: str
    description: str


DESCRIPTIONS = {
    "Mathematical Reasoning": "solving numerical problems and equations",
    "Logical Deduction": "drawing conclusions from premises and rules",
    "Spatial Reasoning": "understanding spatial relations and turning shapes in the mind",
    "Pattern Recognition": "finding patterns in sequences, numbers and text",
    "Optimization": "finding the best solution under constraints",
    "Causal Inference": "telling causes from effects",
    "Strategic Planning": "planning several moves ahead towards a goal",
    "Memory Recall": "remembering and using what was seen earlier",
    "Language Understanding": "understanding the meaning and structure of text",
    "API Orchestration": "chaining calls that change state, each with what earlier ones returned",
    "Data Retrieval": "finding out by queries what is meant, and then acting on exactly that",
    "State Modification": "making changes each of which depends on the state before it",
    "Error Recovery": "noticing failures, verifying what happened, and trying again another way",
    "Tool Selection": "choosing the tool that fits the present state among similar ones",
    "Multi-Step Workflows": "carrying out ordered steps that depend on earlier results",
}
"""Example tasks of the tools' skills are in templates/tools_skills.txt."""


def _skills(names: Iterable[str]) -> tuple[Skill, ...]:
    return tuple(Skill(name, DESCRIPTIONS[name]) for name in names)


GAME_SKILLS = _skills(GAMES_SKILLS)
SPARE_GAME_SKILLS = _skills(SPARE_GAMES_SKILLS)
TOOL_SKILLS = _skills(TOOLS_SKILLS)


def skill_named(domain: Domain, name: str) -> Skill:
    """The skill of that name; underscores count as spaces. Raises KeyError with the known names for another one."""
    found, known = same_skill(name), known_skills(domain)
    if found not in known:
        raise KeyError(f"unknown skill {name!r}; known: {', '.join(known)}")
    return Skill(found, DESCRIPTIONS[found])
