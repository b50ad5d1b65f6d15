"""Every sample goes through the model exactly once, within the budget, and ranks stay in step."""

from hypothesis import given
from hypothesis import strategies as st

from spade_trainer.learner.packing import Microbatch, pack

lengths = st.lists(st.integers(1, 400), max_size=60)
ranks = st.integers(1, 8)
multiples = st.sampled_from([1, 2, 4, 8])


@given(lengths, st.integers(1, 1000), ranks, multiples)
def test_every_sample_is_in_exactly_one_microbatch(sizes: list[int], budget: int, count: int, multiple: int) -> None:
    packed = [index for rank in pack(sizes, budget, count, multiple) for batch in rank for index in batch.samples]
    assert sorted(packed) == list(range(len(sizes)))


@given(lengths, st.integers(1, 1000), ranks, multiples)
def test_every_rank_makes_as_many_passes(sizes: list[int], budget: int, count: int, multiple: int) -> None:
    packed = pack(sizes, budget, count, multiple)
    assert len(packed) == count
    assert len({len(rank) for rank in packed}) == 1


@given(lengths, st.integers(1, 1000), ranks, multiples)
def test_only_a_sample_alone_may_pass_the_budget(sizes: list[int], budget: int, count: int, multiple: int) -> None:
    for batch in (batch for rank in pack(sizes, budget, count, multiple) for batch in rank):
        assert len(batch.samples) <= 1 or batch.padded_tokens <= budget
        assert batch.width % multiple == 0
        assert all(sizes[index] <= batch.width for index in batch.samples)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(1, 1000), ranks)
def test_there_are_no_idle_passes_while_samples_could_be_divided(sizes: list[int], budget: int, count: int) -> None:
    batches = [batch for rank in pack(sizes, budget, count) for batch in rank]
    if any(not batch.samples for batch in batches):
        assert all(len(batch.samples) <= 1 for batch in batches)
    assert sum(not batch.samples for batch in batches) < count


def test_ranks_of_one_round_get_microbatches_of_similar_size() -> None:
    packed = pack([100, 100, 10, 10, 50, 50], budget_tokens=100, ranks=2)
    rounds = list(zip(*packed, strict=True))
    assert [(a.padded_tokens, b.padded_tokens) for a, b in rounds] == [(100, 100), (100, 20)]


def test_a_missing_rank_is_made_up_by_halving_the_largest_microbatch() -> None:
    assert pack([5, 3, 5], 100, 2) == ((Microbatch((0, 2), 5),), (Microbatch((1,), 3),))


def test_with_fewer_samples_than_ranks_some_only_keep_in_step() -> None:
    assert pack([7], 100, 2, multiple=4) == ((Microbatch((0,), 8),), (Microbatch((), 4),))
