"""A front that OpenEnv's clients talk to: one WebSocket is one environment, served by a session of a sandbox pool.

Served: `/ws` and `/programs/NAME/ws` (reset, step, state, close; step also takes the clients' `list_tools` and
`call_tool`), `/health`, `/metadata`, `/schema`. A reset names its program (`program=`) where the address does not.
"""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from aiohttp import WSMsgType, web
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError
from pydantic_core import from_json

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault, InfrastructureFault, InvalidInput, SpadeError
from spade_contracts.protocol import MAX_MESSAGE_BYTES, MAX_SEED
from spade_sandbox.client import NoCapacity, SandboxPool, SandboxSession

HEARTBEAT_SECONDS = 30.0
"""A client that answers no ping for half as long is gone, and its session with it."""


@dataclass(frozen=True)
class Served:
    """What a front serves."""

    programs: Mapping[str, str]
    """Sources by name."""
    pool: SandboxPool
    limits: SandboxLimits
    domain: Domain
    max_turns: int
    wait_seconds: float
    """How long a reset may wait for a pod; below the client's own deadline."""


class TextAction(BaseModel):
    """One action: a game's command, or a tool player's text."""

    model_config = ConfigDict(extra="forbid")

    action: str
    metadata: dict[str, Any] = {}


class TextObservation(BaseModel):
    """What the environment says."""

    text: str
    terminated: bool
    truncated: bool
    info: dict[str, bool | int | float | str]


class EpisodeState(BaseModel):
    """Where the episode stands."""

    episode_id: str | None = None
    step_count: int = 0
    program: str | None = None
    seed: int | None = None


class _Reset(BaseModel):
    """What a reset may say; other keys are for other environments and ignored."""

    seed: int | None = Field(default=None, ge=0, le=MAX_SEED)
    episode_id: str | None = Field(default=None, max_length=255)
    program: str | None = Field(default=None, max_length=255)


class _ListTools(BaseModel):
    type: Literal["list_tools"]


class _CallTool(BaseModel):
    type: Literal["call_tool"]
    tool_name: str
    arguments: dict[str, Any] = {}


def _kind_of(data: Any) -> str:
    kind = data.get("type") if isinstance(data, dict) else None
    return kind if kind in ("list_tools", "call_tool") else "text"


_STEP: TypeAdapter[TextAction | _ListTools | _CallTool] = TypeAdapter(
    Annotated[
        Annotated[TextAction, Tag("text")]
        | Annotated[_ListTools, Tag("list_tools")]
        | Annotated[_CallTool, Tag("call_tool")],
        Discriminator(_kind_of),
    ]
)


def application(served: Served) -> web.Application:
    """The front as an aiohttp application."""

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    async def metadata(_: web.Request) -> web.Response:
        description = f"{len(served.programs)} programs of the domain {served.domain.value} in verified sandboxes"
        return web.json_response({"name": "spade", "description": description})

    async def schema(_: web.Request) -> web.Response:
        parts: dict[str, type[BaseModel]] = {
            "action": TextAction,
            "observation": TextObservation,
            "state": EpisodeState,
        }
        return web.json_response({name: model.model_json_schema() for name, model in parts.items()})

    async def connected(request: web.Request) -> web.WebSocketResponse:
        name = request.match_info.get("name")
        if name is not None and name not in served.programs:
            raise web.HTTPNotFound(text=f"there is no program {name} here")
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=MAX_MESSAGE_BYTES)
        await socket.prepare(request)
        with suppress(ConnectionError):  # the client has gone
            async with AsyncExitStack() as stack:
                await _converse(socket, _Episode(served, name, stack))
            await socket.close()
        return socket

    app = web.Application()
    app.add_routes([
        web.get("/health", health),
        web.get("/metadata", metadata),
        web.get("/schema", schema),
        web.get("/ws", connected),
        web.get("/programs/{name}/ws", connected),
    ])  # fmt: skip
    return app


async def _converse(socket: web.WebSocketResponse, episode: "_Episode") -> None:
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            return
        try:
            request = from_json(message.data)
        except ValueError as error:
            await socket.send_json(_error("INVALID_JSON", str(error)))
            continue
        if isinstance(request, dict) and request.get("type") == "close":
            return
        await socket.send_json(await _answer(request, episode))


async def _answer(request: Any, episode: "_Episode") -> dict[str, Any]:
    """What one message gets."""
    try:
        match request:
            case {"type": "reset"}:
                return _result(await episode.reset(_Reset.model_validate(request.get("data") or {})))
            case {"type": "step", "data": data}:
                return _result(await episode.step(_STEP.validate_python(data)))
            case {"type": "state"}:
                return {"type": "state", "data": episode.state.model_dump()}
            case _:
                return _error("UNKNOWN_TYPE", "a message is reset, step with data, state, or close")
    except (ValidationError, SpadeError) as error:
        return _refusal(error)


def _refusal(error: ValidationError | SpadeError) -> dict[str, Any]:
    """The error message that a fault means. `infrastructure`: ours, so the episode must not be scored."""
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            return _error("VALIDATION_ERROR", f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        case EnvironmentFault():
            return _error("EXECUTION_ERROR", str(error), kind=error.kind, infrastructure=False)
        case NoCapacity():
            return _error("CAPACITY_REACHED", str(error), kind="no_capacity", infrastructure=True)
        case InfrastructureFault():
            return _error("SESSION_ERROR", str(error), kind="lost", infrastructure=True)
        case _:
            return _error("VALIDATION_ERROR", str(error))


def _result(data: dict[str, Any]) -> dict[str, Any]:
    return {"type": "observation", "data": data}


def _error(code: str, message: str, **more: object) -> dict[str, Any]:
    return {"type": "error", "data": {"code": code, "message": message, **more}}


class _Episode:
    """The environment behind one connection."""

    def __init__(self, served: Served, name: str | None, stack: AsyncExitStack) -> None:
        self._served = served
        self._name = name or (next(iter(served.programs)) if len(served.programs) == 1 else None)
        self._stack = stack
        self._session: SandboxSession | None = None
        self._over = True
        self.state = EpisodeState()

    async def reset(self, wanted: _Reset) -> dict[str, Any]:
        """Begin an episode, in the live session if it is of the same program and sound."""
        name = wanted.program or self._name
        if name is None or name not in self._served.programs:
            raise InvalidInput("program", f"{name or 'none'} is not served here", remedy="Name one: reset(program=…).")
        self._over = True
        session = await self._session_of(name)
        text = await session.reset(wanted.seed)
        self._over = False
        self.state = EpisodeState(episode_id=wanted.episode_id, program=name, seed=wanted.seed)
        observation = TextObservation(text=text, terminated=False, truncated=False, info={})
        return {"observation": observation.model_dump(), "reward": None, "done": False}

    async def step(self, action: TextAction | _ListTools | _CallTool) -> dict[str, Any]:
        """One action. A tool's own error is its result; only faults of the program or of our side are errors."""
        session = self._session
        if session is None or session.error is not None or self._over:
            raise InvalidInput("step", "there is no running episode", remedy="Reset first.")
        if isinstance(action, _ListTools):
            tools = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in await session.tools()
            ]
            return {"observation": {"tools": tools}, "reward": None, "done": False}
        self.state.step_count += 1
        if isinstance(action, _CallTool):
            called = await session.call(action.tool_name, json.dumps(action.arguments, ensure_ascii=False))
            observation = {"tool_name": action.tool_name, "result": called.output, "error": None}
            return {
                "observation": {**observation, "metadata": {"returncode": called.returncode}},
                "reward": 0.0,
                "done": False,
            }
        result = await session.step(action.action)
        self._over = result.terminated or result.truncated
        said = TextObservation(
            text=result.observation, terminated=result.terminated, truncated=result.truncated, info=result.info
        )
        return {"observation": said.model_dump(), "reward": result.reward, "done": self._over}

    async def _session_of(self, name: str) -> SandboxSession:
        live = self._session
        if live is not None and live.error is None and self._name == name:
            return live
        self._session, self._name = None, name
        await self._stack.aclose()
        served = self._served
        self._session = await self._stack.enter_async_context(
            served.pool.session(
                served.programs[name],
                served.limits,
                served.domain,
                max_turns=served.max_turns,
                wait_seconds=served.wait_seconds,
            )
        )
        return self._session
