"""The skills of the games domain: the words that a designer prompt gets to see (method.md §2.10)."""

from dataclasses import dataclass


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


def game_skill(name: str) -> Skill:
    """The skill of that name; underscores count as spaces. Raises KeyError with the known names for another one."""
    known = {skill.name: skill for skill in GAME_SKILLS + SPARE_GAME_SKILLS}
    wanted = name.replace("_", " ")
    if wanted not in known:
        raise KeyError(f"unknown skill {name!r}; known: {', '.join(known)}")
    return known[wanted]
