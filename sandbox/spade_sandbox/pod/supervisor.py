"""The server's side of one cell: ask it with a deadline, kill it, and say how it ended.

Everything that a cell sends is read like a stranger's word: limited in size, validated by the protocol's models, and
matched to the first question that is open. Any misfit kills the cell.
"""

import asyncio
import json
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError

from spade_contracts.deadlines import Deadlines
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
from spade_sandbox.pod.frames import FrameTooLong
from spade_sandbox.pod.line import Heard, Line
from spade_sandbox.pod.output import Output

END_SECONDS = 60.0
"""How long a killed cell may take to be reaped, on however busy a node; past it the pod is broken."""
BUILD_SECONDS = 30.0
ENDING_SECONDS = 2.0
"""How long a cell that closed its socket is let end by itself, so that its end can be told from ours."""
CPU_TOLERANCE_SECONDS = 0.2
"""The kernel counts CPU time towards its limit in ticks, and finer in what it reports."""
INFO_BYTES = 256 * 2**10
"""What an answer may hold beside its text."""
MAX_ESCAPED_BYTES = 12
"""A character outside of the Basic Multilingual Plane, escaped in JSON."""
_ENCODE = msgspec.json.Encoder().encode
_ANSWER = TypeAdapter(Answer)
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


@dataclass(frozen=True)
class Question:
    """One that has been asked and not answered."""

    number: int
    operation: str
    deadline_seconds: float
    """From when the one before it is answered."""
    heard: Callable[[Heard], None]


@dataclass(eq=False)
class Cell:
    """One cell, from the pod's side."""

    number: int
    process: int
    """Its process id as the pod sees it."""
    line: Line
    output: Output
    ended: "asyncio.Future[Ended]"
    kill: Callable[[], None]
    deadlines: Deadlines
    """Shared by the pod's cells."""
    bounds: CellBounds | None = None
    """None until it has been built for a program."""
    killed_for: CellFault | None = None
    """Why we killed it, if we did."""
    ending_seconds: float = ENDING_SECONDS
    questions: int = field(default=0)
    _open: deque[Question] = field(default_factory=deque)
    """In the order in which the cell works on them."""

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
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self.ask_soon(order, deadline_seconds, lambda answer: complete(answered, answer))
        answer = await answered
        if answer is None:
            raise await self.bury()
        return answer

    def ask_soon(
        self, order: dict[str, Any], deadline_seconds: float, answered: Callable[[Answer | None], None]
    ) -> None:
        """Send one order and call `answered` with its validated answer, or with None: then `bury` says what it was.

        Orders may be sent ahead of the answers to others. After a None nothing more is answered.
        """
        assert self.bounds is not None
        operation = order["op"]
        limit_bytes = self.bounds.answer_bytes(operation)
        number = self.questions + 1

        def heard(said: Heard) -> None:
            answer = self._judged(said, number, operation)
            if answer is None:
                self._forget_questions()
            answered(answer)

        self._exchange(order, deadline_seconds, limit_bytes, heard)

    async def bury(self) -> CellFault:
        """Wait until a cell that failed is gone, and say why it did. Raises PodBroken if it stays."""
        if self.killed_for is None:
            await asyncio.wait({self.ended}, timeout=self.ending_seconds)
        closed = None if self.ended.done() else CellFault(FaultKind.CRASH, "the program closed its own socket")
        await self.destroy(closed)
        return self._fault()

    async def destroy(self, reason: CellFault | None) -> None:
        """Kill the cell's whole PID namespace and wait until it is gone. Raises PodBroken if it stays."""
        self._condemn(reason)
        self.line.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await asyncio.shield(self.ended)
        except TimeoutError:
            raise PodBroken(f"cell {self.number} (process {self.process}) does not die") from None
        finally:
            self.output.close()

    async def _ours(self, order: dict[str, Any], deadline_seconds: float) -> dict[str, Any]:
        """Ask a cell that holds no program yet."""
        answered: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()
        self._exchange(order, deadline_seconds, MAX_MESSAGE_BYTES, lambda said: complete(answered, said))
        frame = await answered
        if not isinstance(frame, bytes):
            raise await self.bury()
        said: dict[str, Any] = json.loads(frame)
        return said

    def _exchange(
        self, order: dict[str, Any], deadline_seconds: float, limit_bytes: int, heard: Callable[[Heard], None]
    ) -> None:
        """Send one order, and call `heard` with the frame that comes back.

        Anything else than a frame means that the cell is being killed, and `killed_for` says why, if it was us.
        """
        self.questions += 1
        self._open.append(Question(self.questions, order["op"], deadline_seconds, heard))
        if len(self._open) == 1:
            self.deadlines.set(self, deadline_seconds, self._late)
        self.line.ask(_ENCODE({"id": self.questions, **order}), limit_bytes, self._end)

    def _end(self, said: Heard) -> None:
        question = self._open.popleft()
        if self._open:
            self.deadlines.set(self, self._open[0].deadline_seconds, self._late)
        else:
            self.deadlines.clear(self)
        if isinstance(said, FrameTooLong):
            long = f"{question.operation} answered with {said}"
            self._condemn(CellFault(FaultKind.INVALID_RETURN, long, Limit.OBSERVATION))
        question.heard(said)

    def _late(self) -> None:
        late = self._open[0]
        self._forget_questions()
        message = f"{late.operation} took longer than {late.deadline_seconds} s"
        self._condemn(CellFault(FaultKind.TIMEOUT, message, Limit.WALL))
        late.heard(None)

    def _forget_questions(self) -> None:
        self._open.clear()
        self.line.forget()
        self.deadlines.clear(self)

    def _judged(self, said: Heard, number: int, operation: str) -> Answer | None:
        """The answer, if it is one; None once the cell is condemned or has ended."""
        assert self.bounds is not None
        if not isinstance(said, bytes):
            return None
        answer = _valid(said, number, operation)
        if answer is None:
            self._condemn(CellFault(FaultKind.CRASH, "the program broke its own process: no valid answer"))
        elif answer.error is not None:
            self._condemn(CellFault(answer.error.kind, answer.error.message, answer.error.limit))
        elif any(len(text) > self.bounds.text_characters for text in _texts(answer)):
            long = f"{operation} answered with a text of more than {self.bounds.text_characters} characters"
            self._condemn(CellFault(FaultKind.INVALID_RETURN, long, Limit.OBSERVATION))
        return None if self.killed_for is not None else answer

    def _condemn(self, reason: CellFault | None) -> None:
        """Kill the cell; the first reason stays. `bury` waits for its end."""
        if self.killed_for is None:
            self.killed_for = reason
        if not self.ended.done():
            self.kill()

    def _printed_too_much(self) -> None:
        assert self.bounds is not None
        message = f"the program printed more than {self.bounds.output_bytes} bytes"
        self._condemn(CellFault(FaultKind.CRASH, message, Limit.OUTPUT))

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
        answer = _ANSWER.validate_json(frame)
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


def complete(future: "asyncio.Future[Any]", value: object) -> None:
    """Give a future its value, unless it has one or whoever waited has gone."""
    if not future.done():
        future.set_result(value)
