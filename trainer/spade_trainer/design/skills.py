"""The skills of both domains: the words that a designer prompt gets to see (method.md §2.10)."""

from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_contracts.config.skills import same_skill


@dataclass(frozen=True)
class Skill:
    """One trainable skill. name and description enter prompts; category is for reports only."""

    name: str
    category: str
    description: str


GAME_SKILLS: tuple[Skill, ...] = (
    Skill("Mathematical Reasoning", "analytical", "solving numerical problems and equations"),
    Skill("Logical Deduction", "core reasoning", "drawing conclusions from premises and rules"),
    Skill("Spatial Reasoning", "visual", "understanding spatial relations and turning shapes in the mind"),
    Skill("Pattern Recognition", "core reasoning", "finding patterns in sequences, numbers and text"),
    Skill("Optimization", "executive", "finding the best solution under constraints"),
    Skill("Causal Inference", "core reasoning", "telling causes from effects"),
)
"""The six skills of the recipes, in launcher order, which rotation depends on (method.md §1.4)."""

SPARE_GAME_SKILLS: tuple[Skill, ...] = (
    Skill("Strategic Planning", "executive", "planning several moves ahead towards a goal"),
    Skill("Memory Recall", "core reasoning", "remembering and using what was seen earlier"),
    Skill("Language Understanding", "verbal", "understanding the meaning and structure of text"),
)
"""Known to the method but in no recipe."""

TOOL_SKILLS: tuple[Skill, ...] = (
    Skill("API Orchestration", "workflow", "chaining calls that change state, each with what earlier ones returned"),
    Skill("Data Retrieval", "lookup", "finding out by queries what is meant, and then acting on exactly that"),
    Skill("State Modification", "workflow", "making changes each of which depends on the state before it"),
    Skill("Error Recovery", "robustness", "noticing failures, verifying what happened, and trying again another way"),
    Skill("Tool Selection", "judgement", "choosing the tool that fits the present state among similar ones"),
    Skill("Multi-Step Workflows", "workflow", "carrying out ordered steps that depend on earlier results"),
)
"""The six skills of the tools recipe, in launcher order. Example tasks of each are in templates/tools_skills.txt."""


def skill_named(domain: Domain, name: str) -> Skill:
    """The skill of that name; underscores count as spaces. Raises KeyError with the known names for another one."""
    all_of_it = TOOL_SKILLS if domain is Domain.TOOLS else GAME_SKILLS + SPARE_GAME_SKILLS
    known = {skill.name: skill for skill in all_of_it}
    if same_skill(name) not in known:
        raise KeyError(f"unknown skill {name!r}; known: {', '.join(known)}")
    return known[same_skill(name)]
