"""A player is told what it plays and how to answer; a hint stands after the observation."""

import pytest

from spade_trainer.play.prompt import first_message, with_hint

TEMPLATES = ("games_full", "games_compact")


@pytest.mark.parametrize("template", TEMPLATES)
def test_first_message_says_game_observation_and_form_of_the_answer(template):
    text = first_message("You see $5.\nMoves: up.", template)
    head, rest = text.split("Observation:\nYou see $5.\nMoves: up.\n")
    assert "language game" in head
    assert "valid actions" in head
    assert "step by step" in rest
    assert "\\boxed{}" in rest


@pytest.mark.parametrize("template", TEMPLATES)
def test_hint_follows_the_observation_after_a_blank_line(template):
    assert with_hint("You see a bell.", "Ring it.", template) == "You see a bell.\n\nHINT: Ring it."
