"""Operator processes that are forked with everything imported: a start costs little. Each can be killed by its id."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["spade_operator.main"])
RESTART_SECONDS = 0.3
STOP_SECONDS = 15.0


def operate(environment: Mapping[str, str], log: Path) -> None:
    """What the child runs: the operator, as if it had been started by its command."""
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.environ.clear()
    os.environ.update(environment)
    from spade_operator.main import main

    main()
    sys.stderr.flush()


async def ended(process: ForkServerProcess) -> None:
    """Wait until a process has ended."""
    end, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(process.sentinel, end.set)
    try:
        await end.wait()
    finally:
        loop.remove_reader(process.sentinel)
    process.join()


class Operators:
    """One operator at a time, started again whenever it ends. `environment` gives the n-th one's (from 0)."""

    def __init__(self, environment: Callable[[int], Mapping[str, str]], log: Path) -> None:
        self._environment, self._log = environment, log
        self._process: ForkServerProcess | None = None
        self.started = 0
        self.left: list[int | None] = []
        """Exit codes of those that ended although nobody killed them."""

    def kill(self) -> None:
        """SIGKILL to the present one."""
        if self._process is not None and self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGKILL)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Operators"]:
        """There is an operator meanwhile; the last one is stopped with SIGTERM."""
        keeping = asyncio.create_task(self._keep())
        try:
            yield self
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self._stop()

    async def _keep(self) -> None:
        while True:
            process = FORKS.Process(target=operate, args=(self._environment(self.started), self._log), daemon=True)
            self._process = process
            self.started += 1
            process.start()
            await ended(process)
            if process.exitcode != -signal.SIGKILL:
                self.left.append(process.exitcode)
            await asyncio.sleep(RESTART_SECONDS)

    async def _stop(self) -> None:
        process = self._process
        if process is None or not process.is_alive():
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await ended(process)
        except TimeoutError:
            process.kill()
            await ended(process)
