"""One live environment program, as a trusted worker uses it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_contracts.protocol import Close, CloseResult, Request, Reset, ResetResult, Solution, SolutionResult, Step
from spade_contracts.protocol import StepResult as StepMessage
from spade_sandbox.client.errors import Refused, SandboxLost
from spade_sandbox.client.link import PodLink, ResultT
from spade_sandbox.client.stats import PoolStats

GRACE_SECONDS = 20.0
"""What an answer may take beyond the program's own limit: the pod kills at the limit and then still has to answer."""
CLOSE_SECONDS = 15.0


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


class SandboxSession:
    """Made by SandboxPool.session. Operations run one at a time; after an error the session is over."""

    def __init__(self, link: PodLink, number: int, limits: SandboxLimits, stats: PoolStats) -> None:
        self._link = link
        self._number = number
        self._limits = limits
        self._stats = stats
        self._over: EnvironmentFault | SandboxLost | None = None

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
        text = action[: self._limits.action_characters].encode("utf-8", "replace").decode()
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

    async def close(self) -> None:
        """End the session; its slot is free when this returns. Closing twice, or a lost session, is no error."""
        if isinstance(self._over, SandboxLost) and self._link.lost.done():
            return
        self._over = self._over or SandboxLost("the session was closed")
        try:
            result = await self._link.request(
                lambda number: Close(id=number, session=self._number), CloseResult, CLOSE_SECONDS
            )
            self._link.load = result.load
        except (SandboxLost, Refused):
            return

    async def _do(self, make: Callable[[int], Request], expected: type[ResultT], limit_seconds: float) -> ResultT:
        if self._over is not None:
            raise self._over
        try:
            result = await self._link.request(make, expected, limit_seconds + GRACE_SECONDS)
        except (EnvironmentFault, SandboxLost) as error:
            self._over = error
        except Refused as error:
            self._over = self._link.give_up(f"refused a live session's operation ({error})")
        else:
            self._stats.count("ok")
            return result
        self._stats.count(self._over.kind if isinstance(self._over, EnvironmentFault) else "lost")
        raise self._over

    def _sized(self, text: str) -> str:
        if len(text) > self._limits.observation_characters:
            self._over = self._link.give_up("sent a longer text than the session's limit")
            self._stats.count("lost")
            raise self._over
        return text
