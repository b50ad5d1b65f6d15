"""What is remembered is what would be made anew, and no more of it than is allowed."""

from hypothesis import given
from hypothesis import strategies as st

from spade_operator.remembered import Remembered


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=20), st.integers(1, 3))
def test_what_is_made_is_that_of_what_is_given(steps: list[tuple[str, int]], most: int) -> None:
    remembered: Remembered[str, int, tuple[str, int]] = Remembered(most)
    for key, given_now in steps:
        assert remembered.made(key, given_now, lambda key=key, given=given_now: (key, given)) == (key, given_now)


def test_nothing_is_made_twice_in_a_row_and_the_longest_unused_is_forgotten() -> None:
    remembered: Remembered[str, int, None] = Remembered(2)
    made: list[str] = []
    for key in ("a", "a", "b", "a", "c", "a", "b"):
        remembered.made(key, 0, lambda key=key: made.append(key))
    assert made == ["a", "b", "c", "b"]


def test_what_is_forgotten_is_made_anew_and_leaves_room() -> None:
    remembered: Remembered[str, int, None] = Remembered(2)
    made: list[str] = []
    for key in ("a", "b"):
        remembered.made(key, 0, lambda key=key: made.append(key))
    remembered.forget("b")
    remembered.forget("never known")
    for key in ("c", "a", "b"):
        remembered.made(key, 0, lambda key=key: made.append(key))
    assert made == ["a", "b", "c", "b"]
