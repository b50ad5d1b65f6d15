"""The process that holds one live program, alone in its namespaces.

It is forked ahead, waits for its first frame, builds its walls by the limits in that frame, says so, and only then is
given the program. From then on it is untrusted: the supervisor reads its frames like a stranger's.
"""

import ctypes
import errno
import gc
import json
import mmap
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from spade_sandbox.pod import linux, walls
from spade_sandbox.pod.frames import FrameReader, write_frame
from spade_sandbox.pod.programs import games, inspection, loading, tools
from spade_sandbox.pod.programs.values import InvalidReturn

MAX_ORDER_BYTES = 8 * 2**20
MAX_ERROR_CHARACTERS = 1_000
FRAMES_OF_OURS = 50
"""Depth of the calls between the interpreter's entry and a program's own code, which its limit comes on top of."""
BALLAST_BYTES = 2**21
"""Address space held back, so that the fault of a program that took all its memory can still be told."""
_DECODE: Callable[[bytes], Any] = msgspec.json.Decoder().decode
_ENCODE = msgspec.json.Encoder().encode
"""One call of compiled code each: a cell's caches are cold whenever its turn comes, and the standard library's encoder
costs such a cell more than all its other work.
"""
_EXCEEDED_FILES = {errno.EMFILE: "open_files", errno.ENOSPC: "file_bytes", errno.EFBIG: "file_bytes"}
OPERATIONS: dict[str, Callable[[Any, dict[str, Any], int], dict[str, Any]]] = {
    "reset": lambda environment, order, characters: games.reset(environment, order["seed"], characters),
    "solution": lambda environment, order, characters: games.solution(environment, characters),
    "tools": lambda environment, order, characters: tools.tools(environment),
    "call": lambda environment, order, characters: tools.call(
        environment, order["name"], order["arguments"], characters
    ),
    "inspect": lambda environment, order, characters: inspection.look(environment, characters),
}


def run(library: ctypes.CDLL, call_filter: bytes) -> NoReturn:
    """Serve one program on descriptor `walls.SOCKET` until the supervisor closes it. Never returns.

    libseccomp and the filter are made beforehand, once for all cells.
    """
    try:
        orders = FrameReader(walls.SOCKET, MAX_ORDER_BYTES)
        order = orders.read()
        if order is not None:
            # only now: the supervisor writes when the first process has gone and the zygote is the parent
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            _serve_first(_DECODE(order), orders, library, call_filter)
    except BaseException as error:
        _answer({"id": 0, "error": {"kind": "lost", "message": f"the cell was not built: {error}"}})
    os._exit(0)


def _serve_first(order: dict[str, Any], orders: FrameReader, library: ctypes.CDLL, call_filter: bytes) -> None:
    """The first frame says what the cell is for: trying its walls, or a program. No program runs before its answer."""
    site = walls.Site(
        limits=walls.CellLimits(**order["limits"]),
        library=library,
        filter=call_filter,
        base_bytes=walls.address_space_bytes(),
        listener_port=order.get("listener_port", 0),
        shared_memory_key=order.get("shared_memory_key", 0),
    )
    if order["op"] == "try":
        _answer({"id": order["id"], "findings": walls.try_walls(walls.WALLS, site, walls.WALLS)})
        return
    walls.close_in(walls.WALLS, site)
    _limit_recursion(order["recursion_depth"])
    gc.enable()
    _answer({"id": order["id"], "built": True})
    serve(orders, walls.SOCKET, order["text_characters"])


def _limit_recursion(depth: int) -> None:
    """Set Python's limit, which a program cannot raise: beyond it stands only a stack that ends in a signal."""
    limit = depth + FRAMES_OF_OURS
    change = sys.setrecursionlimit
    change(limit)
    sys.setrecursionlimit = lambda wanted: change(min(wanted, limit))


def serve(orders: FrameReader, talk: int, characters: int) -> None:
    """Answer operations one by one on a descriptor, loading the program first; the first fault is the last answer."""
    ballast = mmap.mmap(-1, BALLAST_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    environment: Any = None
    while (frame := orders.read()) is not None:
        order = _DECODE(frame)
        operation = order["op"]
        try:
            if operation == "step":  # without a detour: it is what is asked most
                done = games.step(environment, order["action"], characters)
            elif operation == "open":
                environment = loading.load(order["source"], order["max_turns"])
                done = {"op": "open", "session": 0, "load": {"sessions": 0, "capacity": 0}}  # the server's to fill in
            else:
                done = OPERATIONS[operation](environment, order, characters)
            write_frame(talk, encoded({"id": order["id"], "ok": done}))
        except InvalidReturn as error:
            last = _fault(order, "invalid_return", str(error), error.limit)
        except BaseException as error:  # SystemExit and KeyboardInterrupt of a program are crashes too
            if isinstance(error, MemoryError) or _errno(error) == errno.ENOMEM:
                ballast.close()
                last = _fault(order, "memory", "the program ran out of memory", "memory")
            else:
                last = _fault(order, "crash", _describe(error), _exceeded(error))
        else:
            continue
        write_frame(talk, encoded(last))
        return


def _fault(order: dict[str, Any], kind: str, message: str, limit: str | None) -> dict[str, Any]:
    return {"id": order["id"], "error": {"kind": kind, "message": message[:MAX_ERROR_CHARACTERS], "limit": limit}}


def _exceeded(error: BaseException) -> str | None:
    """The limit behind a program's exception, as the protocol names it."""
    if isinstance(error, RecursionError):
        return "recursion"
    number = _errno(error)
    return None if number is None else _EXCEEDED_FILES.get(number)


def _errno(error: BaseException) -> int | None:
    """What the kernel refused with; subclasses may be the program's own and say anything."""
    number = error.errno if type(error) is OSError else None
    return number if type(number) is int else None


def _describe(error: BaseException) -> str:
    """Type, text and line of a program's exception; formatting it runs the program's code, so it may fail too."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "program.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error).encode("utf-8", "replace").decode()
    except BaseException:
        text = "(its text could not be read)"
    return f"{type(error).__name__} in line {line}: {text}"


def _answer(answer: dict[str, Any]) -> None:
    write_frame(walls.SOCKET, encoded(answer))


def encoded(answer: dict[str, Any]) -> bytes:
    """An answer as JSON; what is no Unicode in a name or message of the program's is replaced."""
    try:
        return _ENCODE(answer)
    except UnicodeEncodeError:
        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
