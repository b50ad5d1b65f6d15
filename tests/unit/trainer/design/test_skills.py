"""Skills of a domain are found by name, written with spaces or underscores."""

import pytest

from spade_contracts.config.environments import Domain
from spade_trainer.design.skills import GAME_SKILLS, SPARE_GAME_SKILLS, TOOL_SKILLS, Skill, skill_named

KNOWN = [(Domain.GAMES, skill) for skill in GAME_SKILLS + SPARE_GAME_SKILLS]
KNOWN += [(Domain.TOOLS, skill) for skill in TOOL_SKILLS]


@pytest.mark.parametrize(("domain", "skill"), KNOWN, ids=lambda value: getattr(value, "name", str(value)))
def test_underscores_count_as_spaces(domain: Domain, skill: Skill) -> None:
    assert skill_named(domain, skill.name.replace(" ", "_")) == skill_named(domain, skill.name) == skill


@pytest.mark.parametrize(
    ("skills", "names"),
    [
        (
            GAME_SKILLS,
            [
                "Mathematical Reasoning",
                "Logical Deduction",
                "Spatial Reasoning",
                "Pattern Recognition",
                "Optimization",
                "Causal Inference",
            ],
        ),
        (
            TOOL_SKILLS,
            [
                "API Orchestration",
                "Data Retrieval",
                "State Modification",
                "Error Recovery",
                "Tool Selection",
                "Multi-Step Workflows",
            ],
        ),
    ],
)
def test_recipes_have_six_skills_in_launcher_order(skills: tuple[Skill, ...], names: list[str]) -> None:
    assert [skill.name for skill in skills] == names


@pytest.mark.parametrize(("domain", "known"), [(Domain.GAMES, "Optimization"), (Domain.TOOLS, "Tool Selection")])
def test_an_unknown_skill_is_refused_with_the_known_ones(domain: Domain, known: str) -> None:
    with pytest.raises(KeyError, match=known):
        skill_named(domain, "Juggling")
