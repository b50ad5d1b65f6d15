"""A batch has an order, a size and a rule for what is too much or too little (method.md §1.2)."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import Switches, resolve
from spade_contracts.config.method import Profile
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_trainer.rewards.composition import Composition, Place, compose, plays_wanted, repeated
from spade_trainer.rewards.window import window_of, with_repeats


def switches(**values: str) -> Switches:
    return resolve(Profile.PAPER, {"switches": values}).switches


def first(count: int, wanted: int) -> range:
    return range(wanted)


def made(designers: int, plays: int, *, full: int = 8, generated: int = 0, **values: str) -> Composition:
    return compose(designers, plays, full=full, generated=generated, switches=switches(**values), keep=first)


def test_v25_plays_are_repeated_in_turn() -> None:
    returns = [1, 0, 1]
    filled = repeated(3, 8)
    assert [returns[at] for at, _ in filled] == [1, 0, 1, 1, 0, 1, 1, 0]
    assert [again > 0 for _, again in filled] == [False] * 3 + [True] * 5
    assert repeated(0, 8) == ()
    assert repeated(4, 2) == ((0, 0), (1, 0), (2, 0), (3, 0))


def test_designer_samples_come_first() -> None:
    places = made(2, 3, short_batches="RealSamples").places
    assert places == (Place(True, 0), Place(True, 1), Place(False, 0), Place(False, 1), Place(False, 2))


@pytest.mark.switch("surplusSamples")
@pytest.mark.parametrize(
    ("rule", "kept", "trimmed"),
    [("Tail", [0, 1, 2, 3, 4, 5], [6, 7]), ("Random", [2, 3, 4, 5, 6, 7], [0, 1]), ("Kept", list(range(8)), [])],
)
def test_a_surplus_goes_from_the_tail_or_at_random_or_stays(rule: str, kept: list[int], trimmed: list[int]) -> None:
    batch = compose(
        2,
        8,
        full=8,
        generated=0,
        switches=switches(surplus_samples=rule),
        keep=lambda count, wanted: range(count - wanted, count),
    )
    assert [place.index for place in batch.places if place.designer] == [0, 1]
    assert [place.index for place in batch.places if not place.designer] == kept
    assert [place.index for place in batch.trimmed] == trimmed


@pytest.mark.switch("shortBatches")
def test_a_short_batch_is_filled_with_repeats_or_trained_as_it_is() -> None:
    filled, real = made(0, 3), made(0, 3, short_batches="RealSamples")
    assert (len(filled.real), filled.repeats, filled.padding) == (8, 5, 0)
    assert (len(real.real), real.repeats, real.padding) == (3, 0, 0)


def test_repeats_leave_room_for_as_many_designs_as_the_rollout_began_with() -> None:
    assert plays_wanted(192, 24, switches()) == 168
    batch = made(0, 3, generated=3)
    assert (batch.repeats, batch.padding) == (2, 3)
    assert [place.index for place in batch.places if place.padding] == [0, 1, 2]


def test_nothing_is_not_filled() -> None:
    assert made(0, 0).places == ()


def test_designs_alone_are_padded_because_there_is_no_play_to_repeat() -> None:
    batch = made(3, 0)
    assert (len(batch.real), batch.padding) == (3, 5)
    assert all(place.designer for place in batch.places)


COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 24), st.integers(1, 16), st.integers(0, 12))
RULES = st.fixed_dictionaries(
    {
        "surplus_samples": st.sampled_from(["Kept", "Random", "Tail"]),
        "short_batches": st.sampled_from(["RealSamples", "Filled"]),
    }
)


@given(COUNTS, RULES)
def test_every_design_and_play_is_in_the_batch_once_or_was_trimmed(
    counts: tuple[int, int, int, int], rules: dict[str, str]
) -> None:
    designers, plays, full, generated = counts
    batch = made(designers, plays, full=full, generated=generated, **rules)
    seen = Counter((place.designer, place.index) for place in (*batch.real, *batch.trimmed) if not place.repeat)
    expected = Counter([(True, at) for at in range(designers)] + [(False, at) for at in range(plays)])
    assert seen == expected
    if rules["surplus_samples"] != "Kept":
        assert len(batch.places) <= full
    if rules["surplus_samples"] != "Kept" and rules["short_batches"] == "Filled" and designers + plays:
        assert len(batch.places) == full


def rollout(*returns: tuple[float, ...]) -> RolloutManifest:
    return RolloutManifest(
        rollout=0,
        cycle=0,
        policy_version=0,
        planned=0,
        outcomes={},
        environments=tuple(
            EnvironmentReturns(id=f"c0000-s{at:03d}", unhinted=own, hinted=(), environment_faults=0, retired=False)
            for at, own in enumerate(returns)
        ),
        verifier_failures={},
        episodes=(),
    )


def test_a_repeated_play_counts_again_in_the_window_of_its_environment() -> None:
    counted = with_repeats(rollout((1.0, 0.0), (0.5,)), 5)
    windows = [window_of(f"c0000-s{at:03d}", [counted]).unhinted for at in (0, 1)]
    assert windows == [((1.0, 0.0, 1.0, 0.0),), ((0.5,),)]


def test_the_window_of_an_environment_made_in_mid_cycle_begins_with_its_first_rollout() -> None:
    first, second = rollout((1.0,)), rollout((0.0,), (0.5, 1.0))
    late = window_of("c0000-s001", [first, second])
    assert (late.unhinted, late.first_return, late.hinted) == (((0.5, 1.0),), 0.75, ())


def test_a_full_rollout_is_counted_as_it_is() -> None:
    assert with_repeats(rollout((1.0, 0.0), (0.5,)), 3) == rollout((1.0, 0.0), (0.5,))
