"""CEL rules and the resolved settings' own checks speak of the same defaults."""

import pytest

from spade_contracts.config.profile import corrected_defaults, paper_defaults
from spade_contracts.resources.rules import SPADE_RUN_RULES


def rule_about(words: str) -> str:
    (found,) = [rule.rule for rule in SPADE_RUN_RULES["spec"] if words in rule.message]
    return found


def test_defaults_that_differ_between_profiles_are_chosen_by_profile() -> None:
    rule = rule_about("spec.play.sampling cuts the distribution")
    corrected, paper = corrected_defaults(), paper_defaults()
    assert (
        f"(self.profile == 'Corrected' ? {corrected['play']['sampling']['top_p']} "
        f": {paper['play']['sampling']['top_p']})"
    ) in rule


@pytest.mark.parametrize("defaults", [corrected_defaults(), paper_defaults()], ids=["Corrected", "Paper"])
def test_defaults_that_agree_stand_as_numbers(defaults: dict) -> None:  # type: ignore[type-arg]
    rule = rule_about("activeSkills")
    assert f": {defaults['environments']['active_skills']})" in rule
    assert f": {len(defaults['environments']['skills'])})" in rule
