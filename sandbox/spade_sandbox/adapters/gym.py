"""Environment programs as Gymnasium environments: synchronous objects over sessions of a sandbox pool."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeVar

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import MAX_SEED
from spade_sandbox.client import CallResult, SandboxPool, SandboxSession, Tool

WAIT_SECONDS = 60.0
ResultT = TypeVar("ResultT")


class AnyText(Text):
    """Texts of any characters; samples are drawn from letters and digits."""

    def contains(self, x: Any) -> bool:
        """Whether it is a string within the lengths."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length


class Sandboxes:
    """A pool for callers without an event loop: the pool lives in a thread of its own. Use as a context manager."""

    def __init__(self, targets: str | Sequence[str], token: str) -> None:
        """`targets`, `token`: as of SandboxPool."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sandboxes", daemon=True)
        self._target, self._token = targets, token
        self._pool: SandboxPool | None = None

    def __enter__(self) -> "Sandboxes":
        self._thread.start()
        self._pool = self.run(self._connect())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._pool is not None
        try:
            self.run(self._pool.__aexit__(kind, error, trace))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def pool(self) -> SandboxPool:
        """The pool; use it on the loop only, through `run`."""
        if self._pool is None:
            raise RuntimeError("the sandboxes are not connected; use them in a with block")
        return self._pool

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Do work on the loop and wait for it; cancelled when the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def env(
        self,
        source: str,
        *,
        limits: SandboxLimits | None = None,
        domain: Domain = Domain.GAMES,
        max_turns: int = 25,
        wait_seconds: float = WAIT_SECONDS,
        render_mode: str | None = None,
    ) -> "SandboxEnv":
        """One program as an environment. Nothing runs before its first reset."""
        return SandboxEnv(
            self,
            source,
            limits=limits or SandboxLimits(),
            domain=domain,
            max_turns=max_turns,
            wait_seconds=wait_seconds,
            render_mode=render_mode,
        )

    async def _connect(self) -> SandboxPool:
        return await SandboxPool(self._target, self._token).__aenter__()


class SandboxEnv(gymnasium.Env[str, str]):
    """A program's episodes. One session serves all of them until it fails; then the next reset opens another.

    Reset and step raise EnvironmentFault when the program misbehaves, and InfrastructureFault when our side failed:
    such an episode must be played again and never scored.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # texts have no rate, but Gymnasium wants one

    def __init__(
        self,
        sandboxes: Sandboxes,
        source: str,
        *,
        limits: SandboxLimits,
        domain: Domain,
        max_turns: int,
        wait_seconds: float,
        render_mode: str | None,
    ) -> None:
        self.observation_space = AnyText(limits.observation_characters, min_length=0)
        self.action_space = AnyText(limits.action_characters, min_length=0)
        self.render_mode = render_mode
        self._sandboxes = sandboxes
        self._open = (source, limits, domain)
        self._max_turns, self._wait_seconds = max_turns, wait_seconds
        self._stack = contextlib.AsyncExitStack()
        self._session: SandboxSession | None = None
        self._shown = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode. Without a seed it is drawn from `np_random`, so that seeded runs repeat."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31)) if seed is None else seed % (MAX_SEED + 1)
        self._shown = self._sandboxes.run(self._reset(drawn))
        return self._shown, {"seed": drawn}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action; reward, ends and info are the program's own."""
        result = self._sandboxes.run(self._live().step(action))
        self._shown = result.observation
        return result.observation, result.reward, result.terminated, result.truncated, result.info

    def tools(self) -> tuple[Tool, ...]:
        """The tools of a tool-use program."""
        return self._sandboxes.run(self._live().tools())

    def call(self, name: str, arguments: str) -> CallResult:
        """Call one tool; `arguments` is a JSON object as text."""
        return self._sandboxes.run(self._live().call(name, arguments))

    def render(self) -> str | None:
        """The last observation, in mode `ansi`."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End the session; the environment can be reset again."""
        self._sandboxes.run(self._leave())

    def _live(self) -> SandboxSession:
        if self._session is None:
            raise ResetNeeded("the environment has no episode; call reset first")
        return self._session

    async def _reset(self, seed: int) -> str:
        if self._session is not None and self._session.error is not None:
            await self._leave()
        if self._session is None:
            source, limits, domain = self._open
            self._session = await self._stack.enter_async_context(
                self._sandboxes.pool.session(
                    source, limits, domain, max_turns=self._max_turns, wait_seconds=self._wait_seconds
                )
            )
        return await self._session.reset(seed)

    async def _leave(self) -> None:
        self._session = None
        await self._stack.aclose()
