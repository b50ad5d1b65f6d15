"""The process that holds one live program, alone in its namespaces.

It is forked ahead, waits for its first frame, builds its walls by the limits in that frame, and only then runs the
program. From then on it is untrusted: the supervisor reads its frames like a stranger's.
"""

import gc
import json
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from spade_sandbox.pod import linux, seccomp, walls
from spade_sandbox.pod.frames import read_frame, write_frame
from spade_sandbox.pod.programs import games

MAX_ORDER_BYTES = 8 * 2**20
MAX_ERROR_CHARACTERS = 1_000


def run() -> NoReturn:
    """Serve one program on descriptor `walls.SOCKET` until the supervisor closes it. Never returns."""
    try:
        library = seccomp.load_library()
        order = read_frame(walls.SOCKET, MAX_ORDER_BYTES)
        if order is not None:
            # only now: the supervisor writes when the first process has gone and the zygote is the parent
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            _serve_first(json.loads(order), library)
    except BaseException as error:
        _answer({"id": 0, "error": {"kind": "lost", "message": f"the cell was not built: {error}"}})
    os._exit(0)


def _serve_first(order: dict[str, Any], library: Any) -> None:
    """The first frame says what the cell is for: trying its walls, or a program."""
    site = walls.Site(
        limits=walls.CellLimits(**order["limits"]),
        library=library,
        base_bytes=walls.address_space_bytes(),
        listener_port=order.get("listener_port", 0),
        shared_memory_key=order.get("shared_memory_key", 0),
    )
    if order["op"] == "try":
        _answer({"id": order["id"], "findings": walls.try_walls(walls.WALLS, site, walls.WALLS)})
        return
    walls.close_in(walls.WALLS, site)
    gc.enable()
    characters: int = order["text_characters"]
    environment = _guarded(
        order, lambda: {"op": "open", "environment": games.load(order["source"], order["max_turns"])}
    )
    if environment is not None:
        _serve(environment["environment"], characters)


def _serve(environment: Any, characters: int) -> None:
    """Answer operations one by one; the first fault is the last answer."""
    while (frame := read_frame(walls.SOCKET, MAX_ORDER_BYTES)) is not None:
        order = json.loads(frame)
        work: dict[str, Callable[[], dict[str, Any]]] = {
            "reset": lambda: games.reset(environment, order["seed"], characters),
            "step": lambda: games.step(environment, order["action"], characters),
            "solution": lambda: games.solution(environment, characters),
        }
        if _guarded(order, work[order["op"]]) is None:
            return


def _guarded(order: dict[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """Do one operation and answer it; None after a fault of the program."""
    try:
        result = work()
    except games.InvalidReturn as error:
        return _fault(order, "invalid_return", str(error))
    except MemoryError:
        return _fault(order, "memory", "the program ran out of memory")
    except BaseException as error:  # SystemExit and KeyboardInterrupt of a program are crashes too
        return _fault(order, "crash", _describe(error))
    answer = {key: value for key, value in result.items() if key != "environment"}
    if answer["op"] == "open":
        answer |= {"session": 0, "load": {"sessions": 0, "capacity": 0}}  # the supervisor's to fill in
    _answer({"id": order["id"], "ok": answer})
    return result


def _fault(order: dict[str, Any], kind: str, message: str) -> None:
    _answer({"id": order["id"], "error": {"kind": kind, "message": message[:MAX_ERROR_CHARACTERS]}})


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
    write_frame(walls.SOCKET, json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
