"""A draw depends on the run's seed, its purpose and its place, and on nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from spade_trainer.randomness import Purpose, generator, seed_for

PLACES = st.tuples(
    st.integers(0, 2**31 - 1), st.sampled_from(Purpose), st.lists(st.integers(0, 10**6), max_size=5).map(tuple)
)


@given(PLACES)
def test_the_same_place_draws_the_same(place: tuple[int, Purpose, tuple[int, ...]]) -> None:
    seed, purpose, keys = place
    assert seed_for(seed, purpose, *keys) == seed_for(seed, purpose, *keys)
    assert (
        generator(seed, purpose, *keys).integers(0, 2**62, 8) == generator(seed, purpose, *keys).integers(0, 2**62, 8)
    ).all()


@given(PLACES, PLACES)
def test_other_places_draw_other_numbers(
    one: tuple[int, Purpose, tuple[int, ...]], other: tuple[int, Purpose, tuple[int, ...]]
) -> None:
    if one == other:
        return
    a, b = (generator(seed, purpose, *keys).integers(0, 2**62) for seed, purpose, keys in (one, other))
    assert a != b


@given(PLACES)
def test_seeds_suit_every_generator(place: tuple[int, Purpose, tuple[int, ...]]) -> None:
    seed, purpose, keys = place
    assert 0 <= seed_for(seed, purpose, *keys) < 2**31


def test_draws_stay_the_same_over_versions_and_processes() -> None:
    assert seed_for(42, Purpose.EPISODE, 1, 2, 3, 4) == 849464905
    assert generator(42, Purpose.MEMORY, 1, 2, 3).integers(0, 1000, 4).tolist() == [2, 432, 708, 792]
