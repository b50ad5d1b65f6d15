"""A leak tells each seed its own secret; a list of options tells every seed all of them."""

import pytest

from spade_sandbox.verify.leaks import formula, holds_rare, is_shown
from spade_sandbox.verify.words import tokens

CODES = {1: "4821", 2: "7730", 3: "1956"}


def by_seed(texts: dict[int, str]) -> dict[int, tuple[str, ...]]:
    return {seed: tokens(text) for seed, text in texts.items()}


def test_own_value_in_every_text_is_shown() -> None:
    assert is_shown(by_seed(CODES), by_seed({seed: f"(debug: code={code})" for seed, code in CODES.items()}))


def test_values_of_several_parts_are_found_whatever_stands_between_them() -> None:
    values = {1: "3 1 2", 2: "2 3 1", 3: "1 2 3"}
    shown = {seed: f"keys [{value.replace(' ', ', ')}]" for seed, value in values.items()}
    assert is_shown(by_seed(values), by_seed(shown))


def test_list_of_options_is_no_leak() -> None:
    options = f"One of {', '.join(CODES.values())}."
    assert not is_shown(by_seed(CODES), by_seed(dict.fromkeys(CODES, options)))


def test_value_that_one_text_lacks_is_not_shown() -> None:
    texts = {**CODES, 3: "a lock"}
    assert not is_shown(by_seed(CODES), by_seed(texts))


def test_value_that_is_the_same_from_every_seed_is_no_secret() -> None:
    assert not is_shown(by_seed(dict.fromkeys(CODES, "left")), by_seed(dict.fromkeys(CODES, "go left")))


def test_one_character_is_too_little_to_tell() -> None:
    values = {1: "3", 2: "4"}
    assert not is_shown(by_seed(values), by_seed({1: "3 doors", 2: "4 doors"}))


def test_long_part_of_a_step_that_only_its_own_text_holds_is_a_leak() -> None:
    paths = {1: "nneswwnesn", 2: "swwneensws", 3: "eeswnnwsee"}
    solutions = by_seed({seed: f"look walk {path}" for seed, path in paths.items()})
    texts = {seed: f"The map shows {path} and a cave." for seed, path in paths.items()}
    assert holds_rare(solutions, by_seed(texts))
    assert not holds_rare(solutions, by_seed({**texts, 3: "A cave."}))
    assert not holds_rare(solutions, by_seed(dict.fromkeys(paths, " ".join(paths.values()))))


@pytest.mark.parametrize(
    "text",
    [
        "The rule is y = 2x + 3.",
        "speed = distance / time",
        "area = w*h",
        "f(n) = f(n-1) + n",
        r"Use \frac{a}{b}.",
        "total := price × amount",
    ],
)
def test_formulas_are_found(text: str) -> None:
    assert formula(text)


@pytest.mark.parametrize(
    "text",
    [
        "HP=10/20 MP=5/5",
        "door=left-most",
        "x=3, y=-4",
        "rate = km/h",
        "items: a=? b=?",
        "Send \\boxed{x y}.",
        "date = 2024-01-05",
        "go + take",
    ],
)
def test_states_and_units_are_no_formulas(text: str) -> None:
    assert not formula(text)
