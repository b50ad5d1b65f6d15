"""The server's side of the zygote: start it, order cells from it, hear how they ended."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass

from spade_contracts.deadlines import Deadlines
from spade_sandbox.pod.line import Line
from spade_sandbox.pod.output import Output
from spade_sandbox.pod.supervisor import Cell, Ended, PodBroken, complete

FORK_SECONDS = 90.0
START_SECONDS = 120.0
MAX_EVENT_BYTES = 4096
_ZYGOTE_ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
}


class Zygote:
    """The running zygote. `broken` completes when it has died."""

    def __init__(self, process: "subprocess.Popen[bytes]", control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._turn = asyncio.Lock()
        self._forking: dict[int, asyncio.Future[int]] = {}
        self._ends: dict[int, asyncio.Future[Ended]] = {}
        self._processes: dict[int, int] = {}
        self._deadlines = Deadlines()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self.broken: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(control.fileno(), self._on_event)

    @property
    def process(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    @property
    def cells(self) -> int:
        """Cells that have not ended, spares included."""
        return sum(1 for ended in self._ends.values() if not ended.done())

    async def ready(self) -> None:
        """Wait until the libraries are imported. Raises PodBroken."""
        done, _ = await asyncio.wait(
            {self._ready, self.broken}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        if self._ready not in done:
            raise PodBroken("the zygote did not start; its error is in this pod's log")

    async def fork(self) -> Cell:
        """A new cell, waiting for its first order. Raises PodBroken.

        One at a time, as the zygote works, so that the deadline is that of one fork and not of a queue.
        """
        async with self._turn:
            return await self._fork()

    async def _fork(self) -> Cell:
        self._number += 1
        number = self._number
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        output = Output(read_end)
        forked: asyncio.Future[int] = self._loop.create_future()
        self._forking[number] = forked
        self._ends[number] = self._loop.create_future()
        try:
            try:
                order = json.dumps({"order": "fork", "cell": number}).encode()
                await self._send(order, [theirs.fileno(), write_end])
            except BaseException:
                del self._forking[number], self._ends[number]  # nobody will tell of a cell that was not ordered
                raise
            finally:
                theirs.close()
                os.close(write_end)
            async with asyncio.timeout(FORK_SECONDS):
                process = await forked
            line = Line(ours)
        except BaseException as error:
            ours.close()  # a cell whose socket is closed before its first order ends by itself
            output.close()
            if isinstance(error, TimeoutError | PodBroken | OSError):
                raise PodBroken(f"no cell could be made: {error or 'the zygote does not answer'}") from error
            raise
        return Cell(number, process, line, output, self._ends[number], lambda: self._kill(number), self._deadlines)

    def close(self) -> None:
        """Kill all cells and the zygote, and reap what falls to us; whoever waits for a cell's end has it now."""
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for process in self._processes.values():
            with contextlib.suppress(ChildProcessError):  # ours only where we are the first process
                os.waitpid(process, 0)
        self._give_up("the zygote was stopped")

    def _kill(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"order": "kill", "cell": number}).encode())

    async def _send(self, order: bytes, descriptors: list[int]) -> None:
        while True:
            try:
                socket.send_fds(self._control, [order], descriptors)
            except BlockingIOError:
                await asyncio.sleep(0.01)  # the zygote is forking; datagram sockets have no drain
            else:
                return

    def _on_event(self) -> None:
        try:
            data = self._control.recv(MAX_EVENT_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._on_death()
            return
        event = json.loads(data)
        number = event.get("cell", 0)
        match event["event"]:
            case "ready":
                self._ready.set_result(None)
            case "forked":
                self._processes[number] = event["process"]
                complete(self._forking.pop(number), event["process"])
            case "failed":
                failed = self._forking.pop(number)
                if not failed.done():
                    failed.set_exception(PodBroken(event["message"]))
            case "ended":
                self._processes.pop(number, None)
                complete(self._ends.pop(number), Ended(event["signal"], event["cpu_seconds"]))

    def _on_death(self) -> None:
        self._loop.remove_reader(self._control.fileno())
        self._give_up("the zygote died")
        complete(self.broken, None)

    def _give_up(self, why: str) -> None:
        for forking in self._forking.values():
            if not forking.done():
                forking.set_exception(PodBroken(why))
        for ended in self._ends.values():
            complete(ended, Ended(0, 0.0))


@dataclass(frozen=True)
class CellKind:
    """What all cells of one zygote have in common."""

    hash_seed: int = 0
    numpy: bool = False
    """Whether numpy is imported; without it a cell holds a third less memory."""

    @property
    def words(self) -> tuple[str, ...]:
        """Arguments of its zygote."""
        return ("numpy",) if self.numpy else ()


def start_zygote(kind: CellKind) -> Zygote:
    """Start a zygote with nothing of our environment but the module path."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-m", "spade_sandbox.pod.zygote", str(theirs.fileno()), *kind.words],
            env={
                **_ZYGOTE_ENVIRONMENT,
                "PYTHONHASHSEED": str(kind.hash_seed),
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    return Zygote(process, ours)
