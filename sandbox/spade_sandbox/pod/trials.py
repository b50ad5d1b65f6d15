"""Trying the walls at start, with cells of this pod: from inside, and by killing programs that would not end."""

import asyncio
import ctypes
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from spade_contracts.protocol import FaultKind, Limit
from spade_sandbox.pod import walls
from spade_sandbox.pod.forking import Zygote
from spade_sandbox.pod.supervisor import CellBounds, CellFault, PodBroken

TRIAL_LIMITS: dict[str, int] = {
    "memory_bytes": 64 * 2**20,
    "cpu_seconds": 30,
    "open_files": 16,
    "file_bytes": 256 * 2**10,
}
TRIAL_OUTPUT_BYTES = 64 * 2**10
TRIAL_TEXT_CHARACTERS = 100
TRIAL_SECONDS = 30.0
CLOCK_SECONDS = 0.2
FROM_OUTSIDE = ("processes", "output", "clock")
"""Walls that are tried by running a program against them and no otherwise."""
_SPIN = "while True: pass"
_CALM = "class CalmEnv: pass"


@dataclass(frozen=True)
class Trial:
    """A program that runs against one wall, and the limit that must end it."""

    wall: str
    program: str
    limit: Limit
    deadline_seconds: float = TRIAL_SECONDS
    cpu_seconds: tuple[int, ...] = (TRIAL_LIMITS["cpu_seconds"],)
    """CPU limits, each tried if under the one before the cell could not even be built: gVisor counts a task that waits
    for a processor as using one.
    """


TRIALS: tuple[Trial, ...] = (
    Trial("clock", _SPIN, Limit.WALL, CLOCK_SECONDS),
    Trial("cpu", _SPIN, Limit.CPU, cpu_seconds=(1, 4, 16)),
    Trial("processes", "import os\nos.fork()", Limit.PROCESSES),
    Trial("processes", "import _thread\n_thread.start_new_thread(print, ())", Limit.PROCESSES),
    Trial("processes", "import os\nos.execv('/x', ['x'])", Limit.PROCESSES),
    Trial("output", "import os\nwhile True: os.write(1, bytes(4096))", Limit.OUTPUT),
)
_IPC_CREATE, _IPC_EXCLUSIVE, _IPC_REMOVE = 0o1000, 0o2000, 0


async def try_all_walls(zygote: Zygote) -> dict[str, str]:
    """Findings by wall; a wall without a finding stands. Empty means that all stand."""
    try:
        inside, outside = await asyncio.gather(
            _try_from_inside(zygote), asyncio.gather(*(_try_from_outside(zygote, trial) for trial in TRIALS))
        )
    except (PodBroken, OSError) as error:
        return dict.fromkeys(wall_names(), str(error))
    return inside | {trial.wall: found for trial, found in zip(TRIALS, outside, strict=True) if found}


def wall_names() -> tuple[str, ...]:
    """All walls, those tried from outside included."""
    return (*(wall.name for wall in walls.WALLS), *FROM_OUTSIDE)


async def _try_from_inside(zygote: Zygote) -> dict[str, str]:
    cell = await zygote.fork()
    with listening() as port, shared_memory() as key:
        order = {"limits": TRIAL_LIMITS, "listener_port": port, "shared_memory_key": key}
        try:
            return await cell.try_walls(order, TRIAL_SECONDS)
        except CellFault as error:
            return {wall.name: f"the trial failed: {error}" for wall in walls.WALLS}
        finally:
            await cell.destroy(None)


async def _try_from_outside(zygote: Zygote, trial: Trial) -> str:
    """The program must be ended by its limit and by nothing else; the finding, if it was not."""
    finding = ""
    for cpu_seconds in trial.cpu_seconds:
        try:
            await _run(zygote, trial, cpu_seconds)
        except CellFault as error:
            if error.limit is trial.limit:
                return ""
            finding = f"{trial.program!r} ended otherwise: {error}"
            if error.kind is not FaultKind.LOST:
                break
        else:
            return f"{trial.program!r} was not ended"
    return finding


async def _run(zygote: Zygote, trial: Trial, cpu_seconds: int) -> None:
    cell = await zygote.fork()
    bounds = CellBounds(
        memory_bytes=TRIAL_LIMITS["memory_bytes"],
        cpu_seconds=cpu_seconds,
        output_bytes=TRIAL_OUTPUT_BYTES,
        text_characters=TRIAL_TEXT_CHARACTERS,
    )
    limits = {**TRIAL_LIMITS, "cpu_seconds": cpu_seconds}
    build = {"limits": limits, "recursion_depth": 1000, "text_characters": TRIAL_TEXT_CHARACTERS}
    program = {"op": "open", "domain": "Games", "source": f"{trial.program}\n{_CALM}", "max_turns": 1}
    try:
        await cell.build(build, bounds)
        await cell.ask(program, trial.deadline_seconds)
    finally:
        await cell.destroy(None)


@contextmanager
def listening() -> Iterator[int]:
    """A port of the pod's loopback that listens meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        yield port


@contextmanager
def shared_memory() -> Iterator[int]:
    """A System V segment of this pod, which a cell must not find. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    key = secrets.randbelow(2**30) + 1
    segment = library.shmget(ctypes.c_int(key), ctypes.c_size_t(4096), _IPC_CREATE | _IPC_EXCLUSIVE | 0o600)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    try:
        yield key
    finally:
        library.shmctl(segment, _IPC_REMOVE, None)
