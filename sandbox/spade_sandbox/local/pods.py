"""A sandbox pod on this machine for as long as a block lasts: started, checked, started anew when it breaks, stopped.

The pod has no network. A relay on a loopback port of a random number, guarded by a random token, carries the client's
connections to it over its standard input and output (pod/relay.py).
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from spade_contracts.errors import InfrastructureFault
from spade_sandbox.client import SandboxPool
from spade_sandbox.local import cells, docker, runsc
from spade_sandbox.local.launch import Backend, BackendUnusable, Launch, keeper_start
from spade_sandbox.pod.relay import Relay, RelayBroken
from spade_sandbox.pod.stdio import LOOPBACK, Report

IN_GVISOR = (Backend.DOCKER, Backend.RUNSC)
"""The back-ends that are tried when none is asked for, in this order. `cells` must be asked for."""
START_SECONDS = 180.0
STOP_SECONDS = 60.0
RESTART_SECONDS = 0.5
LOG_CHARACTERS = 1_500
CAPACITY = 16
log = logging.getLogger("spade.local")


class NoBackend(InfrastructureFault):
    """No back-end works on this machine; the message holds each one's reason."""


class WallsMissing(BackendUnusable):
    """A pod runs, but could not show that its cells hold."""


@dataclass
class _Running:
    """A started pod."""

    keeper: asyncio.subprocess.Process
    relay: Relay
    lifeline: int | None
    """Our end of the pipe that keeps the pod alive; None once it is closed."""

    def release(self) -> None:
        """Let the keeper end the pod."""
        if self.lifeline is not None:
            os.close(self.lifeline)
            self.lifeline = None
        assert self.keeper.stdin is not None
        self.keeper.stdin.close()


class LocalPod:
    """A pod that serves. Made by `local_pod`."""

    def __init__(self, backend: Backend, capacity: int) -> None:
        self.backend = backend
        self.target = ""
        """What a SandboxPool is given."""
        self.token = secrets.token_hex(32)
        self.report: Report | None = None
        """What the pod said of itself when it was started: gVisor, network devices, walls."""
        self.restarts = 0
        """How often the pod broke and was started anew."""
        self._capacity = capacity
        self._running: _Running | None = None

    async def start(self) -> None:
        """Start the pod and wait until it may be used. Raises BackendUnusable with the pod's last words."""
        try:
            await self._start()
        except WallsMissing:
            await self._start()  # trials have deadlines, which a very busy machine can miss

    async def _start(self) -> None:
        folder = _new_folder()
        try:
            launch = await asyncio.to_thread(_launch, self.backend, folder, self.token, self._capacity)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        lifeline, own_end = os.pipe()
        log_file = folder / "log"
        command, environment = keeper_start(launch, folder, lifeline)
        try:
            with log_file.open("wb") as output:
                keeper = await asyncio.create_subprocess_exec(
                    *command,
                    env=environment,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=output,
                    pass_fds=(lifeline,),
                    start_new_session=True,
                )
        except BaseException:
            os.close(own_end)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(lifeline)
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        self._running = _Running(keeper, Relay(keeper.stdout, keeper.stdin), own_end)
        try:
            async with asyncio.timeout(START_SECONDS):
                self.report = Report.model_validate_json(await self._running.relay.read_report())
            _check(self.report, launch)
        except (RelayBroken, TimeoutError, ValidationError, BackendUnusable) as error:
            said = _last_words(log_file)
            await self.stop()
            if isinstance(error, BackendUnusable):
                raise type(error)(f"{error}; the pod said: {said}") from error
            raise BackendUnusable(f"the pod did not start; it said: {said}") from error
        except BaseException:
            await self.stop()
            raise

    async def serve(self) -> None:
        """Carry connections until cancelled; start a broken pod anew. Raises BackendUnusable if that fails."""
        while True:
            assert self._running is not None
            with contextlib.suppress(RelayBroken):
                await self._running.relay.run()
            log.warning("the %s pod broke and is started anew", self.backend)
            self.restarts += 1
            await self.stop()
            await asyncio.sleep(RESTART_SECONDS)
            await self.start()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's connection."""
        try:
            if self._running is None:
                raise RelayBroken("the pod is being started")
            await self._running.relay.carry((reader, writer))
        except RelayBroken:
            writer.close()

    async def stop(self) -> None:
        """Stop the pod and remove what it left; returns when nothing of it runs."""
        if self._running is None:
            return
        self._running.release()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._running.keeper.wait()
        except TimeoutError:
            log.error("process %d does not end; it keeps a sandbox pod", self._running.keeper.pid)
        self._running = None


@contextlib.asynccontextmanager
async def local_pod(
    backend: Backend | None = None, *, capacity: int = CAPACITY, warn: Callable[[str], None] = log.warning
) -> AsyncIterator[LocalPod]:
    """A pod of the back-end asked for, or of the first in gVisor that works.

    `capacity`: sessions at once. `warn` is told of everything that a user must know. Raises NoBackend. Raises
    BackendUnusable into the block's task if a broken pod cannot be started again.
    """
    pod = await _first_that_works((backend,) if backend else IN_GVISOR, capacity)
    if pod.backend is Backend.CELLS:
        warn(cells.WARNING)
    try:
        server = await asyncio.start_server(pod.carry, LOOPBACK, 0)
        pod.target = f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
        async with server:
            block = asyncio.current_task()
            assert block is not None
            serving = asyncio.get_running_loop().create_task(pod.serve())
            inside = True
            serving.add_done_callback(lambda _: block.cancel() if inside and not serving.cancelled() else None)
            try:
                yield pod
            except asyncio.CancelledError:
                if serving.done() and not serving.cancelled() and (error := serving.exception()) is not None:
                    block.uncancel()
                    raise error from None
                raise
            finally:
                inside = False
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
    finally:
        await pod.stop()


@contextlib.asynccontextmanager
async def local_pool(
    backend: Backend | None = None, *, capacity: int = CAPACITY, warn: Callable[[str], None] = log.warning
) -> AsyncIterator[tuple[SandboxPool, LocalPod]]:
    """A pool of one local pod; otherwise as `local_pod`."""
    async with local_pod(backend, capacity=capacity, warn=warn) as pod, SandboxPool(pod.target, pod.token) as pool:
        yield pool, pod


async def _first_that_works(wanted: tuple[Backend, ...], capacity: int) -> LocalPod:
    reasons = []
    for backend in wanted:
        pod = LocalPod(backend, capacity)
        try:
            await pod.start()
        except BackendUnusable as error:
            reasons.append(f"{backend}: {error}")
        else:
            return pod
    remedy = "" if len(wanted) == 1 else "For programs that you trust there is also the back-end cells."
    raise NoBackend("No back-end works here.\n  " + "\n  ".join(reasons) + ("\n" if remedy else ""), remedy=remedy)


def _new_folder() -> Path:
    """A folder of the pod's own; the keeper removes it."""
    folder = Path(tempfile.mkdtemp(prefix="spade-pod-"))
    folder.chmod(0o755)  # the pod's user is not ours
    return folder


def _launch(backend: Backend, folder: Path, token: str, capacity: int) -> Launch:
    match backend:
        case Backend.DOCKER:
            return docker.launch(folder.name, token, capacity)
        case Backend.RUNSC:
            return runsc.launch(folder, token, capacity)
        case Backend.CELLS:
            return cells.launch(folder, token, capacity)


def _check(report: Report, launch: Launch) -> None:
    """Raise BackendUnusable unless the pod shows what its back-end promises."""
    missing = sorted(name for name, stands in report.walls.items() if not stands)
    if missing:
        raise WallsMissing(f"walls of the cells are missing: {', '.join(missing)}")
    if launch.gvisor and not report.gvisor:
        raise BackendUnusable("the pod runs, but its kernel is not gVisor's")
    if launch.gvisor and set(report.devices) - {"lo"}:
        raise BackendUnusable(f"the pod has a network: {', '.join(report.devices)}"[:300])


def _last_words(log_file: Path) -> str:
    """The end of a pod's log, on one line."""
    try:
        text = log_file.read_bytes()[-LOG_CHARACTERS:].decode("utf-8", "replace")
    except OSError:
        return "nothing that can be read"
    return " | ".join(text.split("\n")).strip(" |") or "nothing"
