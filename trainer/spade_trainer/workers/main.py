"""`spade-worker prepare | cleanup | design | play | verify | beacon`: the processes of the Jobs, and the beacon.

Exit codes: 0 the task is done (a refused preparation too: its result says so); 1 infrastructure failed, trying again
can help; 2 it cannot; 3 run storage is full. The termination message is the task's summary as JSON, also after a
failure of all but prepare.
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
import time
import traceback
import uuid
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from spade_contracts.errors import InvalidInput, SpadeError
from spade_contracts.exit_codes import ExitCode
from spade_contracts.isolation import TARGETS_PATH
from spade_contracts.ports import ENGINE_DATA
from spade_contracts.statuses import DesignSummary, PlaySummary, VerifySummary
from spade_contracts.tasks import CleanupTask, DesignTask, PlayTask, PrepareTask, Task, VerifyTask
from spade_trainer.store.room import StorageFull, storage_full
from spade_trainer.workers.surroundings import Surroundings, from_environment, leave_message, read_task

ERROR_CHARACTERS = 1500
COLLECTED_OBJECTS = 50_000
"""How many objects are made, and not freed, before the garbage collector looks for cycles among them."""
T = TypeVar("T")
log = logging.getLogger("spade.worker")


def main(arguments: list[str] | None = None) -> int:
    """Run one process; returns its exit code."""
    defaults = from_environment()
    parser = argparse.ArgumentParser(prog="spade-worker", description=__doc__)
    parser.add_argument("role", choices=("prepare", "cleanup", "design", "play", "verify", "beacon"))
    parser.add_argument("--task", type=Path, default=defaults.task, help="the task, as JSON")
    parser.add_argument("--tokens", type=Path, default=defaults.tokens, help="folder with one token file per door")
    parser.add_argument("--index", type=int, default=defaults.index, help="which worker of the Job this is")
    parser.add_argument("--status-port", type=int, default=defaults.status_port, help="0: any free port")
    parser.add_argument("--data-port", type=int, default=ENGINE_DATA, help="port that the beacon answers on")
    parser.add_argument("--targets", type=Path, default=Path(TARGETS_PATH), help="what the beacon tries")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    around = replace(
        defaults, task=options.task, tokens=options.tokens, index=options.index, status_port=options.status_port
    )
    if options.role == "beacon":
        return _run_beacon(options.targets, options.data_port, around.status_port)
    return run_task(options.role, around)


def run_task(role: str, around: Surroundings) -> int:
    """Do the task in its file; leaves the summary as termination message and on stdout; returns the exit code."""
    task: Task | None = None
    started = time.monotonic()
    try:
        task = read_task(around.task)
        if task.kind != role:
            raise InvalidInput(str(around.task), f"is a {task.kind} task, but this is a {role} worker")
        summary = _done(task, around)
    except (Exception, asyncio.CancelledError) as error:
        full = storage_full(task.run.storage_uri, error) if task is not None else None
        code, text = judged(full or error)
        log.error("%s", "".join(traceback.format_exception(error)) if code == ExitCode.NEVER else text)
        failed = _failed(task, text, time.monotonic() - started)
        if failed is not None:
            leave_message(around.termination_log, failed)
        return code
    leave_message(around.termination_log, summary)
    sys.stdout.write(f"{summary.model_dump_json()}\n")
    return ExitCode.DONE


def judged(error: BaseException) -> tuple[ExitCode, str]:
    """Exit code and one sentence for an error: the worst of a group, because trying again must be able to help."""
    worst = max(_leaves(error), key=_code)
    return _code(worst), (str(worst) or type(worst).__name__)[:ERROR_CHARACTERS]


def _code(error: BaseException) -> ExitCode:
    """The exit code that an error means. Unknown errors are bugs, which a second try would only repeat."""
    if isinstance(error, StorageFull):
        return ExitCode.STORAGE_FULL
    if isinstance(error, SpadeError):
        return ExitCode.NEVER if error.permanent else ExitCode.AGAIN
    return ExitCode.AGAIN if isinstance(error, OSError | asyncio.CancelledError) else ExitCode.NEVER


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _done(task: Task, around: Surroundings) -> BaseModel:
    """Do a task of any kind."""
    if isinstance(task, PrepareTask):
        from spade_trainer.workers.prepare import prepare

        return prepare(task)
    if isinstance(task, CleanupTask):
        from spade_trainer.workers.cleanup import cleanup

        return cleanup(task)
    return _loop(_with_status(task, around))


async def _with_status(task: DesignTask | PlayTask | VerifyTask, around: Surroundings) -> BaseModel:
    """Design, play or verify, with an open status port beside it."""
    from prometheus_client import generate_latest

    from spade_trainer.workers.design import design
    from spade_trainer.workers.figures import new_figures
    from spade_trainer.workers.play import play
    from spade_trainer.workers.progress import Progress
    from spade_trainer.workers.status_port import serve_status
    from spade_trainer.workers.verify import verify_programs

    rest_collector()
    progress, figures = Progress(uuid.uuid4().hex), new_figures()

    def metrics() -> bytes:
        figures.show_sessions(progress.sandboxes)
        return generate_latest(figures.registry)

    async with serve_status(around.status_port, progress.status, metrics):
        if isinstance(task, DesignTask):
            summary: BaseModel = await design(task, around, progress, figures)
        elif isinstance(task, VerifyTask):
            summary = await verify_programs(task, around, progress, figures)
        else:
            summary = await play(task, around, progress, figures)
        progress.stage = "finished"
        return summary


def rest_collector() -> None:
    """Let the garbage collector look at new objects less often, and at the modules' own never again.

    Hundreds of conversations keep many objects alive and make few cycles; by default they are looked at after every
    700, which is a fifth of a play worker's time (tests/bench/worker_overhead.py).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_OBJECTS)


def _failed(task: Task | None, text: str, seconds: float) -> BaseModel | None:
    """The summary of a task that was not done; None where a result would be mistaken for a verdict."""
    if isinstance(task, DesignTask):
        return DesignSummary(
            cycle=task.cycle,
            requested=0,
            attempts=0,
            accepted=0,
            seconds=round(seconds, 3),
            tokens=0,
            storage_uri=task.run.storage_uri,
            error=text,
        )
    if isinstance(task, VerifyTask):
        return VerifySummary(
            programs=0, accepted=0, seconds=round(seconds, 3), storage_uri=task.run.storage_uri, error=text
        )
    if isinstance(task, PlayTask):
        return PlaySummary(
            rollout=task.rollout,
            planned=0,
            learnable_fraction=None,
            mean_return=None,
            tokens=0,
            seconds=round(seconds, 3),
            storage_uri=task.run.storage_uri,
            error=text,
        )
    return None


def _loop(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGTERM cancels the work, so that connections are closed and no half-written file stays."""

    async def until_stopped() -> T:
        task = asyncio.ensure_future(work)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    return asyncio.run(until_stopped())


def _run_beacon(targets: Path, data_port: int, status_port: int) -> int:
    """Serve until SIGTERM."""
    from spade_trainer.workers.beacon import beacon

    try:
        _loop(beacon(uuid.uuid4().hex, targets=targets, data_port=data_port, status_port=status_port))
    except asyncio.CancelledError:
        return ExitCode.DONE
    return ExitCode.AGAIN


def run() -> None:
    """Entry point; never returns. The work is done and said by then, and libraries' own threads that still start while
    the interpreter takes itself down would abort the process.
    """
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
