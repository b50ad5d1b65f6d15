"""A player is told what it plays and how to answer; a hint stands after the observation."""

import pytest
from tests.support.demands import demands_of

from spade_trainer.design.sections import load_sections
from spade_trainer.play.prompt import PACKAGE, first_message, with_hint

TEMPLATES = ("games_full", "games_compact")
DEMANDS = demands_of(PACKAGE, "games_full")
"""In the order of method.md §1.7."""


@pytest.mark.parametrize(("demand", "words"), DEMANDS)
def test_full_message_makes_every_demand_of_the_method(demand: str, words: str) -> None:
    assert words
    assert words in load_sections(PACKAGE, "games_full")["user"], demand


def test_full_message_makes_its_demands_in_the_order_of_the_method() -> None:
    text = load_sections(PACKAGE, "games_full")["user"]
    places = [text.index(words) for _, words in DEMANDS]
    assert places == sorted(places)


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
