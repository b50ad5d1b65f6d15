"""The process that holds one live program, alone in its namespaces.

It is forked ahead, waits for its first frame, builds its walls by the limits in that frame, and only then runs the
program. From then on it is untrusted: the supervisor reads its frames like a stranger's.
"""

import gc
import json
import os
import signal
from collections.abc import Callable
from functools import partial
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
    loaded: list[Any] = []

    def load() -> dict[str, Any]:
        loaded.append(games.load(order["source"], order["max_turns"]))
        return {"op": "open", "session": 0, "load": {"sessions": 0, "capacity": 0}}  # the server's to fill in

    if _answered(order, load):
        _serve(loaded[0], characters)


def _serve(environment: Any, characters: int) -> None:
    """Answer operations one by one; the first fault is the last answer."""

    def work(order: dict[str, Any]) -> dict[str, Any]:
        match order["op"]:
            case "reset":
                return games.reset(environment, order["seed"], characters)
            case "step":
                return games.step(environment, order["action"], characters)
            case _:
                return games.solution(environment, characters)

    while (frame := read_frame(walls.SOCKET, MAX_ORDER_BYTES)) is not None:
        order = json.loads(frame)
        if not _answered(order, partial(work, order)):
            return


def _answered(order: dict[str, Any], work: Callable[[], dict[str, Any]]) -> bool:
    """Do one operation and answer it; False after a fault of the program."""
    try:
        answer = {"id": order["id"], "ok": work()}
    except games.InvalidReturn as error:
        answer = _fault(order, "invalid_return", str(error))
    except MemoryError:
        answer = _fault(order, "memory", "the program ran out of memory")
    except BaseException as error:  # SystemExit and KeyboardInterrupt of a program are crashes too
        answer = _fault(order, "crash", _describe(error))
    _answer(answer)
    return "ok" in answer


def _fault(order: dict[str, Any], kind: str, message: str) -> dict[str, Any]:
    return {"id": order["id"], "error": {"kind": kind, "message": message[:MAX_ERROR_CHARACTERS]}}


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
