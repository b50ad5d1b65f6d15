"""The server's side of one cell: ask it with a deadline, kill it, and say how it ended.

Everything that a cell sends is read like a stranger's word: limited in size, validated by the protocol's models, and
matched to the one question that is open. Any misfit kills the cell.
"""

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from spade_contracts.json_shape import has_more_values
from spade_contracts.protocol import (
    MAX_MESSAGE_BYTES,
    PROGRAM_FAULTS,
    Answer,
    CallResult,
    FaultKind,
    InspectResult,
    Limit,
    ResetResult,
    SolutionResult,
    StepResult,
)
from spade_sandbox.pod.frames import FrameTooLong, receive_frame, send_frame
from spade_sandbox.pod.output import Output

END_SECONDS = 60.0
"""How long a killed cell may take to be reaped, on however busy a node; past it the pod is broken."""
BUILD_SECONDS = 30.0
CPU_TOLERANCE_SECONDS = 0.2
"""The kernel counts CPU time towards its limit in ticks, and finer in what it reports."""
INFO_BYTES = 256 * 2**10
"""What an answer may hold beside its text."""
MAX_ESCAPED_BYTES = 12
"""A character outside of the Basic Multilingual Plane, escaped in JSON."""
_LISTS = frozenset({"tools", "inspect"})


class PodBroken(Exception):
    """The zygote failed; the pod must start anew, as a new, unproven one."""


class CellFault(Exception):
    """A cell's program ended the session; `kind` and `limit` are the protocol's words."""

    def __init__(self, kind: FaultKind, message: str, limit: Limit | None = None) -> None:
        self.kind = kind
        self.limit = limit
        super().__init__(message)


@dataclass(frozen=True)
class Ended:
    """How a cell ended."""

    signal: int
    cpu_seconds: float


@dataclass(frozen=True)
class CellBounds:
    """What the supervisor and its watch hold a cell to, beside what the kernel does."""

    memory_bytes: int
    cpu_seconds: int
    output_bytes: int
    text_characters: int
    """Longest text in an answer."""

    def answer_bytes(self, operation: str) -> int:
        """Longest answer, so that a program that speaks for itself cannot make the server parse for long."""
        if operation in _LISTS:
            return MAX_MESSAGE_BYTES
        return min(MAX_MESSAGE_BYTES, INFO_BYTES + MAX_ESCAPED_BYTES * self.text_characters)


@dataclass(eq=False)
class Cell:
    """One cell, from the pod's side."""

    number: int
    process: int
    """Its process id as the pod sees it."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    output: Output
    ended: "asyncio.Future[Ended]"
    kill: Callable[[], None]
    bounds: CellBounds | None = None
    """None until it has been built for a program."""
    killed_for: CellFault | None = None
    """Why we killed it, if we did."""
    questions: int = field(default=0)

    async def try_walls(self, order: dict[str, Any], deadline_seconds: float) -> dict[str, str]:
        """Findings by wall (trials.py). Raises CellFault, after which the cell is dead."""
        said = await self._ours({"op": "try", **order}, deadline_seconds)
        findings = said.get("findings")
        if not isinstance(findings, dict):
            raise CellFault(FaultKind.LOST, str(said.get("error", {}).get("message", "no findings")))
        return findings

    async def build(self, order: dict[str, Any], bounds: CellBounds) -> None:
        """Have it build its walls; no program is in it yet. Raises CellFault (lost), after which the cell is dead."""
        try:
            said = await self._ours({"op": "build", **order}, BUILD_SECONDS)
        except CellFault as error:
            raise CellFault(FaultKind.LOST, f"the cell was not built: {error}") from error
        if not said.get("built"):
            await self.destroy(CellFault(FaultKind.LOST, str(said.get("error", {}).get("message", "it was not built"))))
            raise self._fault()
        self.bounds = bounds
        self.output.limit(bounds.output_bytes, self._printed_too_much)

    async def ask(self, order: dict[str, Any], deadline_seconds: float) -> Answer:
        """Send one order and return its validated answer. Raises CellFault, after which the cell is dead."""
        assert self.bounds is not None
        limit_bytes = self.bounds.answer_bytes(order["op"])
        number, frame = await self._exchange(order, deadline_seconds, limit_bytes)
        answer = _valid(frame, number, order["op"])
        if answer is None:
            await self.destroy(CellFault(FaultKind.CRASH, "the program broke its own process: no valid answer"))
            raise self._fault()
        if answer.error is not None:
            await self.destroy(CellFault(answer.error.kind, answer.error.message, answer.error.limit))
            raise self._fault()
        if any(len(text) > self.bounds.text_characters for text in _texts(answer)):
            long = f"{order['op']} answered with a text of more than {self.bounds.text_characters} characters"
            await self.destroy(CellFault(FaultKind.INVALID_RETURN, long, Limit.OBSERVATION))
        if self.killed_for is not None:
            await self.destroy(None)
            raise self._fault()
        return answer

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
        finally:
            self.output.close()

    async def _ours(self, order: dict[str, Any], deadline_seconds: float) -> dict[str, Any]:
        """Ask a cell that holds no program yet."""
        _, frame = await self._exchange(order, deadline_seconds, MAX_MESSAGE_BYTES)
        said: dict[str, Any] = json.loads(frame)
        return said

    async def _exchange(self, order: dict[str, Any], deadline_seconds: float, limit_bytes: int) -> tuple[int, bytes]:
        """Send one order; its number, and the frame that came back. Raises CellFault, after which the cell is dead."""
        self.questions += 1
        number, operation = self.questions, order["op"]
        try:
            async with asyncio.timeout(deadline_seconds):
                await send_frame(self.writer, json.dumps({"id": number, **order}).encode())
                frame = await receive_frame(self.reader, limit_bytes)
        except TimeoutError:
            late = f"{operation} took longer than {deadline_seconds} s"
            await self.destroy(CellFault(FaultKind.TIMEOUT, late, Limit.WALL))
            raise self._fault() from None
        except FrameTooLong as error:
            long = f"{operation} answered with {error}"
            await self.destroy(CellFault(FaultKind.INVALID_RETURN, long, Limit.OBSERVATION))
            raise self._fault() from error
        if frame is None:
            await self.destroy(None)
            raise self._fault()
        return number, frame

    def _printed_too_much(self) -> None:
        assert self.bounds is not None
        if self.killed_for is None:
            message = f"the program printed more than {self.bounds.output_bytes} bytes"
            self.killed_for = CellFault(FaultKind.CRASH, message, Limit.OUTPUT)
        self.kill()

    def _fault(self) -> CellFault:
        """Why the cell has ended."""
        if self.killed_for is not None:
            return self.killed_for
        end = self.ended.result()
        limit = self.bounds.cpu_seconds if self.bounds else None
        if limit is not None and end.signal and end.cpu_seconds >= limit - CPU_TOLERANCE_SECONDS:
            return CellFault(FaultKind.TIMEOUT, f"the program used its {limit} s of CPU time", Limit.CPU)
        if end.signal == signal.SIGSYS:
            return CellFault(FaultKind.CRASH, "the program began another process or thread", Limit.PROCESSES)
        if end.signal == signal.SIGKILL:
            message = "the program's process was killed by the system, short of memory"
            return CellFault(FaultKind.MEMORY, message, Limit.MEMORY)
        how = f"by {signal.Signals(end.signal).name}" if end.signal else "by itself"
        return CellFault(FaultKind.CRASH, f"the program's process ended {how}")


def _valid(frame: bytes, number: int, operation: str) -> Answer | None:
    """The answer to this question, with no fault that only we may tell; None if the frame is anything else."""
    if has_more_values(frame):
        return None
    try:
        answer = Answer.model_validate_json(frame)
    except ValidationError:
        return None
    if answer.error is not None:
        return answer if answer.id == number and answer.error.kind in PROGRAM_FAULTS else None
    return answer if answer.id == number and answer.ok is not None and answer.ok.op == operation else None


def _texts(answer: Answer) -> tuple[str, ...]:
    """Texts of an answer that the session's limit concerns."""
    match answer.ok:
        case ResetResult() | StepResult():
            return (answer.ok.observation,)
        case SolutionResult():
            return (answer.ok.text,)
        case CallResult():
            return (answer.ok.output,)
        case InspectResult():
            return answer.ok.instructions
        case _:
            return ()
