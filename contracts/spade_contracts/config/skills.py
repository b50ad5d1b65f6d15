"""Names of the skills that a designer's prompt can speak of (method.md §1.4, §2.10); their words are the trainer's."""

from collections.abc import Sequence

from spade_contracts.config.environments import Domain

GAMES_SKILLS = (
    "Mathematical Reasoning",
    "Logical Deduction",
    "Spatial Reasoning",
    "Pattern Recognition",
    "Optimization",
    "Causal Inference",
)
"""Of the games recipe, in the launchers' order, which rotation depends on."""
SPARE_GAMES_SKILLS = ("Strategic Planning", "Memory Recall", "Language Understanding")
"""Known to the method but in no recipe."""
TOOLS_SKILLS = (
    "API Orchestration",
    "Data Retrieval",
    "State Modification",
    "Error Recovery",
    "Tool Selection",
    "Multi-Step Workflows",
)
"""Of the tools recipe, in the launchers' order."""


def known_skills(domain: Domain) -> tuple[str, ...]:
    """Every skill of a domain."""
    return TOOLS_SKILLS if domain is Domain.TOOLS else GAMES_SKILLS + SPARE_GAMES_SKILLS


def same_skill(name: str) -> str:
    """The name as skills are compared: underscores count as spaces."""
    return name.replace("_", " ")


def unknown_skills(domain: Domain, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that no prompt of the domain can speak of."""
    known = known_skills(domain)
    return tuple(name for name in names if same_skill(name) not in known)
