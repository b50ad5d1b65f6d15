"""Skills are found by name, written with spaces or underscores."""

import pytest

from spade_trainer.design.skills import GAME_SKILLS, SPARE_GAME_SKILLS, game_skill


@pytest.mark.parametrize("skill", GAME_SKILLS + SPARE_GAME_SKILLS)
def test_underscores_count_as_spaces(skill):
    assert game_skill(skill.name.replace(" ", "_")) == game_skill(skill.name) == skill


def test_recipes_have_six_skills_in_launcher_order():
    assert [s.name for s in GAME_SKILLS] == [
        "Mathematical Reasoning",
        "Logical Deduction",
        "Spatial Reasoning",
        "Pattern Recognition",
        "Optimization",
        "Causal Inference",
    ]


def test_unknown_skill_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="Optimization"):
        game_skill("Juggling")
