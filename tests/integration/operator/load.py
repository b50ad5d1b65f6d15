"""A synthetic load of sandbox sessions on a stage with live sandboxes: through the client that workers use.

The run's worker is pretended and says what this load has open and waits for, so the operator scales by the truth.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from tests.integration.operator.conftest import Stage
from tests.integration.operator.live_sandboxes import LiveSandboxes
from tests.support.sandbox_pods import TOKEN

from spade_contracts import labels
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import SpadeError
from spade_operator.kube import Object
from spade_sandbox.client import SandboxPool
from spade_sandbox.client.pods import Address

TURNS = 100_000
STEP_SECONDS = 0.1
WATCH_SECONDS = 0.05
PROGRAM = """
class WaitingEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.turns = 0

    def reset(self, seed=None):
        self.turns = 0
        return "ready", {}

    def step(self, action):
        self.turns += 1
        return f"turn {self.turns}", 0.0, False, False, {}
"""


@dataclass
class Player:
    """One session: asked for, waited for, held with a step now and then, released."""

    asked_at: float
    release: asyncio.Event = field(default_factory=asyncio.Event)
    opened_at: float | None = None
    pod: str = ""
    """Where it was opened."""
    turns: int = 0
    """As its program counts them."""
    lost: str = ""
    """What took it away from us."""
    task: "asyncio.Task[None] | None" = None

    @property
    def waited_seconds(self) -> float | None:
        """From asking to the open session."""
        return None if self.opened_at is None else self.opened_at - self.asked_at


@dataclass(frozen=True)
class Moment:
    """The pool and its load at one time."""

    at_seconds: float
    open: int
    waiting: int
    pods: int
    """All that are there, draining ones too."""
    draining: int


@dataclass
class Load:
    """Players of one stage."""

    pool: SandboxPool
    stage: Stage
    players: list[Player] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    """One for each change that was seen."""

    def ask(self, number: int, *, hold_seconds: float | None = None) -> list[Player]:
        """So many sessions more, each released by itself after a while, or by the caller."""
        loop = asyncio.get_running_loop()
        new = [Player(loop.time()) for _ in range(number)]
        for player in new:
            player.task = loop.create_task(self._play(player, hold_seconds))
        self.players += new
        return new

    async def _play(self, player: Player, hold_seconds: float | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with self.pool.session(PROGRAM, SandboxLimits(), max_turns=TURNS) as session:
                player.opened_at, player.pod = loop.time(), session.pod.split("/")[0]
                await session.reset(0)
                until = None if hold_seconds is None else player.opened_at + hold_seconds
                while not player.release.is_set() and (until is None or loop.time() < until):
                    player.turns = int((await session.step("x")).observation.removeprefix("turn "))
                    await asyncio.sleep(STEP_SECONDS)
        except SpadeError as error:
            player.lost = str(error)

    @property
    def sandboxes(self) -> tuple[Object, ...]:
        """The pool's pods as the API server listed them last."""
        pods = self.stage.cluster.listed
        return tuple(pod for pod in pods if pod["metadata"]["labels"].get(labels.ROLE) == "sandbox")

    async def watch(self) -> None:
        """Tell the worker's status what there is, and note what changes, until cancelled."""
        world, loop = self.stage.cluster.world, asyncio.get_running_loop()
        began, known = loop.time(), (-1, -1, -1, -1)
        while True:
            world.sessions_open, world.sessions_wanted = self.pool.stats.open, self.pool.stats.wanted
            draining = sum(1 for pod in self.sandboxes if "deletionTimestamp" in pod["metadata"])
            now = (world.sessions_open, world.sessions_wanted, len(self.sandboxes), draining)
            if now != known:
                self.moments.append(Moment(loop.time() - began, *now))
                known = now
            await asyncio.sleep(WATCH_SECONDS)

    async def end(self) -> None:
        """Release everybody and wait for them."""
        for player in self.players:
            player.release.set()
        await asyncio.gather(*(player.task for player in self.players if player.task is not None))


@contextlib.asynccontextmanager
async def loaded(stage: Stage) -> AsyncIterator[Load]:
    """A load for a stage whose sandboxes are real processes from now on; nobody asks for a session yet."""
    live = stage.cluster.live = LiveSandboxes()

    async def find(_: Sequence[str]) -> tuple[set[Address], bool]:
        return live.addresses(stage.cluster.listed), True

    async with SandboxPool("mini-sandbox", TOKEN, resolve=find) as pool:
        load = Load(pool, stage)
        watching = asyncio.create_task(load.watch())
        try:
            yield load
        finally:
            await load.end()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
