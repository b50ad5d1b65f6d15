"""An episode under way: what the sandbox was asked and what it answered, in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from spade_contracts.statuses import Outcome
from spade_contracts.tool_calls import ToolCall, spelled
from spade_sandbox.client import CallResult, StepResult, Tool
from spade_trainer.chat import USER


class Session(Protocol):
    """A live environment program (spade_sandbox.client.SandboxSession)."""

    async def reset(self, seed: int | None) -> str:
        """Begin an episode."""

    async def step(self, action: str) -> StepResult:
        """Take one action."""

    async def tools(self) -> tuple[Tool, ...]:
        """The tools of a tool-use program."""

    async def call(self, name: str, arguments: str) -> CallResult:
        """Call one tool."""


@dataclass
class Course:
    """What has happened in a sandbox. Changed by the functions of this module only."""

    opening: str = ""
    actions: list[str] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    """Answers; a tool's is a step without reward that ends nothing."""
    operation: str = "open"
    """What the sandbox is asked for at present."""

    @property
    def terminated(self) -> bool:
        """Whether the program said that the episode reached its end."""
        return bool(self.steps) and self.steps[-1].terminated


@dataclass(frozen=True)
class Answered:
    """What a turn of the player led to."""

    messages: tuple[Mapping[str, object], ...] = ()
    """What it is answered with, unless the episode is over."""
    outcome: Outcome | None = None
    """How the episode ended, if it did."""
    malformed: bool = False
    """Whether a tool call in it could not be read."""


async def begin_episode(course: Course, session: Session, seed: int | None) -> None:
    """Reset the program."""
    course.operation = "reset"
    course.opening = await session.reset(seed)


async def take_step(course: Course, session: Session, action: str) -> Answered:
    """Give the program one action."""
    course.operation = "step"
    course.actions.append(action)
    result = await session.step(action)
    course.steps.append(result)
    if result.terminated:
        return Answered(outcome=Outcome.SCORED)
    if result.truncated:
        return Answered(outcome=Outcome.TRUNCATED)
    return Answered(({"role": USER, "content": result.observation},))


async def call_tool(course: Course, session: Session, call: ToolCall) -> str:
    """Let the program execute one tool and return its output. A call that fails is answered like any other."""
    course.operation = "call"
    sent = ToolCall(*(text.encode("utf-8", "replace").decode() for text in (call.name, call.arguments)))
    course.actions.append(spelled(sent))
    result = await session.call(sent.name, sent.arguments)
    course.steps.append(StepResult(result.output, 0.0, False, False, {}))
    return result.output
