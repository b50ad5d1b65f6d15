"""The server's side of zygote and cells: ask a cell with a deadline, kill it, and say how it ended.

Everything that a cell sends is read like a stranger's word: limited in size, validated by the protocol's models, and
matched to the one question that is open. Any misfit kills the cell.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from spade_contracts.protocol import MAX_MESSAGE_BYTES, Answer, FaultKind
from spade_sandbox.pod.frames import FrameTooLong, receive_frame, send_frame

END_SECONDS = 10.0
"""How long a killed cell may take to be reaped; past it the pod is broken."""
FORK_SECONDS = 30.0
START_SECONDS = 60.0
MAX_EVENT_BYTES = 4096
CPU_TOLERANCE_SECONDS = 0.2
"""The kernel counts CPU time towards its limit in ticks, and finer in what it reports."""
_ZYGOTE_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
}


class PodBroken(Exception):
    """The zygote failed; the pod must start anew, as a new, unproven one."""


class CellFault(Exception):
    """A cell's program ended the session; `kind` is the protocol's word."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        self.kind = kind
        super().__init__(message)


@dataclass(frozen=True)
class Ended:
    """How a cell ended."""

    signal: int
    cpu_seconds: float


@dataclass(eq=False)
class Cell:
    """One cell, from the pod's side."""

    number: int
    process: int
    """Its process id as the pod sees it."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ended: "asyncio.Future[Ended]"
    kill: Callable[[], None]
    memory_bytes: int | None = None
    """Limit that the watch enforces, once a program is loaded."""
    cpu_seconds: float | None = None
    killed_for: CellFault | None = None
    """Why we killed it, if we did."""
    questions: int = field(default=0)

    async def ask(self, order: dict[str, Any], deadline_seconds: float) -> dict[str, Any] | Answer:
        """Send one order and return its validated answer. Raises CellFault, after which the cell is dead."""
        self.questions += 1
        order = {"id": self.questions, **order}
        try:
            async with asyncio.timeout(deadline_seconds):
                await send_frame(self.writer, json.dumps(order).encode())
                frame = await receive_frame(self.reader, MAX_MESSAGE_BYTES)
        except TimeoutError:
            await self.destroy(CellFault(FaultKind.TIMEOUT, f"{order['op']} took longer than {deadline_seconds} s"))
            raise self._fault() from None
        except FrameTooLong as error:
            await self.destroy(CellFault(FaultKind.INVALID_RETURN, f"{order['op']} answered with {error}"))
            raise self._fault() from error
        if frame is None:
            await self.destroy(None)
            raise self._fault()
        if order["op"] == "try":
            finding: dict[str, Any] = json.loads(frame)
            return finding
        return await self._validated(frame, order)

    async def destroy(self, reason: CellFault | None) -> None:
        """Kill the cell's whole PID namespace and wait until it is gone. Raises PodBroken if it stays."""
        if self.killed_for is None:
            self.killed_for = reason
        if not self.ended.done():
            self.kill()
        self.writer.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await asyncio.shield(self.ended)
        except TimeoutError:
            raise PodBroken(f"cell {self.number} (process {self.process}) does not die") from None

    async def _validated(self, frame: bytes, order: dict[str, Any]) -> Answer:
        try:
            answer = Answer.model_validate_json(frame)
            fits = answer.id == order["id"] and (answer.ok is None or answer.ok.op == order["op"])
        except ValidationError:
            fits = False
        if not fits:
            await self.destroy(CellFault(FaultKind.CRASH, "the program broke its own process: no valid answer"))
            raise self._fault()
        if answer.error is not None:
            await self.destroy(CellFault(answer.error.kind, answer.error.message))
            raise self._fault()
        return answer

    def _fault(self) -> CellFault:
        if self.killed_for is not None:
            return self.killed_for
        end = self.ended.result()
        if self.cpu_seconds is not None and end.signal and end.cpu_seconds >= self.cpu_seconds - CPU_TOLERANCE_SECONDS:
            return CellFault(FaultKind.TIMEOUT, f"the program used its {self.cpu_seconds:.0f} s of CPU time")
        if end.signal == signal.SIGKILL:
            return CellFault(FaultKind.MEMORY, "the program's process was killed by the system, short of memory")
        how = f"by {signal.Signals(end.signal).name}" if end.signal else "by itself"
        return CellFault(FaultKind.CRASH, f"the program's process ended {how}")


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
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self.broken: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(control.fileno(), self._on_event)

    @property
    def process(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

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
        ours.setblocking(False)
        forked: asyncio.Future[int] = self._loop.create_future()
        self._forking[number] = forked
        self._ends[number] = self._loop.create_future()
        try:
            with theirs:
                order = json.dumps({"order": "fork", "cell": number}).encode()
                await self._send(order, theirs.fileno())
            async with asyncio.timeout(FORK_SECONDS):
                process = await forked
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException as error:
            ours.close()  # a cell whose socket is closed before its first order ends by itself
            if isinstance(error, TimeoutError | PodBroken | OSError):
                raise PodBroken(f"no cell could be made: {error or 'the zygote does not answer'}") from error
            raise
        return Cell(number, process, reader, writer, self._ends[number], lambda: self._kill(number))

    def close(self) -> None:
        """Kill all cells and the zygote."""
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def _kill(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"order": "kill", "cell": number}).encode())

    async def _send(self, order: bytes, descriptor: int) -> None:
        while True:
            try:
                socket.send_fds(self._control, [order], [descriptor])
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
                _complete(self._forking.pop(number), event["process"])
            case "failed":
                failed = self._forking.pop(number)
                if not failed.done():
                    failed.set_exception(PodBroken(event["message"]))
            case "ended":
                self._processes.pop(number, None)
                _complete(self._ends.pop(number), Ended(event["signal"], event["cpu_seconds"]))

    def _on_death(self) -> None:
        self._loop.remove_reader(self._control.fileno())
        for forking in self._forking.values():
            if not forking.done():
                forking.set_exception(PodBroken("the zygote died"))
        for ended in self._ends.values():
            _complete(ended, Ended(0, 0.0))
        _complete(self.broken, None)


def start_zygote() -> Zygote:
    """Start a zygote with nothing of our environment but the module path."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-m", "spade_sandbox.pod.zygote", str(theirs.fileno())],
            env={**_ZYGOTE_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    return Zygote(process, ours)


def _complete(future: "asyncio.Future[Any]", value: object) -> None:
    if not future.done():
        future.set_result(value)
