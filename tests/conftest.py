"""Settings of all tests: properties are judged by what they say, never by how long a busy machine takes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent
ONE_CLUSTER = ("e2e", "component/cluster")
"""Folders whose tests use the machine's one cluster, one after the other."""
ONE_ENGINE = "component/engine"
ORDER = (*ONE_CLUSTER, "component/learner", "component/workers", "component", "integration", "unit")
"""What takes longest comes first, so that processes side by side end together."""

settings.register_profile("spade", deadline=None)
settings.load_profile("spade")


@pytest.fixture(autouse=True, scope="module")
def _torch_is_left_as_it_was() -> Iterator[None]:
    """A default dtype that a module leaves behind breaks tests far away from it; fail where it happened."""
    yield
    if (torch := sys.modules.get("torch")) is not None:
        assert torch.get_default_dtype() is torch.float32, "a test left torch with another default dtype"


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` runs files side by side (pytest-xdist): tests of a group stay in one process, in their order."""
    folders = {item: item.path.relative_to(ROOT).parent.as_posix() for item in items}
    items.sort(key=lambda item: next(place for place, name in enumerate(ORDER) if _within(folders[item], name)))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item, folders[item])))


def _group(item: pytest.Item, folder: str) -> str:
    if any(_within(folder, name) for name in ONE_CLUSTER):
        return "cluster"
    return folder if folder == ONE_ENGINE else item.path.relative_to(ROOT).as_posix()


def _within(folder: str, name: str) -> bool:
    return f"{folder}/".startswith(f"{name}/")
