"""Counts of a termination message stay small, and their sum stays."""

from hypothesis import given
from hypothesis import strategies as st

from spade_trainer.workers.counts import OTHER, bounded


@given(
    st.dictionaries(st.text(min_size=1).filter(lambda name: name != OTHER), st.integers(1, 1000)), st.integers(1, 50)
)
def test_nothing_is_lost_and_the_largest_stay(counts: dict[str, int], most: int) -> None:
    kept = bounded(counts, most)
    assert len(kept) <= most
    assert sum(kept.values()) == sum(counts.values())
    named = {name: number for name, number in kept.items() if name != OTHER}
    assert named.items() <= counts.items()
    gone = [number for name, number in counts.items() if name not in named]
    assert not gone or not named or max(gone) <= min(named.values())
