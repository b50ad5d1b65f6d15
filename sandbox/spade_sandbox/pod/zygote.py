"""The process that forks cells: it has imported the allowed libraries and runs no program but its own rehearsal.

It takes orders on one datagram socket from the supervisor: `fork` (with the cell's end of a socket pair and of a pipe
for what it prints) and `kill`.
It reports each cell's process id and, when a cell has ended, how. Two forks make a cell: the first process leaves the
namespaces and forks the cell as process 1 of the new PID namespace; when it is gone, the cell belongs to the zygote
(a subreaper), which can kill it without racing for a reused process id. Killing process 1 kills its whole namespace.
"""

import fcntl
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from spade_sandbox.pod import cell, libraries, linux, rehearsal, seccomp, walls

MAX_ORDER_BYTES = 4096
NICENESS = 10
"""Programs yield to the server where the kernel heeds it, so that a spinning one cannot starve its answers."""
FORK_SECONDS = 60.0
"""Deadline of the first process's work, which is all ours; past it the pod is broken."""


def main() -> None:
    """Entry point: `python -m spade_sandbox.pod.zygote DESCRIPTOR [numpy]`."""
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    control = socket.socket(fileno=int(sys.argv[1]))
    libraries.import_all(numpy="numpy" in sys.argv[2:])
    library = seccomp.load_library()
    call_filter = seccomp.compile_filter(library)
    rehearsal.rehearse()
    gc.collect()
    gc.freeze()  # keeps the libraries' pages shared between cells
    gc.disable()
    _Zygote(control, lambda: cell.run(library, call_filter)).serve()


class _Zygote:
    def __init__(self, control: socket.socket, run_cell: Callable[[], NoReturn]) -> None:
        self._control = control
        self._run_cell = run_cell
        self._cells: dict[int, int] = {}  # process id → cell
        self._wake_in, self._wake_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)
        self._report({"event": "ready"})

    def serve(self) -> None:
        """Take orders until the supervisor is gone; then every cell is killed."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake_in, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._wake_in:
                    os.read(self._wake_in, 4096)
                elif not self._take_order():
                    for process in self._cells:
                        os.kill(process, signal.SIGKILL)
                    return
            self._reap()

    def _take_order(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, MAX_ORDER_BYTES, 2)
        if not data:
            return False
        order: dict[str, Any] = json.loads(data)
        if order["order"] == "fork":
            talk, output = descriptors
            self._fork(order["cell"], talk, output)
        elif order["order"] == "kill":
            for process, number in self._cells.items():
                if number == order["cell"]:
                    os.kill(process, signal.SIGKILL)
        return True

    def _fork(self, number: int, talk: int, output: int) -> None:
        """Make one cell and report its process id, or why there is none."""
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        first = os.fork()
        if first == 0:
            _become_first_process(talk, output, write_end, self._run_cell)
        for descriptor in (write_end, talk, output):
            os.close(descriptor)
        word = _read_all(read_end)
        os.close(read_end)
        os.kill(first, signal.SIGKILL)  # it has said its word or hangs
        os.waitpid(first, 0)
        if word.isdigit():
            self._cells[int(word)] = number
            self._report({"event": "forked", "cell": number, "process": int(word)})
        else:
            self._report({"event": "failed", "cell": number, "message": word[:500] or "the first process died"})

    def _reap(self) -> None:
        while True:
            try:
                process, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            number = self._cells.pop(process, None)
            if number is not None:
                self._report({
                    "event": "ended",
                    "cell": number,
                    "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
                    "cpu_seconds": usage.ru_utime + usage.ru_stime,
                })  # fmt: skip

    def _report(self, event: dict[str, Any]) -> None:
        self._control.send(json.dumps(event).encode())


def _become_first_process(talk: int, output: int, write_end: int, run_cell: Callable[[], NoReturn]) -> None:
    """Leave the namespaces, fork the cell, say its process id as the pod sees it, and go."""
    word = ""
    try:
        signal.set_wakeup_fd(-1)
        walls.enter(walls.WALLS)
        process = os.fork()
        if process == 0:
            os.close(write_end)
            _become_cell(talk, output, run_cell)
        word = str(process)
    except BaseException as error:
        word = f"{type(error).__name__}: {error}"
    os.write(write_end, word.encode("utf-8", "replace"))
    os._exit(0)


def _become_cell(talk: int, output: int, run_cell: Callable[[], NoReturn]) -> None:
    """Keep the one socket, the pipe for output and /dev/null, nothing else of the zygote's."""
    try:
        os.setsid()
        os.nice(NICENESS)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        kept = [fcntl.fcntl(number, fcntl.F_DUPFD, walls.SOCKET + 1) for number in (talk, output)]  # clear of 0 to 3
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for standard in (1, 2):
            os.dup2(kept[1], standard)
        os.dup2(kept[0], walls.SOCKET)
        os.closerange(walls.SOCKET + 1, 1 << 16)
        run_cell()
    finally:
        os._exit(1)


def _read_all(descriptor: int) -> str:
    word = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while poll.poll(FORK_SECONDS * 1000):
        part = os.read(descriptor, 1024)
        if not part:
            return word.decode("utf-8", "replace")
        word += part
    return "the first process hangs"


if __name__ == "__main__":
    main()
