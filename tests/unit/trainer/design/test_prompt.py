"""A designer prompt shows the document, the skill and the memory it was given, and the full one makes every demand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.demands import demands_of

from spade_trainer.design.prompt import PACKAGE, MemoryExample, designer_messages, load_design_template
from spade_trainer.design.sections import load_sections

TEMPLATES = ("games_full", "games_compact")
GOOD = MemoryExample("GoodEnv", "Optimization", "class GoodEnv:\n" + "    x = 1\n" * 500, 0.5, 0.25)
EASY = MemoryExample("EasyEnv", "Optimization", "class EasyEnv: ...", 0.97, 0.0)
HARD = MemoryExample("HardEnv", "Optimization", "class HardEnv: ...", 0.03, 0.0)


def ask(template, document="A bell.", difficulty="medium", positives=(), negative=None):
    messages = designer_messages(
        load_design_template(template), "Optimization", "best of few", difficulty, document, positives, negative
    )
    return messages, messages[-1]["content"]


@pytest.mark.parametrize(("demand", "phrase"), demands_of(PACKAGE, "games_full"))
def test_full_prompt_makes_every_demand_of_the_method(demand, phrase):
    assert phrase in load_design_template("games_full").user, demand


def test_full_prompt_keeps_the_order_of_the_method():
    text = ask("games_full")[1]
    contract = load_sections(PACKAGE, "games_full")["contract"]
    rules, footer = contract.split("Skill to train:")
    rules = rules.strip()
    assert "\n" in rules
    parts = (
        "<document>\nA bell.\n</document>",
        rules,
        "Skill to train: Optimization (best of few)",
        "Difficulty: medium",
        "at least 3 steps",
        "one ```python block",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.startswith(parts[0])
    assert text.rstrip().endswith(footer.strip().splitlines()[-1])


@given(st.text().map(str.strip).filter(bool))
def test_document_enters_word_for_word_and_is_never_read_as_a_template(document):
    for template in TEMPLATES:
        assert f"<document>\n{document}\n</document>" in ask(template, document)[1]


@pytest.mark.parametrize("template", TEMPLATES)
def test_skill_and_difficulty_are_named(template):
    text = ask(template, difficulty="hard")[1]
    assert "Optimization" in text
    assert "hard" in text


def test_easy_games_may_need_one_step_less():
    assert "at least 2 steps" in ask("games_full", difficulty="easy")[1]
    assert "at least 3 steps" in ask("games_full", difficulty="hard")[1]


def test_only_the_full_prompt_has_a_system_message():
    assert [m["role"] for m in ask("games_full")[0]] == ["system", "user"]
    assert [m["role"] for m in ask("games_compact")[0]] == ["user"]


@pytest.mark.parametrize(("template", "shown"), [("games_full", 2000), ("games_compact", 200)])
def test_examples_are_numbered_rated_and_cut(template, shown):
    text = ask(template, positives=[GOOD, GOOD])[1]
    assert "1" in text
    assert text.count(GOOD.code[:shown].rstrip()) == 2
    assert GOOD.code[: shown + 20].rstrip() not in text
    assert "0.50" in text
    assert "0.25" in text


@pytest.mark.parametrize("template", TEMPLATES)
def test_bad_example_is_named_with_its_fault(template):
    assert "EasyEnv" in ask(template, negative=EASY)[1]
    assert "too easy" in ask(template, negative=EASY)[1]
    assert "too hard" in ask(template, negative=HARD)[1]


@pytest.mark.parametrize("template", TEMPLATES)
def test_memory_follows_the_request_and_leaves_it_unchanged(template):
    plain = ask(template)[1]
    assert ask(template, positives=[GOOD], negative=EASY)[1].startswith(plain + "\n")


def test_unknown_template_is_refused():
    with pytest.raises(FileNotFoundError):
        load_design_template("games_none")
