"""A frame that comes whole is taken as the frame that it is, and nothing else is taken for one."""

from hypothesis import given
from hypothesis import strategies as st

from spade_sandbox.pod.frames import FrameTooLong, framed, take_frame, whole_frame

LIMIT_BYTES = 50


@given(st.binary(max_size=80) | st.binary(max_size=60).map(framed))
def test_whole_frame_is_what_the_first_frame_would_be_with_nothing_behind_it(part: bytes) -> None:
    held = bytearray(part)
    try:
        first = take_frame(held, LIMIT_BYTES)
    except FrameTooLong:
        first = None
    assert whole_frame(part, LIMIT_BYTES) == (first if not held else None)


@given(st.binary(max_size=LIMIT_BYTES))
def test_frame_within_the_limit_comes_whole(payload: bytes) -> None:
    assert whole_frame(framed(payload), LIMIT_BYTES) == payload
