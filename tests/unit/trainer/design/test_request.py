"""A designer is asked for what its domain, its corpus and its profile call for, and every demand is made."""

import re
from collections import Counter
from typing import Any

import pytest
from tests.support.demands import demands_of

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.environments import Domain
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import merged
from spade_contracts.config.skills import known_skills
from spade_sandbox.verify.parse import parse_answer
from spade_trainer.design.briefs import VARIANT_WEIGHTS, domains, draw_brief, draw_ideas, sketches
from spade_trainer.design.draws import keyed
from spade_trainer.design.hint_prompt import hint_messages
from spade_trainer.design.prompt import load_design_template
from spade_trainer.design.request import hint_template_name, request_messages, template_name
from spade_trainer.design.sections import load_sections
from spade_trainer.design.skills import skill_named
from spade_trainer.randomness import Purpose

PACKAGE = "spade_trainer.design"
OF_DOCUMENTS = {"needs the document", "document not mentioned", "document is flavour"}


def listed(name: str) -> list[tuple[str, str]]:
    """The demands of a template."""
    return demands_of(PACKAGE, name)


def settings(profile: Profile = Profile.CORRECTED, domain: str = "Games", **environments: Any) -> MethodConfig:
    return resolve(profile, {"environments": merged({"domain": domain}, environments)})


NO_CORPUS = {"corpus": {"uri": ""}}
OTHER = {"designer": {"contract": "OtherContract"}}
FULL = ("games_full", "tools_full", "games_sparse_full", "tools_single_full")
COMPACT = {"designer": {"prompt_template": "Compact"}}


@pytest.mark.parametrize(
    ("template", "demand", "words"),
    [(name, *one) for name in FULL for one in listed(name)],
)
def test_request_with_a_document_makes_every_demand(template: str, demand: str, words: str) -> None:
    loaded = load_design_template(template)
    assert words in loaded.user + loaded.more.get("example", ""), demand


@pytest.mark.parametrize(
    ("template", "demand", "words"),
    [
        (name, *one)
        for name in FULL
        for one in listed(name)
        if one[0] not in OF_DOCUMENTS and "described below" not in one[1]
    ],
)
def test_request_without_a_document_makes_every_demand_but_those_about_it(
    template: str, demand: str, words: str
) -> None:
    loaded = load_design_template(template)
    assert words in loaded.user_without_document + loaded.more.get("example", ""), demand


@pytest.mark.parametrize(
    ("template", "demand", "words"),
    [(name, *one) for name in ("hint_full", "hint_tools_full") for one in listed(name)],
)
def test_request_for_a_hint_makes_every_demand(template: str, demand: str, words: str) -> None:
    assert words in load_sections(PACKAGE, template)["system"], demand


@pytest.mark.parametrize("contract", [{}, OTHER], ids=["ByCorpus", "OtherContract"])
@pytest.mark.parametrize("domain", ["Games", "Tools"])
@pytest.mark.switch("designerWithoutCorpus")
def test_without_a_corpus_corrected_changes_the_document_and_nothing_else(
    domain: str, contract: dict[str, Any]
) -> None:
    place, skill = (0, 0, 0), known_skills(Domain(domain))[0]
    (*_, grounded) = request_messages(settings(domain=domain, **contract), place, skill, "A bell.")
    (*_, alone) = request_messages(settings(domain=domain, **NO_CORPUS, **contract), place, skill, None)
    assert grounded["content"].startswith("<document>\nA bell.\n</document>\n")
    ours, others = set(alone["content"].splitlines()), set(grounded["content"].splitlines())
    assert len(ours - others) <= 1
    assert all("document" in line or line in ("A bell.", "") for line in others - ours)
    assert "document" not in alone["content"]


@pytest.mark.switch("designerWithoutCorpus")
@pytest.mark.parametrize(
    ("profile", "domain", "environments", "name"),
    [
        (Profile.PAPER, "Games", {}, "games_full"),
        (Profile.PAPER, "Tools", {}, "tools_full"),
        (Profile.PAPER, "Games", NO_CORPUS, "games_sparse_full"),
        (Profile.PAPER, "Tools", NO_CORPUS, "tools_single_full"),
        (Profile.PAPER, "Tools", {**NO_CORPUS, **COMPACT}, "tools_single_compact"),
        (Profile.PAPER, "Games", {**NO_CORPUS, **COMPACT}, "games_sparse_compact"),
        (Profile.CORRECTED, "Games", NO_CORPUS, "games_full"),
        (Profile.CORRECTED, "Tools", NO_CORPUS, "tools_full"),
        (Profile.CORRECTED, "Tools", COMPACT, "tools_compact"),
        (Profile.PAPER, "Games", OTHER, "games_sparse_full"),
        (Profile.PAPER, "Tools", OTHER, "tools_single_full"),
        (Profile.CORRECTED, "Games", {"designer": OTHER["designer"] | COMPACT["designer"]}, "games_sparse_compact"),
        (Profile.CORRECTED, "Tools", {"designer": OTHER["designer"] | COMPACT["designer"]}, "tools_single_compact"),
        (Profile.CORRECTED, "Games", {**NO_CORPUS, **OTHER}, "games_sparse_full"),
    ],
)
def test_paper_asks_for_another_contract_where_there_is_no_corpus_and_all_do_where_it_is_set(
    profile: Profile, domain: str, environments: dict[str, Any], name: str
) -> None:
    method = settings(profile, domain, **environments)
    assert template_name(method) == name
    document = None if environments.get("corpus") == NO_CORPUS["corpus"] else "A bell."
    skill = method.environments.skills[0]
    text = request_messages(method, (0, 0, 0), skill, document)[-1]["content"]
    assert not re.search(r"\$[a-z]", text)
    assert skill in text
    assert "medium" in text
    assert ("A bell." in text) == bool(document)


@pytest.mark.switch("toolDesignerSystem")
def test_d13_tools_get_their_system_prompt_in_corrected_and_none_in_paper() -> None:
    def roles(profile: Profile, domain: str) -> list[str]:
        method = settings(profile, domain)
        return [m["role"] for m in request_messages(method, (0, 0, 0), method.environments.skills[0], "A bell.")]

    assert roles(Profile.CORRECTED, "Tools") == ["system", "user"]
    assert roles(Profile.PAPER, "Tools") == ["user"]
    assert roles(Profile.PAPER, "Games") == roles(Profile.CORRECTED, "Games") == ["system", "user"]


def test_services_are_ten_and_equally_likely_and_variants_come_three_two_one_one() -> None:
    assert len(domains()) == 10
    briefs = [draw_brief(keyed(7, Purpose.BRIEF, 0, slot, 0)) for slot in range(7000)]
    services, variants = Counter(b.domain for b in briefs), Counter(b.variant for b in briefs)
    assert min(services[name] for name in domains()) > 600
    shares = {name: variants[name] / 1000 for name in VARIANT_WEIGHTS}
    assert shares == pytest.approx({"execute": 3, "read then write": 2, "missing value": 1, "irrelevant": 1}, abs=0.15)


def test_d18_brief_and_ideas_of_a_try_follow_from_the_seed_and_differ_between_tries() -> None:
    def text(seed: int, place: tuple[int, int, int]) -> str:
        method = resolve(Profile.PAPER, {"seed": seed, "environments": {"domain": "Tools"}})
        return request_messages(method, place, "Data Retrieval", "A bell.")[-1]["content"]

    places = [(cycle, slot, attempt) for cycle in range(2) for slot in range(3) for attempt in range(2)]
    assert [text(1, place) for place in places] == [text(1, place) for place in places]
    assert len({text(1, place) for place in places}) > 6
    assert [text(1, place) for place in places] != [text(2, place) for place in places]


def test_variant_of_requests_that_cannot_be_served_names_the_tool_that_declines() -> None:
    variants = load_sections(PACKAGE, "tools_variants")
    assert set(variants) == set(VARIANT_WEIGHTS)
    assert "decline_request(reason)" in variants["irrelevant"]
    assert "guessed value is refused" in variants["missing value"]


@pytest.mark.parametrize(("difficulty", "words"), [("easy", "3 or 4 tools"), ("medium", "4 to 6"), ("hard", "5 to 8")])
def test_single_task_says_how_large_a_task_of_its_difficulty_is(difficulty: str, words: str) -> None:
    method = settings(Profile.PAPER, "Tools", difficulty=difficulty, **NO_CORPUS)
    assert words in request_messages(method, (0, 0, 0), "Tool Selection", None)[-1]["content"]


@pytest.mark.parametrize("skill", known_skills(Domain.TOOLS))
def test_all_four_sketches_of_a_tool_skill_are_shown(skill: str) -> None:
    lines = sketches(skill).splitlines()
    assert len(lines) == 4
    text = request_messages(settings(domain="Tools"), (0, 0, 0), skill, "A bell.")[-1]["content"]
    assert all(line in text for line in lines)


@pytest.mark.parametrize("skill", known_skills(Domain.GAMES))
def test_game_without_a_corpus_gets_three_of_the_skills_four_ideas(skill: str) -> None:
    drawn = {idea for slot in range(40) for idea in draw_ideas(skill, keyed(1, Purpose.BRIEF, 0, slot, 0))}
    assert len(drawn) == 4
    method = settings(Profile.PAPER, **NO_CORPUS)
    text = request_messages(method, (0, 0, 0), skill, None)[-1]["content"]
    assert sum(idea in text for idea in drawn) == 3
    assert "wins after 12 to 18 of them" in text


@pytest.mark.parametrize("domain", list(Domain))
def test_every_known_skill_has_words(domain: Domain) -> None:
    for name in known_skills(domain):
        assert skill_named(domain, name.replace(" ", "_")).name == name
    with pytest.raises(KeyError, match=known_skills(domain)[0]):
        skill_named(domain, "Juggling")


@pytest.mark.parametrize(
    ("domain", "template", "wanted"),
    [("Games", "Full", "hint_full"), ("Tools", "Full", "hint_tools_full"), ("Tools", "Compact", "hint_tools_compact")],
)
def test_hints_are_asked_for_in_the_words_of_the_domain(domain: str, template: str, wanted: str) -> None:
    name = hint_template_name(settings(domain=domain, designer={"prompt_template": template}))
    assert name == wanted
    assert hint_messages(name, "class AEnv: ...")[-1]["content"] == "class AEnv: ..."


def example() -> str:
    text = request_messages(settings(Profile.PAPER, **NO_CORPUS), (0, 0, 0), "Optimization", None)[-1]["content"]
    program = parse_answer(text, 100_000)
    assert isinstance(program, str), program
    return program


def test_worked_example_keeps_the_contract_that_it_illustrates() -> None:
    names: dict[str, Any] = {}
    exec(example(), names)
    for seed in range(20):
        game = names["TwoTownsEnv"](max_turns=25)
        game.reset(seed=seed)
        actions = game.solution().splitlines()
        steps = [game.step(action) for action in actions]
        assert 12 <= len(actions) <= 18
        assert steps[-1][1:4] == (1.0, True, False)
        assert {step[1:4] for step in steps[:-1]} == {(0.0, False, False)}
        game.reset(seed=seed)
        idle = [game.step("?") for _ in range(25)]
        assert idle[-1][1:4] == (0.0, True, False)
        assert "Actions: " in idle[0][0]


def test_quantities_of_the_example_are_compared_as_numbers() -> None:
    names: dict[str, Any] = {}
    exec(example(), names)
    same = names["same_number"]
    assert all(same(text, "1/2") for text in ("1/2", "0.5", "50%", " 0.50 "))
    assert not any(same(text, "1/2") for text in ("", "half", "1/0", "0.51", "%"))
