"""The session protocol between trusted workers and sandbox pods (design §7).

One WebSocket per worker and pod; each text message is one JSON object. Requests carry an `id` chosen by the client;
answers repeat it and may come in any order. Requests may be sent before others are answered; those of one session run
in the order in which they were sent, and those behind a fault of its program are answered with it. The first request of
a connection is `hello`. A session lives as long as its connection. A message is one unfragmented text frame.

Whatever a sandbox sends is untrusted: clients validate every answer with these models and treat a misfit as a fault
of the pod. Every string, list and map has a maximum, and every number a range.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

from spade_contracts.base import Contract
from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.json_shape import json_object

PROTOCOL_VERSION = 2
MAX_MESSAGE_BYTES = 4 * 2**20
"""Largest message in either direction; a text of MAX_TEXT_CHARACTERS fits even if every character is escaped."""
MAX_SOURCE_CHARACTERS = 500_000
MAX_TEXT_CHARACTERS = 500_000
"""Hard bound of an observation, action or solution; limits of a session may be lower."""
MAX_ERROR_CHARACTERS = 2_000
MAX_INFO_ENTRIES = 32
MAX_INFO_KEY_CHARACTERS = 64
MAX_INFO_TEXT_CHARACTERS = 500
MAX_TOOLS = 64
MAX_TOOL_NAME_CHARACTERS = 128
MAX_TOOL_DESCRIPTION_CHARACTERS = 10_000
MAX_JSON_CHARACTERS = 100_000
MAX_INSTRUCTIONS = 64
MAX_VALUES = 256
"""Attributes that an inspection shows."""
MAX_VALUE_NAME_CHARACTERS = 128
MAX_VALUE_CHARACTERS = 2_100
MAX_SEED = 2**63 - 1

RequestId = Annotated[int, Field(ge=0, le=MAX_SEED)]
SessionId = Annotated[int, Field(ge=0, le=MAX_SEED)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARACTERS)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
InfoKey = Annotated[str, StringConstraints(max_length=MAX_INFO_KEY_CHARACTERS)]
InfoInteger = Annotated[int, Field(ge=-MAX_SEED, le=MAX_SEED)]
InfoValue = bool | InfoInteger | Finite | Annotated[str, StringConstraints(max_length=MAX_INFO_TEXT_CHARACTERS)]
Info = Annotated[dict[InfoKey, InfoValue], Field(max_length=MAX_INFO_ENTRIES)]
"""What is kept of a program's info dict: short scalars. Diagnostics only; no reward is computed from it."""
ToolName = Annotated[str, StringConstraints(max_length=MAX_TOOL_NAME_CHARACTERS)]
JsonText = Annotated[str, StringConstraints(max_length=MAX_JSON_CHARACTERS)]
JsonObject = Annotated[JsonText, AfterValidator(json_object)]
ValueName = Annotated[str, StringConstraints(max_length=MAX_VALUE_NAME_CHARACTERS)]
ValueText = Annotated[str, StringConstraints(max_length=MAX_VALUE_CHARACTERS)]


class FaultKind(StrEnum):
    """Why an operation was not done."""

    TIMEOUT = "timeout"
    """The program used more wall-clock or CPU time than its limits allow; its cell was killed."""
    MEMORY = "memory"
    """The program used more memory than its limits allow."""
    CRASH = "crash"
    """The program raised, exited or broke its own process."""
    INVALID_RETURN = "invalid_return"
    """The program returned something of a wrong type, size or value."""
    CAPACITY = "capacity"
    """The pod takes no further session now: it is full or draining. Only clients queue."""
    LOST = "lost"
    """The pod lost the session through no fault of the program."""
    UNKNOWN_SOURCE = "unknown_source"
    """The pod does not hold this source (any more): `put` it and open again."""
    BAD_REQUEST = "bad_request"
    """The request breaks the protocol."""
    UNAUTHORIZED = "unauthorized"
    """The token opens nothing here."""
    NOT_ISOLATED = "not_isolated"
    """The pod has not proven its isolation or lacks a wall; it runs no program."""
    UNSUPPORTED = "unsupported"
    """The pod or the session's domain has no such operation."""


PROGRAM_FAULTS = frozenset({FaultKind.TIMEOUT, FaultKind.MEMORY, FaultKind.CRASH, FaultKind.INVALID_RETURN})
"""Faults of the program itself. Each ends its session."""


class Limit(StrEnum):
    """Which limit of its session a program exceeded. The fault's kind says what to do about it."""

    MEMORY = "memory"
    """Memory of the whole cell; the kind is `memory`."""
    CPU = "cpu"
    """CPU time over the session's life; `timeout`."""
    WALL = "wall"
    """Wall clock of one operation; `timeout`."""
    PROCESSES = "processes"
    """A second process or thread, or another program in its place: none is allowed; `crash`."""
    OPEN_FILES = "open_files"
    """Open file descriptors; `crash`."""
    FILE_BYTES = "file_bytes"
    """Scratch files: their bytes, or their number; `crash`."""
    OUTPUT = "output"
    """Bytes printed over the session's life; `crash`."""
    OBSERVATION = "observation"
    """Characters of an observation, solution or other answer; `invalid_return`."""
    ACTION = "action"
    """Characters of an action: the client's mistake, so the session lives on; `bad_request`."""
    RECURSION = "recursion"
    """Python's recursion limit; `crash`."""


class Message(Contract):
    """Base of all messages: no type is coerced, so `"1"` is no number and `1` no truth value."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True)


class Load(Message):
    """How full the pod is; clients place new sessions by it."""

    sessions: int = Field(ge=0, le=1_000_000)
    capacity: int = Field(ge=0, le=1_000_000)
    """0 while the pod drains or is not isolated."""


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Hello(Message):
    """First request of a connection."""

    op: Literal["hello"] = "hello"
    id: RequestId
    version: int = Field(ge=1, le=1_000)
    token: str = Field(max_length=512)


class Put(Message):
    """Upload one program; the pod checks the digest and may forget it later."""

    op: Literal["put"] = "put"
    id: RequestId
    sha256: Sha256
    source: str = Field(max_length=MAX_SOURCE_CHARACTERS)


class Open(Message):
    """Start a cell, load the program and construct its environment with `max_turns`."""

    op: Literal["open"] = "open"
    id: RequestId
    sha256: Sha256
    domain: Domain
    max_turns: int = Field(ge=1, le=100_000)
    limits: SandboxLimits
    other_hash_seed: bool = False
    """Run the program with another PYTHONHASHSEED than usual, to see whether its episodes depend on it."""


class Reset(Message):
    """Begin an episode. A seed also seeds the cell's global random generators; None leaves them as they are."""

    op: Literal["reset"] = "reset"
    id: RequestId
    session: SessionId
    seed: Seed | None


class Step(Message):
    """One action, passed to the program as given."""

    op: Literal["step"] = "step"
    id: RequestId
    session: SessionId
    action: Text


class Tools(Message):
    """Schemas of a tool environment's tools."""

    op: Literal["tools"] = "tools"
    id: RequestId
    session: SessionId


class Call(Message):
    """One tool call (method.md §2.6 `execute_tool`). It does not advance the environment's turn counter."""

    op: Literal["call"] = "call"
    id: RequestId
    session: SessionId
    name: ToolName
    arguments: JsonText
    """A JSON object, as the player wrote it; anything else is answered with the tool's error output."""


class Solution(Message):
    """The program's own solution text."""

    op: Literal["solution"] = "solution"
    id: RequestId
    session: SessionId


class Inspect(Message):
    """Hidden state and criteria, for verification and live detectors; never shown to a player."""

    op: Literal["inspect"] = "inspect"
    id: RequestId
    session: SessionId


class Look(Message):
    """How full the pod is now. That it answers at all shows that it serves."""

    op: Literal["look"] = "look"
    id: RequestId


class Close(Message):
    """End a session and kill its cell; closing an unknown session is no error."""

    op: Literal["close"] = "close"
    id: RequestId
    session: SessionId


SessionRequest = Reset | Step | Tools | Call | Solution | Inspect
Request = Annotated[
    Hello | Put | Open | Reset | Step | Tools | Call | Solution | Inspect | Look | Close,
    Field(discriminator="op"),
]
REQUEST: TypeAdapter[Request] = TypeAdapter(Request)


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class HelloResult(Message):
    """The pod accepts the connection."""

    op: Literal["hello"] = "hello"
    version: int = Field(ge=1, le=1_000)
    boot_id: str = Field(min_length=8, max_length=64)
    load: Load


class PutResult(Message):
    """The program is stored."""

    op: Literal["put"] = "put"


class OpenResult(Message):
    """A live session."""

    op: Literal["open"] = "open"
    session: SessionId
    load: Load


class ResetResult(Message):
    """First observation of an episode."""

    op: Literal["reset"] = "reset"
    observation: Text
    info: Info


class StepResult(Message):
    """What the environment says to an action. `reward` is finite and otherwise as the program gave it."""

    op: Literal["step"] = "step"
    observation: Text
    reward: Finite
    terminated: bool
    truncated: bool
    info: Info


class ToolSchema(Message):
    """One tool as the player is told of it."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_TOOL_NAME_CHARACTERS)]
    description: str = Field(max_length=MAX_TOOL_DESCRIPTION_CHARACTERS)
    parameters: JsonObject
    """JSON schema of the arguments."""


class ToolsResult(Message):
    """The environment's tools."""

    op: Literal["tools"] = "tools"
    tools: tuple[ToolSchema, ...] = Field(max_length=MAX_TOOLS)


class CallResult(Message):
    """What a tool returned; a tool's exception is an output with a non-zero code."""

    op: Literal["call"] = "call"
    output: Text
    returncode: int = Field(ge=0, le=255)


class SolutionResult(Message):
    """The program's own solution."""

    op: Literal["solution"] = "solution"
    text: Text


class Criterion(StrEnum):
    """What a criterion says of the present state (method.md §2.6)."""

    TRUE = "true"
    FALSE = "false"
    RAISES = "raises"


class InspectResult(Message):
    """What the environment holds. A program can lie about it like about everything else."""

    op: Literal["inspect"] = "inspect"
    values: Annotated[dict[ValueName, ValueText], Field(max_length=MAX_VALUES)]
    """Canonical text of each attribute (games) or entry of `_state` (tools)."""
    instruction: int = Field(ge=0, le=1_000_000)
    """Index of the current instruction, which is the number completed; 0 without instructions."""
    instructions: tuple[Text, ...] = Field(max_length=MAX_INSTRUCTIONS)
    criteria: tuple[Criterion, ...] = Field(max_length=MAX_INSTRUCTIONS)
    """One per instruction, on the present state."""


class LookResult(Message):
    """How full the pod is."""

    op: Literal["look"] = "look"
    load: Load


class CloseResult(Message):
    """The session's cell is dead."""

    op: Literal["close"] = "close"
    load: Load
    cpu_seconds: float = Field(ge=0, le=1e9, allow_inf_nan=False)
    """CPU time of the cell over its life; 0 if there was no such session."""


Result = Annotated[
    HelloResult
    | PutResult
    | OpenResult
    | ResetResult
    | StepResult
    | ToolsResult
    | CallResult
    | SolutionResult
    | InspectResult
    | LookResult
    | CloseResult,
    Field(discriminator="op"),
]


class Fault(Message):
    """A typed error. `message` is text for people and may come from the program: never parse it."""

    kind: FaultKind
    message: str = Field(max_length=MAX_ERROR_CHARACTERS)
    limit: Limit | None = None
    """The limit that was exceeded, if that is what happened."""


class Answer(Message):
    """Answer to one request: `ok` or `error`."""

    id: RequestId
    ok: Result | None = None
    error: Fault | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "Answer":
        if (self.ok is None) == (self.error is None):
            raise ValueError("an answer holds either ok or error; send exactly one of them")
        return self


def fault(request_id: int, kind: FaultKind, message: str, limit: Limit | None = None) -> Answer:
    """An error answer; the message is cut to what the protocol carries."""
    return Answer(id=request_id, error=Fault(kind=kind, message=message[:MAX_ERROR_CHARACTERS], limit=limit))
