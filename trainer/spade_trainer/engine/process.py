"""vLLM as a child process: started in a process group of its own, waited for, and ended with everything it started."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from spade_trainer.engine.refusals import UpstreamFault
from spade_trainer.engine.vllm_server import PARENT

POLL_SECONDS = 0.25


async def start(arguments: Sequence[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start the command; its output goes where ours goes."""
    told = {**environment, PARENT: str(os.getpid())}
    return await asyncio.create_subprocess_exec(*arguments, env=told, start_new_session=True)


async def until_ready(
    process: asyncio.subprocess.Process, healthy: Callable[[], Awaitable[bool]], *, seconds: float
) -> None:
    """Wait for the server's first healthy answer. Raises UpstreamFault if it dies before, or needs longer."""
    try:
        async with asyncio.timeout(seconds):
            while not await healthy():
                if process.returncode is not None:
                    raise UpstreamFault(f"vLLM ended with exit code {process.returncode} while it was starting")
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError as error:
        raise UpstreamFault(f"vLLM did not start within {seconds:g} s") from error


async def until_dead(
    process: asyncio.subprocess.Process, healthy: Callable[[], Awaitable[bool]], *, every_seconds: float, misses: int
) -> str:
    """Wait until the process ends or misses this many health checks in a row; returns which, in words."""
    missed = 0
    while missed < misses:
        try:
            async with asyncio.timeout(every_seconds):
                code = await process.wait()
            return f"vLLM ended with exit code {code}"
        except TimeoutError:
            missed = 0 if await healthy() else missed + 1
    return f"vLLM missed {misses} health checks in a row"


async def stop(process: asyncio.subprocess.Process, *, grace_seconds: float) -> None:
    """End the process and its group: SIGTERM, then SIGKILL for whatever is left after the grace."""
    _signal_group(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(grace_seconds):
            await process.wait()
            while _group_lives(process.pid):  # noqa: ASYNC110 - no event tells when grandchildren have ended
                await asyncio.sleep(POLL_SECONDS)
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
