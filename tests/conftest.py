"""Settings of all tests: properties are judged by what they say, never by how long a busy machine takes."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("spade", deadline=None)
settings.load_profile("spade")


@pytest.fixture(autouse=True, scope="module")
def _torch_is_left_as_it_was() -> Iterator[None]:
    """A default dtype that a module leaves behind breaks tests far away from it; fail where it happened."""
    yield
    if (torch := sys.modules.get("torch")) is not None:
        assert torch.get_default_dtype() is torch.float32, "a test left torch with another default dtype"
