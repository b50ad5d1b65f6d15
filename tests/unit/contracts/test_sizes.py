"""A size is one that a disk may have, whatever way it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from spade_contracts.resources.scalars import SIZE_OUT_OF_BOUNDS, Size

SIZE: TypeAdapter[str] = TypeAdapter(Size)
BYTES = {"": 1, "k": 10**3, "Ki": 2**10, "M": 10**6, "Mi": 2**20, "G": 10**9, "Gi": 2**30, "T": 10**12, "Ti": 2**40}


@given(st.integers(0, 10**17), st.sampled_from(sorted(BYTES)))
def test_size_is_taken_exactly_between_its_bounds(number: int, unit: str) -> None:
    size = f"{number}{unit}"
    if 2**20 <= number * BYTES[unit] <= 2**50:
        assert SIZE.validate_python(size) == size
    else:
        with pytest.raises(ValidationError, match=SIZE_OUT_OF_BOUNDS):
            SIZE.validate_python(size)


@pytest.mark.parametrize("size", [2**20, "1048576", "1048576000m", "0.5Gi", "1024Ti"])
def test_size_may_be_written_in_any_way(size: object) -> None:
    assert SIZE.validate_python(size) == str(size)


@pytest.mark.parametrize("size", [0, "0", "0.0Gi", "1048575", "1048575999m", "1024.1Ti", "9" * 30, "9" * 29 + "Ti"])
def test_size_that_no_disk_has_is_refused_with_words(size: object) -> None:
    with pytest.raises(ValidationError, match="write one such as 10Gi"):
        SIZE.validate_python(size)
