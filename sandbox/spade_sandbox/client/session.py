"""One live environment program, as a trusted worker uses it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault, InvalidInput
from spade_contracts.protocol import (
    MAX_JSON_CHARACTERS,
    MAX_TOOL_NAME_CHARACTERS,
    Call,
    Close,
    CloseResult,
    Criterion,
    Inspect,
    InspectResult,
    Request,
    Reset,
    ResetResult,
    Solution,
    SolutionResult,
    Step,
    Tools,
    ToolsResult,
)
from spade_contracts.protocol import CallResult as CallMessage
from spade_contracts.protocol import StepResult as StepMessage
from spade_sandbox.client.errors import Refused, SandboxLost
from spade_sandbox.client.link import PodLink, ResultT
from spade_sandbox.client.stats import OK, PoolStats, outcome_of

GRACE_SECONDS = 20.0
"""What an answer may take beyond the program's own limit: the pod kills at the limit and then still has to answer."""
CLOSE_SECONDS = 15.0
MAX_UNDER_WAY = 16
"""Operations of one session that the pod is sent before it has answered the first: as many as it looks ahead."""


@dataclass(frozen=True)
class StepResult:
    """What the environment says to one action.

    `reward` is finite and as the program gave it, not clipped. `info` holds short scalars for diagnostics only.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, bool | int | float | str]


@dataclass(frozen=True)
class Tool:
    """One tool as the player is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments, as the program wrote it."""

    def function_schema(self) -> dict[str, Any]:
        """As chat templates take it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class CallResult:
    """What a tool says. `returncode` is 0, or not when the call failed, which is the player's error."""

    output: str
    returncode: int


@dataclass(frozen=True)
class Inspection:
    """Hidden state, for verification and live detectors; never shown to a player."""

    values: dict[str, str]
    """Canonical text of each attribute (games) or entry of `_state` (tools); a long one ends in its digest."""
    instruction: int
    """Index of the current instruction, which is the number completed."""
    instructions: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    """One per instruction, on the present state."""


class SandboxSession:
    """Made by SandboxPool.session. Operations run one at a time, in the order in which they were begun.

    They may be begun before others are done: what does not depend on the answers takes half the time. After an error
    the session is over, and what was begun behind it raises it; after a cancellation nothing more can be begun.
    """

    def __init__(
        self, link: PodLink, number: int, limits: SandboxLimits, stats: PoolStats, domain: Domain = Domain.GAMES
    ) -> None:
        self._link = link
        self._number = number
        self._limits = limits
        self._stats = stats
        self._domain = domain
        self._over: EnvironmentFault | SandboxLost | None = None
        """What every later operation raises."""
        self._closed = False
        self._room = asyncio.Semaphore(MAX_UNDER_WAY)
        self._seconds_under_way = 0.0
        """What the operations under way may take together; they are done one after the other."""
        self.error: EnvironmentFault | SandboxLost | None = None
        """What ended the session against our will; None if nothing did."""
        self.cpu_seconds = 0.0
        """CPU time of the program over its life, known once the session is closed."""

    @property
    def pod(self) -> str:
        """Address and boot id of the pod, for records."""
        return f"{self._link.address}/{self._link.boot_id}"

    async def reset(self, seed: int | None) -> str:
        """Begin an episode and return its first observation. None draws from the program's running generator."""
        result = await self._do(
            lambda number: Reset(id=number, session=self._number, seed=seed), ResetResult, self._limits.load_seconds
        )
        return self._sized(result.observation)

    async def step(self, action: str) -> StepResult:
        """Take one action; a longer one than the limit is cut (method.md §4.2). A step is never retried."""
        text = _encodable(action[: self._limits.action_characters])
        started = asyncio.get_running_loop().time()
        result = await self._do(
            lambda number: Step(id=number, session=self._number, action=text), StepMessage, self._limits.step_seconds
        )
        self._stats.observe_step(asyncio.get_running_loop().time() - started)
        return StepResult(
            self._sized(result.observation), result.reward, result.terminated, result.truncated, dict(result.info)
        )

    async def solution(self) -> str:
        """The program's own solution text."""
        result = await self._do(
            lambda number: Solution(id=number, session=self._number), SolutionResult, self._limits.step_seconds
        )
        return self._sized(result.text)

    async def tools(self) -> tuple[Tool, ...]:
        """The tools of a tool-use program; ask after a reset. Raises InvalidInput in a session of another domain."""
        result = await self._do_in_tools(
            lambda number: Tools(id=number, session=self._number), ToolsResult, self._limits.step_seconds
        )
        return tuple(Tool(one.name, one.description, from_json(one.parameters)) for one in result.tools)

    async def call(self, name: str, arguments: str) -> CallResult:
        """Call one tool. `arguments`: a JSON object as text, as the player wrote it. A call is never retried.

        A tool that raises, does not exist, or gets no JSON object answers with a non-zero code: that is no fault.
        """
        name = _encodable(name[:MAX_TOOL_NAME_CHARACTERS])
        text = _encodable(arguments[: min(self._limits.action_characters, MAX_JSON_CHARACTERS)])
        started = asyncio.get_running_loop().time()
        result = await self._do_in_tools(
            lambda number: Call(id=number, session=self._number, name=name, arguments=text),
            CallMessage,
            self._limits.step_seconds,
        )
        self._stats.observe_step(asyncio.get_running_loop().time() - started)
        return CallResult(self._sized(result.output), result.returncode)

    async def inspect(self) -> Inspection:
        """Hidden state and criteria. Looking changes nothing in an honest program."""
        result = await self._do(
            lambda number: Inspect(id=number, session=self._number), InspectResult, self._limits.step_seconds
        )
        for text in result.instructions:
            self._sized(text)
        return Inspection(dict(result.values), result.instruction, result.instructions, result.criteria)

    async def close(self) -> None:
        """End the session; its slot is free when this returns. Closing twice, or a lost session, is no error."""
        if self._closed:
            return
        self._closed = True
        self._over = self._over or SandboxLost("the session was closed")
        try:
            result = await self._link.request(
                lambda number: Close(id=number, session=self._number), CloseResult, CLOSE_SECONDS
            )
            self._link.load, self.cpu_seconds = result.load, result.cpu_seconds
        except SandboxLost as error:
            if not self._link.lost.done():  # else nothing was asked of a lost pod, and nothing is missing
                self.error = self.error or error
        except (Refused, EnvironmentFault) as error:
            self.error = self._link.give_up(f"refused to close a session ({error})")

    async def _do(self, make: Callable[[int], Request], expected: type[ResultT], limit_seconds: float) -> ResultT:
        try:
            async with self._room:
                if self._over is not None:
                    raise self._over
                self._seconds_under_way += limit_seconds
                try:
                    result = await self._link.request(make, expected, self._seconds_under_way + GRACE_SECONDS)
                finally:
                    self._seconds_under_way -= limit_seconds
        except (EnvironmentFault, SandboxLost) as error:
            raise self._fail(error) from None
        except Refused as error:
            raise self._fail(self._link.give_up(f"refused a live session's operation ({error})")) from error
        except asyncio.CancelledError:
            self._over = SandboxLost("an operation of this session was cancelled, so nobody knows where it stands")
            raise
        self._stats.count(OK)
        return result

    def _fail(self, error: EnvironmentFault | SandboxLost) -> EnvironmentFault | SandboxLost:
        """What to raise: the first error, which is counted; the others are only its echo."""
        if self._over is not None:
            return self._over
        self._over = self.error = error
        self._stats.count(outcome_of(error))
        return error

    async def _do_in_tools(
        self, make: Callable[[int], Request], expected: type[ResultT], limit_seconds: float
    ) -> ResultT:
        if self._domain is not Domain.TOOLS:
            raise InvalidInput("session", "games have no tools", remedy="Open the program with Domain.TOOLS.")
        return await self._do(make, expected, limit_seconds)

    def _sized(self, text: str) -> str:
        if len(text) > self._limits.observation_characters:
            raise self._fail(self._link.give_up("sent a longer text than the session's limit"))
        return text


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode()
