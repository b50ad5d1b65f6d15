"""CEL rules and the resolved settings' own checks speak of the same defaults."""

from collections.abc import Callable
from typing import Any

import pytest

from spade_contracts.config.environments import Domain
from spade_contracts.config.profile import corrected_defaults, paper_defaults
from spade_contracts.resources.crd import CUSTOM_RESOURCES, CustomResource
from spade_contracts.resources.rules import SPADE_RUN_RULES

ALWAYS = (
    "an EnvBatch of a run has cycle and policyVersion and nothing that its SpadeRun says",
    "with placement Colocated",
)
"""Read fields that may change, of objects that only the operator makes, or that say what no older one could."""


def rule_about(words: str) -> str:
    (found,) = [rule.rule for rule in SPADE_RUN_RULES["spec"] if words in rule.message]
    return found


def test_defaults_that_differ_between_profiles_are_chosen_by_profile() -> None:
    rule = rule_about("spec.play.sampling cuts the distribution")
    corrected, paper = corrected_defaults(Domain.GAMES), paper_defaults(Domain.GAMES)
    assert (
        f"(self.profile == 'Corrected' ? {corrected['play']['sampling']['top_p']} "
        f": {paper['play']['sampling']['top_p']})"
    ) in rule


@pytest.mark.parametrize("make", [corrected_defaults, paper_defaults])
def test_defaults_that_agree_stand_as_numbers(make: Callable[[Domain], dict[str, Any]]) -> None:
    rule = rule_about("activeSkills")
    assert f": {len(make(Domain.GAMES)['environments']['skills'])})" in rule


def test_defaults_that_differ_between_domains_are_chosen_by_domain() -> None:
    rule = rule_about("activeSkills")
    games, tools = (paper_defaults(domain)["environments"]["active_skills"] for domain in (Domain.GAMES, Domain.TOOLS))
    assert f"self.environments.domain == 'Tools' ? {tools} : {games})" in rule


@pytest.mark.parametrize("resource", CUSTOM_RESOURCES, ids=lambda resource: resource.kind)
def test_no_rule_over_the_whole_object_holds_up_changes_of_an_older_one(resource: CustomResource) -> None:
    """The API server judges such a rule with every change, so it is about changes, or judged once."""
    wide = (*resource.rules.get("", ()), *resource.rules.get("spec", ()))
    judged_again = [rule.message for rule in wide if not rule.once and "oldSelf" not in rule.rule]
    assert [message for message in judged_again if not message.startswith(ALWAYS)] == []


@pytest.mark.parametrize("resource", CUSTOM_RESOURCES, ids=lambda resource: resource.kind)
def test_what_is_judged_once_speaks_of_no_earlier_value(resource: CustomResource) -> None:
    for rules in resource.rules.values():
        assert not [rule.message for rule in rules if rule.once and "oldSelf" in rule.rule]
