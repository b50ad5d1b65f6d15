"""Skills and examples are drawn as the reference draws them, from generators that are handed in."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import design, method, write_cycle, write_rollout

from spade_contracts.config import MemoryConfig
from spade_contracts.config.method import Profile
from spade_trainer.design.draws import Choose, keyed
from spade_trainer.design.memory import Entry, draw_examples, entries_of, memory_of, shown
from spade_trainer.design.rotation import active_skills, skill_of
from spade_trainer.randomness import Purpose
from spade_trainer.store.objects import open_store

SIX = ("s1", "s2", "s3", "s4", "s5", "s6")


def python_random(rng: random.Random) -> Choose:
    """Choices as the reference makes them."""
    return lambda n, k: rng.sample(range(n), k)


@pytest.mark.parametrize(
    ("skills", "rollout", "count", "expected"),
    [
        (SIX, 0, 3, SIX[:3]),
        (SIX, 3, 3, SIX[:3]),
        (SIX, 4, 3, SIX[3:]),
        (SIX, 8, 3, SIX[:3]),
        (("a", "b", "c", "d", "e"), 8, 2, ("e", "a")),
        (("a", "b"), 4, 5, ("a", "b")),
    ],
)
def test_v16_skills_rotate_with_the_cycles(
    skills: tuple[str, ...], rollout: int, count: int, expected: tuple[str, ...]
) -> None:
    assert active_skills(skills, rollout // 4, count) == expected


def test_slots_take_the_active_skills_in_turn() -> None:
    assert [skill_of(SIX, 1, 3, slot) for slot in range(4)] == ["s4", "s5", "s6", "s4"]


@given(st.integers(1, 6), st.integers(1, 60))
def test_rotation_treats_all_skills_alike(count: int, cycles: int) -> None:
    seen = [skill for cycle in range(6 * cycles) for skill in active_skills(SIX, cycle, count)]
    assert len({seen.count(skill) for skill in SIX}) == 1


def entry(number: int, win_rate: float, regret: float, skill: str = "A") -> Entry:
    return Entry(cycle=0, file=f"game-{number}", skill=skill, win_rate=win_rate, regret=regret)


SETTINGS = MemoryConfig(size=5, positives=2, negatives=1, snippet_characters=10)
V17 = ((0, 0.1), (0.15, 0.2), (0.5, -0.3), (0.85, 0.9), (0.86, 0.95), (0.95, 0.4), (0.3, 0.5))


def test_v17_examples_are_drawn_from_the_best_positives_and_the_extremes() -> None:
    memory = [entry(number, *values) for number, values in enumerate(V17)][-SETTINGS.size :]
    examples = draw_examples(memory, "A", SETTINGS, python_random(random.Random(0)))
    assert [e.file for e in examples.positives] == ["game-6", "game-2"]
    assert [e.file for e in examples.negatives] == ["game-5"]


def test_v17_only_the_ten_highest_regrets_are_ever_drawn() -> None:
    memory = [entry(number, 0.5, number / 100) for number in range(30)]
    drawn = {
        e.file
        for seed in range(200)
        for e in draw_examples(memory, "A", SETTINGS, python_random(random.Random(seed))).positives
    }
    assert drawn == {f"game-{number}" for number in range(20, 30)}


def test_examples_are_of_the_wanted_skill_and_may_be_missing() -> None:
    memory = [entry(0, 0.5, 0.1, "B"), entry(1, 0.0, 0.1, "B")]
    examples = draw_examples(memory, "A", SETTINGS, python_random(random.Random(0)))
    assert (examples.positives, examples.negatives) == ((), ())


def test_memory_is_what_the_first_rollouts_of_earlier_cycles_said(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    for cycle in (0, 1):
        write_cycle(store, cycle, [design(cycle, slot, "A", f"class Game{cycle}{slot}Env:\n") for slot in range(2)])
        names = [f"c{cycle:04d}-s{slot:03d}" for slot in range(2)]
        unhinted = {names[0]: (0.5, -0.5, 0.0, 0.2), names[1]: (1.0, 1.0, 1.0, 1.0)}
        write_rollout(store, 2 * cycle, cycle, unhinted, {names[0]: (1.0, 0.5)})
        write_rollout(store, 2 * cycle + 1, cycle, dict.fromkeys(names, (0.0,)))
    memory = memory_of(store, method(), 2)
    assert [(e.cycle, e.win_rate, e.regret) for e in memory] == [
        (0, 0.5, pytest.approx(0.75)),
        (0, 1.0, 0.0),
        (1, 0.5, pytest.approx(0.75)),
        (1, 1.0, 0.0),
    ]
    assert memory_of(store, method(), 0) == ()
    small = method(environments={"memory": {"size": 3}})
    assert memory_of(store, small, 2) == memory[1:]
    shortest = SETTINGS.model_copy(update={"snippet_characters": 10})
    example = shown(store, memory[3], shortest)
    assert (example.name, example.code, example.win_rate) == ("Game11Env", "class Game", 1.0)


@pytest.mark.switch("regretEstimator")
@pytest.mark.parametrize(("profile", "first"), [(Profile.CORRECTED, "B"), (Profile.PAPER, "A")])
def test_positives_are_ranked_by_the_regret_that_is_paid(profile: Profile, first: str, tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    settings = method(profile)
    write_cycle(store, 0, [design(0, slot, "A", f"class {name}Env:\n") for slot, name in enumerate("ABC")])
    a, b, c = (f"c0000-s{slot:03d}" for slot in range(3))
    unhinted = {a: (1.0, 0.0, 0.0, 0.0), b: (0.0, 0.5, 1.0, 1.0), c: (1.0, 0.0)}
    write_rollout(store, 0, 0, unhinted, {a: (1.0,), b: (1.0, 1.0)})
    memory = memory_of(store, settings, 1)
    assert [one.regret for one in memory] == pytest.approx(
        [0.0, 0.75, 0.0] if profile is Profile.CORRECTED else [0.75, 0.375, 0.0]
    )
    best = max(memory, key=lambda one: one.regret)
    assert shown(store, best, SETTINGS).name == f"{first}Env"


def test_retired_environments_are_no_examples(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    batch = write_cycle(store, 0, [design(0, slot, "A") for slot in range(2)])
    rollout = write_rollout(store, 0, 0, {"c0000-s000": (1.0, 0.0), "c0000-s001": ()})
    assert len(entries_of(batch, rollout, method().switches)) == 1
    retired = rollout.model_copy(
        update={"environments": tuple(e.model_copy(update={"retired": True}) for e in rollout.environments)}
    )
    assert entries_of(batch, retired, method().switches) == []


def test_v17_snippets_are_the_beginning_of_a_program(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [design(0, 0, "A", "0123456789abc")])
    write_rollout(store, 0, 0, {"c0000-s000": (1.0,)})
    (entry,) = memory_of(store, method(), 1)
    assert shown(store, entry, SETTINGS).code == "0123456789"


def test_v17_edges_of_the_middling_band_count_and_those_of_the_extremes_do_not() -> None:
    rates = (0.0, 0.09, 0.1, 0.14, 0.15, 0.85, 0.86, 0.9, 0.91, 1.0)
    memory = [entry(number, rate, 0.0) for number, rate in enumerate(rates)]
    wide = SETTINGS.model_copy(update={"positives": 10, "negatives": 10})
    examples = draw_examples(memory, "A", wide, python_random(random.Random(0)))
    assert {e.win_rate for e in examples.positives} == {0.15, 0.85}
    assert {e.win_rate for e in examples.negatives} == {0.0, 0.09, 0.91, 1.0}


def test_without_hinted_plays_positives_are_the_oldest_middling_ones() -> None:
    """All regrets are 0 then, so the order of age decides (method.md §10, learning potential)."""
    memory = [entry(number, 0.5, 0.0) for number in range(30)]
    drawn = {
        e.file
        for seed in range(200)
        for e in draw_examples(memory, "A", SETTINGS, python_random(random.Random(seed))).positives
    }
    assert drawn == {f"game-{number}" for number in range(10)}


@given(st.integers(0, 99), st.integers(1, 50), st.data())
def test_keyed_choices_are_distinct_and_repeatable(seed: int, n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    chosen = keyed(seed, Purpose.MEMORY, 1, 2, 3)(n, k)
    assert len(set(chosen)) == k
    assert set(chosen) <= set(range(n))
    assert chosen == keyed(seed, Purpose.MEMORY, 1, 2, 3)(n, k)
