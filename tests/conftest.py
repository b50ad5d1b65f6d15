"""Settings of all tests: properties are judged by what they say, never by how long a busy machine takes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent
ONE_CLUSTER = ("e2e", "component/cluster")
"""Folders whose tests use the machine's one cluster, one after the other."""
ONE_ENGINE = "component/engine"
ORDER = (*ONE_CLUSTER, "component/learner", "component/workers", "component", "integration", "unit")
"""What takes longest comes first, so that processes side by side end together."""
FAILURE_CHARACTERS = 2_000

settings.register_profile("spade", deadline=None)
settings.load_profile("spade")


@pytest.fixture(autouse=True, scope="module")
def _torch_is_left_as_it_was() -> Iterator[None]:
    """A default dtype that a module leaves behind breaks tests far away from it; fail where it happened."""
    yield
    if (torch := sys.modules.get("torch")) is not None:
        assert torch.get_default_dtype() is torch.float32, "a test left torch with another default dtype"


class GroupScheduling(LoadScopeScheduling):
    """`make test` runs files side by side (pytest-xdist): tests of a group stay in one process, in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(Path(nodeid.partition("::")[0]))


class FailuresAtOnce:
    """Tells a failure when it happens, so that a run that is ended before its summary has told it too."""

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Its name and the end of what it said, below the line of dots."""
        terminal = self._plugins.getplugin("terminalreporter")
        if report.failed and terminal is not None:
            said = report.longreprtext[-FAILURE_CHARACTERS:]
            terminal.write(f"\n{report.nodeid} failed ({report.when}):\n{said}\n", flush=True)


def pytest_configure(config: pytest.Config) -> None:
    """Where a summary will be written: not in one process of several."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config), "failures-at-once")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> GroupScheduling:
    """The scheduler of `make test`, whatever `--dist` says."""
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is long begins first."""
    items.sort(key=lambda item: next(place for place, name in enumerate(ORDER) if _within(folder_of(item.path), name)))


def group_of(file: Path) -> str:
    """What a test file may not run beside: the others of its group."""
    folder = folder_of(ROOT.parent / file)
    if any(_within(folder, name) for name in ONE_CLUSTER):
        return "cluster"
    return folder if folder == ONE_ENGINE else file.as_posix()


def folder_of(file: Path) -> str:
    """As in ORDER."""
    return file.relative_to(ROOT).parent.as_posix()


def _within(folder: str, name: str) -> bool:
    return f"{folder}/".startswith(f"{name}/")
