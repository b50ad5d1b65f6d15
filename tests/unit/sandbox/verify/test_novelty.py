"""Copies are found however they are dressed up; what is new is not; and the diversity of a batch is one number."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.sandbox.verify.judged import judged

from spade_contracts.config import VerificationSettings
from spade_contracts.config.verification import KnownPrograms, NoveltySettings
from spade_contracts.verdicts import Reason, Stage
from spade_sandbox.verify.novelty import HASHES, Library, check_novelty, diversity, fingerprint, vendi

PROGRAMS = Path(__file__).parents[3] / "data" / "programs"
GOOD = {path.stem: path.read_text() for path in sorted((PROGRAMS / "good").glob("*.py"))}
SEARCH, WALK = GOOD["number_search"], GOOD["vault_walk"]
NEAR = 0.9

names = st.from_regex(r"[a-z]{3,8}_[a-z]{3,8}", fullmatch=True)
tokens = st.lists(st.sampled_from("abcdef()+123"), min_size=8, max_size=60)


def retold(source: str, name: str) -> str:
    """The same game with other names, other words, comments and layout."""
    told = source.replace("target", name).replace("higher", "warmer").replace("Found.", "There it is.")
    return f'"""Another docstring."""\n# a comment\n{told}'.replace(
        "        self.turns += 1\n", "\n        self.turns += 1  # count\n"
    )


@settings(max_examples=10)
@given(names)
def test_other_names_words_comments_and_layout_make_no_new_program(name: str) -> None:
    assert fingerprint(retold(SEARCH, name)).digest == fingerprint(SEARCH).digest
    assert fingerprint(retold(SEARCH, name)).similarity(fingerprint(SEARCH)) >= 0.99


@pytest.mark.parametrize(
    ("old", "new"),
    [("randint(1, 60)", "randint(1, 61)"), ("self.turns >=", "self.turns >"), ("0.1, False", "0.2, False")],
)
def test_another_constant_or_comparison_is_no_exact_copy_but_a_near_one(old: str, new: str) -> None:
    changed = SEARCH.replace(old, new)
    assert fingerprint(changed).digest != fingerprint(SEARCH).digest
    assert NEAR <= fingerprint(changed).similarity(fingerprint(SEARCH)) < 1.0


def test_two_names_that_trade_places_are_another_program() -> None:
    assert fingerprint("a = 1\nb = 2\nc = a").digest != fingerprint("a = 1\nb = 2\nc = b").digest
    assert fingerprint("max(1, 2)").digest != fingerprint("min(1, 2)").digest


def test_different_games_are_far_apart() -> None:
    prints = [fingerprint(source) for source in GOOD.values()]
    assert all(one.similarity(other) < 0.5 for one in prints for other in prints if one is not other)


@settings(max_examples=50)
@given(tokens, tokens)
def test_similarity_is_symmetric_one_for_itself_and_well_estimated(one: list[str], other: list[str]) -> None:
    first, second = fingerprint(" ".join(one)), fingerprint(" ".join(other))
    exact = first.similarity(second)
    assert exact == second.similarity(first)
    assert first.similarity(first) == 1.0
    estimate = float((first.signature == second.signature).mean())
    assert abs(estimate - exact) < 5 * math.sqrt(0.25 / HASHES) + 1e-9


@settings(max_examples=50)
@given(st.text())
def test_any_text_has_a_fingerprint(text: str) -> None:
    assert len(fingerprint(text).digest) == 64


def test_library_finds_the_earliest_exact_copy_and_otherwise_the_nearest() -> None:
    library = Library()
    for name, source in (("walk", WALK), ("search", SEARCH), ("again", SEARCH)):
        library.add(name, source)
    exact = library.nearest(retold(SEARCH, "secret_number"), near=NEAR)
    assert exact is not None
    assert (exact.name, exact.exact) == ("search", True)
    near = library.nearest(SEARCH.replace("60", "70"), near=NEAR)
    assert near is not None
    assert (near.name, near.exact) == ("search", False)
    assert library.nearest(GOOD["matrix_probe"], near=NEAR) is None


def test_what_stands_before_a_program_does_not_change_with_what_comes_after() -> None:
    library = Library()
    library.add("walk", WALK)
    library.add("search", SEARCH)
    before = library.before("search")
    assert before.nearest(SEARCH, near=NEAR) is None
    library.add("copy", SEARCH)
    assert before.nearest(SEARCH, near=NEAR) is None
    match = library.before("copy").nearest(SEARCH, near=NEAR)
    assert match is not None
    assert match.name == "search"


def test_many_programs_are_kept_and_found() -> None:
    library = Library()
    sources = [SEARCH.replace("60", str(number)) + f"\nX = {list(range(number))}\n" for number in range(100, 120)]
    for number, source in enumerate(sources):
        library.add(str(number), source)
    assert len(library) == len(sources)
    assert all(library.nearest(source, near=1.0).name == str(number) for number, source in enumerate(sources))  # type: ignore[union-attr]


async def test_copies_are_rejected_with_the_name_of_the_original() -> None:
    library = Library()
    library.add("search", SEARCH)
    for source, reason in (
        (retold(SEARCH, "secret"), Reason.DUPLICATE),
        (SEARCH.replace("60", "70"), Reason.NEAR_DUPLICATE),
    ):
        verdict = await check_novelty(judged(source), library)
        assert verdict is not None
        assert (verdict.stage, verdict.reason) == (Stage.NOVELTY, reason)
        assert "search" in verdict.message


async def test_near_copies_are_only_reported_if_the_settings_say_so() -> None:
    library = Library()
    library.add("search", SEARCH)
    lenient = VerificationSettings(novelty=NoveltySettings(reject=KnownPrograms.EXACT))
    program = judged(SEARCH.replace("60", "70"), settings=lenient)
    assert await check_novelty(program, library) is None
    assert program.facts["nearest"] == "search"
    assert float(program.facts["nearest_similarity"]) >= NEAR


async def test_new_programs_pass_and_a_missing_library_is_said() -> None:
    library = Library()
    library.add("search", SEARCH)
    program = judged(WALK)
    assert await check_novelty(program, library) is None
    assert program.facts["nearest_similarity"] == 0.0
    assert await check_novelty(program, None) is None
    assert program.facts["novelty"] == "nothing to compare with"


@pytest.mark.parametrize(
    ("kernel", "score"),
    [
        (np.eye(4), 4.0),
        (np.ones((4, 4)), 1.0),
        (np.kron(np.eye(2), np.ones((3, 3))), 2.0),
        (np.array([[1.0, 0.5], [0.5, 1.0]]), math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))),
    ],
    ids=["all different", "all alike", "two kinds", "half alike"],
)
def test_vendi_score_is_the_number_of_kinds(kernel: np.ndarray, score: float) -> None:
    assert vendi(kernel) == pytest.approx(score)


def test_diversity_is_one_for_strangers_and_falls_with_every_copy() -> None:
    assert diversity([]) is None
    assert diversity([SEARCH]) == pytest.approx(1.0)
    assert diversity([SEARCH] * 5) == pytest.approx(0.2)
    few, more = diversity(list(GOOD.values())), diversity([*GOOD.values(), SEARCH, SEARCH])
    assert few is not None
    assert more is not None
    assert 1 / len(GOOD) < more < few <= 1.0


@settings(max_examples=10)
@given(st.permutations(list(GOOD.values())))
def test_diversity_does_not_depend_on_the_order(sources: list[str]) -> None:
    assert diversity(sources) == pytest.approx(diversity(list(GOOD.values())) or 0.0)
