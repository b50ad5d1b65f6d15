"""A pod of this machine serves, shows its isolation, is started anew when it breaks, and leaves nothing behind."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from tests.component.local.conftest import BACKENDS, POD_MARK, PROGRAMS, running, started_by
from tests.support.sandbox_pods import descendants, eventually

from spade_contracts.config import SandboxLimits
from spade_sandbox.client import SandboxLost
from spade_sandbox.local import Backend, NoBackend, local_pod, local_pool, runsc

SOURCE = (PROGRAMS / "good" / "number_search.py").read_text()
LIMITS = SandboxLimits(load_seconds=60, step_seconds=60)
HOLDER = """
import asyncio, sys
from spade_sandbox.local import Backend, local_pod

async def hold():
    async with local_pod(Backend(sys.argv[1]), capacity=2):
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


def quiet(text: str) -> None:
    """What a user would read on stderr."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where pods make their folders."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    folder.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def within(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def open_files(folder: Path) -> list[Path]:
    """Files that other users may read."""
    closed = [path for path in folder.rglob("*") if path.is_dir() and not path.stat().st_mode & 0o001]
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o004]
    return [path for path in files if not any(parent in closed for parent in path.parents)]


async def first_words(pool) -> str:
    async with pool.session(SOURCE, LIMITS, max_turns=5) as session:
        return await session.reset(1)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_pod_plays_programs_and_leaves_nothing(backend: Backend, scratch: Path) -> None:
    warnings: list[str] = []
    others = descendants(os.getpid())
    async with local_pool(backend, capacity=2, warn=warnings.append) as (pool, pod):
        assert "hidden" in await first_words(pool)
        assert pod.report is not None
        assert all(pod.report.walls.values())
        if backend is Backend.CELLS:
            assert len(warnings) == 1
            assert "WITHOUT gVisor" in warnings[0]
        else:
            assert (pod.report.gvisor, pod.report.devices, warnings) == (True, ("lo",), [])
        processes = descendants(os.getpid()) - others
        assert processes
        assert within(scratch)
    assert running(processes) == set()
    assert within(scratch) == []


@pytest.mark.parametrize("backend", BACKENDS)
async def test_pod_that_breaks_is_started_anew_for_the_same_client(backend: Backend) -> None:
    async with local_pool(backend, capacity=2, warn=quiet) as (pool, pod):
        async with pool.session(SOURCE, LIMITS, max_turns=5) as session:
            await session.reset(1)
            for number in started_by(os.getpid(), POD_MARK[backend]) - started_by(os.getpid(), "keeper.py"):
                os.kill(number, signal.SIGKILL)
            with pytest.raises(SandboxLost):
                await session.step("\\boxed{1}")
        assert "hidden" in await first_words(pool)
        assert pod.restarts == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
async def test_pod_ends_with_the_process_that_wanted_it(
    backend: Backend, number: signal.Signals, scratch: Path
) -> None:
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, backend, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert holder.stdout is not None
    async with asyncio.timeout(120):
        assert await holder.stdout.readline() == b"ready\n"
    processes = descendants(holder.pid)
    assert started_by(holder.pid, POD_MARK[backend])
    holder.send_signal(number)
    async with asyncio.timeout(60):
        assert await holder.wait() != 0
    await asyncio.to_thread(eventually, "the pod is gone", lambda: not running(processes))
    await asyncio.to_thread(eventually, "its folder is gone", lambda: not within(scratch))


async def test_killed_keeper_takes_its_pod_with_it() -> None:
    before = descendants(os.getpid())
    async with local_pool(Backend.CELLS, capacity=2, warn=quiet) as (pool, pod):
        keepers = started_by(os.getpid(), "keeper.py")
        assert len(keepers) == 1
        of_the_pod = descendants(os.getpid()) - keepers - before
        assert of_the_pod
        for number in keepers:
            os.kill(number, signal.SIGKILL)
        await asyncio.to_thread(eventually, "the pod is gone", lambda: not running(of_the_pod))
        assert "hidden" in await first_words(pool)
        assert pod.restarts == 1


async def test_strangers_without_the_token_get_no_session() -> None:
    async with local_pod(Backend.CELLS, capacity=2, warn=quiet) as pod:
        from spade_sandbox.client.errors import Refused
        from spade_sandbox.client.link import connect_pod

        host, _, port = pod.target.rpartition(":")
        with pytest.raises(Refused, match="token"):
            await connect_pod(host, int(port), "a guess")


@pytest.mark.parametrize("backend", BACKENDS)
async def test_token_is_in_no_process_list_and_in_no_file_that_others_may_read(backend: Backend, scratch: Path) -> None:
    async with local_pod(backend, capacity=2, warn=quiet) as pod:
        for number in descendants(os.getpid()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one that ends meanwhile shows nothing
                assert pod.token.encode() not in (Path("/proc") / str(number) / "cmdline").read_bytes()
        assert not [path for path in open_files(scratch) if pod.token.encode() in path.read_bytes()]


async def test_program_in_gvisor_sees_none_of_our_files() -> None:
    async with local_pod(Backend.RUNSC, capacity=1) as pod:
        assert pod.report is not None
        assert pod.report.gvisor
        mounted = [str(path) for path in runsc.needed()]
    assert not any(path in ("/", "/etc", "/root", "/home", "/var", "/tmp") for path in mounted)


async def test_runsc_that_does_not_start_is_told_of_with_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "runsc"
    broken.write_text("#!/bin/sh\necho 'no such platform' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("SPADE_RUNSC", str(broken))
    with pytest.raises(NoBackend, match="no such platform"):
        async with local_pod(Backend.RUNSC, capacity=1):
            raise AssertionError("unreachable")
