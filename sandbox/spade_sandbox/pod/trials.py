"""Trying the walls at start, with cells of this pod: from inside, and by killing programs that would not end."""

import asyncio
import ctypes
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from spade_contracts.protocol import FaultKind
from spade_sandbox.pod import walls
from spade_sandbox.pod.supervisor import CellFault, PodBroken, Zygote

TRIAL_LIMITS: dict[str, int] = {
    "memory_bytes": 64 * 2**20,
    "cpu_seconds": 1,
    "open_files": 16,
    "file_bytes": 256 * 2**10,
}
TRIAL_SECONDS = 30.0
CLOCK_SECONDS = 0.2
_SPIN = "class SpinEnv: pass\nwhile True: pass\n"
_IPC_CREATE, _IPC_EXCLUSIVE, _IPC_REMOVE = 0o1000, 0o2000, 0


async def try_all_walls(zygote: Zygote) -> dict[str, str]:
    """Findings by wall; a wall without a finding stands. Empty means that all stand."""
    try:
        inside, clock, cpu = await asyncio.gather(
            _try_from_inside(zygote),
            _try_spinning(zygote, CLOCK_SECONDS, "wall clock"),
            _try_spinning(zygote, TRIAL_SECONDS, "CPU time"),
        )
    except (PodBroken, OSError) as error:
        return {wall.name: str(error) for wall in walls.WALLS} | {"clock": str(error)}
    return inside | ({"clock": clock} if clock else {}) | ({"cpu": cpu} if cpu else {})


def wall_names() -> tuple[str, ...]:
    """All walls, those tried from outside included."""
    return (*(wall.name for wall in walls.WALLS), "clock")


async def _try_from_inside(zygote: Zygote) -> dict[str, str]:
    cell = await zygote.fork()
    with listening() as port, shared_memory() as key:
        order = {"op": "try", "limits": TRIAL_LIMITS, "listener_port": port, "shared_memory_key": key}
        try:
            answer = await cell.ask(order, TRIAL_SECONDS)
        except CellFault as error:
            return {wall.name: f"the trial failed: {error}" for wall in walls.WALLS}
        finally:
            await cell.destroy(None)
    assert isinstance(answer, dict)
    if "findings" not in answer:
        reason = answer.get("error", {}).get("message", "no findings")
        return {wall.name: reason for wall in walls.WALLS}
    return dict(answer["findings"])


async def _try_spinning(zygote: Zygote, deadline_seconds: float, limit: str) -> str:
    """A program that never ends must be killed, by the deadline or before it by its CPU limit."""
    cell = await zygote.fork()
    cell.cpu_seconds = TRIAL_LIMITS["cpu_seconds"]
    order = {"op": "open", "limits": TRIAL_LIMITS, "source": _SPIN, "max_turns": 1, "text_characters": 100}
    try:
        await cell.ask(order, deadline_seconds)
    except CellFault as error:
        by_deadline = deadline_seconds == CLOCK_SECONDS
        if error.kind is FaultKind.TIMEOUT and (cell.killed_for is not None) is by_deadline:
            return ""
        return f"{limit}: an endless program ended otherwise: {error}"
    return f"{limit}: an endless program was not ended"


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
