"""Programs that run in this process, by the classes that a sandbox pod runs them with; for trusted programs only."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from spade_contracts.config.environments import Domain
from spade_contracts.errors import EnvironmentFault
from spade_contracts.protocol import CallResult as CallMessage
from spade_contracts.protocol import ToolsResult
from spade_sandbox.client import CallResult, PoolStats, StepResult, Tool
from spade_sandbox.pod.programs import games, tools
from spade_sandbox.pod.programs.loading import load

CHARACTERS = 20_000


class SessionHere:
    """One live program."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment

    async def reset(self, seed: int | None) -> str:
        return str(games.reset(self._environment, seed, CHARACTERS)["observation"])

    async def step(self, action: str) -> StepResult:
        try:
            said = games.step(self._environment, action, CHARACTERS)
        except Exception as error:
            raise EnvironmentFault("crash", f"crash: {error}") from error
        return StepResult(said["observation"], said["reward"], said["terminated"], said["truncated"], said["info"])

    async def tools(self) -> tuple[Tool, ...]:
        said = ToolsResult.model_validate(tools.tools(self._environment), strict=False)
        return tuple(Tool(one.name, one.description, json.loads(one.parameters)) for one in said.tools)

    async def call(self, name: str, arguments: str) -> CallResult:
        said = CallMessage.model_validate(tools.call(self._environment, name, arguments, CHARACTERS))
        return CallResult(said.output, said.returncode)


class PoolHere:
    """Opens sessions as `SandboxPool` does."""

    stats = PoolStats()

    @asynccontextmanager
    async def session(
        self, source: str, limits: object, domain: Domain, *, max_turns: int, wait_seconds: float
    ) -> AsyncIterator[SessionHere]:
        yield SessionHere(load(source, max_turns))
