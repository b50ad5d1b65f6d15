"""An OpenEnv server with a trivial environment, spoken to by OpenEnv's own client. It serves when run with a port."""

import asyncio
import sys
import time
from typing import Any

from openenv.core import GenericEnvClient  # type: ignore[import-untyped]
from openenv.core.env_server.http_server import create_fastapi_app  # type: ignore[import-untyped]
from openenv.core.env_server.interfaces import Environment  # type: ignore[import-untyped]
from openenv.core.env_server.types import Action, Observation, State  # type: ignore[import-untyped]

MAX_SESSIONS = 128


class Text(Action):  # type: ignore[misc]
    """What the player says."""

    text: str


class Said(Observation):  # type: ignore[misc]
    """What the environment says."""

    text: str


class Trivial(Environment[Text, Said, State]):  # type: ignore[misc]
    """Counts its turns."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._turns = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Said:
        """Begin an episode."""
        self._turns = 0
        return Said(text="begin")

    def step(self, action: Text, timeout_s: float | None = None, **_: Any) -> Said:
        """One turn."""
        self._turns += 1
        return Said(text=f"turn {self._turns}", reward=0.0)

    @property
    def state(self) -> State:
        """How far it is."""
        return State(step_count=self._turns)


async def ready_and_steps(address: str, times: int, steps: int) -> tuple[list[float], list[float]]:
    """Seconds from connecting to the first observation, and seconds of each step."""
    ready, stepped = [], []
    for _ in range(times):
        began = time.perf_counter()
        async with GenericEnvClient(base_url=address) as client:
            await client.reset(seed=1)
            ready.append(time.perf_counter() - began)
            for _ in range(steps):
                began = time.perf_counter()
                await client.step({"text": "x"})
                stepped.append(time.perf_counter() - began)
    return ready, stepped


async def steps_per_second(address: str, sessions: int, seconds: float) -> float:
    """Steps of so many sessions at once."""
    count = 0

    async def one(until: float) -> None:
        nonlocal count
        async with GenericEnvClient(base_url=address) as client:
            await client.reset(seed=1)
            while time.monotonic() < until:
                await client.step({"text": "x"})
                count += 1

    began = time.monotonic()
    await asyncio.gather(*(one(began + seconds) for _ in range(sessions)))
    return count / (time.monotonic() - began)


if __name__ == "__main__":
    import uvicorn

    app = create_fastapi_app(Trivial, Text, Said, max_concurrent_envs=MAX_SESSIONS)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
