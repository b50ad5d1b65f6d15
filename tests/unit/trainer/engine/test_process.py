"""A child process is waited for with a deadline and ended together with what it started."""

import asyncio
import os
import sys

import pytest

from spade_trainer.engine import process
from spade_trainer.engine.refusals import UpstreamFault

SLEEPER = "import time; time.sleep(600)"
STUBBORN = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
line.sendall(b"!")
time.sleep(600)
"""
PARENT_OF_STUBBORN = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {STUBBORN!r}, sys.argv[1]])
"""


async def started(code: str, *arguments: str) -> asyncio.subprocess.Process:
    return await process.start((sys.executable, "-c", code, *arguments), os.environ)


async def always(healthy: bool) -> bool:
    return healthy


async def test_a_child_that_dies_while_starting_is_a_fault_with_its_exit_code() -> None:
    child = await started("raise SystemExit(7)")
    with pytest.raises(UpstreamFault, match="exit code 7"):
        await process.until_ready(child, lambda: always(False), seconds=60)


async def test_a_child_that_never_answers_is_a_fault_after_the_deadline() -> None:
    child = await started(SLEEPER)
    with pytest.raises(UpstreamFault, match=r"did not start within 0\.1 s"):
        await process.until_ready(child, lambda: always(False), seconds=0.1)
    await process.stop(child, grace_seconds=30)
    assert child.returncode is not None


async def test_the_end_of_a_child_is_seen() -> None:
    child = await started("raise SystemExit(3)")
    assert "exit code 3" in await process.until_dead(child, lambda: always(True), every_seconds=60, misses=2)


async def test_a_child_that_stops_answering_is_given_up() -> None:
    child = await started(SLEEPER)
    try:
        reason = await process.until_dead(child, lambda: always(False), every_seconds=0.01, misses=3)
        assert "missed 3 health checks" in reason
    finally:
        await process.stop(child, grace_seconds=30)


async def test_grandchildren_that_ignore_sigterm_end_with_the_child() -> None:
    calls: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
    server = await asyncio.start_server(lambda reader, writer: calls.put(reader), "127.0.0.1", 0)
    child = await started(PARENT_OF_STUBBORN, str(server.sockets[0].getsockname()[1]))
    async with asyncio.timeout(60):
        line = await calls.get()
        assert await line.readexactly(1) == b"!"
        await process.stop(child, grace_seconds=0.1)
        assert await line.read() == b""  # the kernel closed its connection: it is dead
    server.close()
