"""The process between a tool and the pod it started: when the tool goes, in whatever way, the pod goes.

Started by path with a JSON order in its environment (launch.py). It starts the pod's command with its own standard
input and output, watches the tool's lifeline (a pipe that only the tool holds open), and cleans up when the
lifeline breaks. It runs in a session of its own, so that an interrupt of the terminal does not reach it. Imports
nothing of ours, to start at once.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from typing import Any

ORDER = "SPADE_KEEPER_ORDER"
"""Variable with the order; it holds the token, so it is no argument, which everybody may read."""
GRACE_SECONDS = 10.0
"""What the pod may take to end after its input has ended; it is killed then."""
CLEAN_UP_SECONDS = 30.0
_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run one order to its end; the exit code is the command's."""
    order: dict[str, Any] = json.loads(os.environ.pop(ORDER))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            order["command"],
            env=order["environment"],
            cwd=order["folder"],
            preexec_fn=_die_with_parent,  # noqa: PLW1509  # a keeper has one thread
        )
    except OSError as error:
        print(f"{order['command'][0]} cannot be started: {error}", file=sys.stderr, flush=True)
        process = None
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)  # the pipes are the pod's alone, so their ends mean the pod's end
    if process is None:
        _wait_for_end(order["lifeline"])
    else:
        _keep(process, order["lifeline"])
    for command in order["clean_up"]:
        _clean_up(command, order["environment"])
    _remove(order["folder"])
    return 127 if process is None else process.returncode


def _keep(process: "subprocess.Popen[bytes]", lifeline: int) -> None:
    """Wait for the tool's end, then for the process's, which is forced if need be."""
    _wait_for_end(lifeline)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for_end(lifeline: int) -> None:
    """Until the other end of a pipe is closed; nothing is ever written to it."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    while not poll.poll():
        pass


def _clean_up(command: list[str], environment: dict[str, str]) -> None:
    """Run a command whose failure means that nothing was left."""
    try:
        subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=CLEAN_UP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return


def _remove(folder: str) -> None:
    """Remove the pod's folder, unless something is still mounted in it: that would be removed with it."""
    escaped = folder.replace(" ", "\\040")  # as the kernel writes it
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        mounted = [line for line in file if f" {escaped}/" in line]
    if mounted:
        print(f"{folder} is left, because something is mounted in it", file=sys.stderr, flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _die_with_parent() -> None:
    """In the child: SIGKILL when the keeper dies, and the usual interrupts again."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
