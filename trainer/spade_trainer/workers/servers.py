"""The servers that workers talk to: the run's engines, and the sandboxes of a run or stand-alone EnvBatch."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from spade_contracts.tasks import DesignTask, PlayTask, VerifyTask
from spade_contracts.tokens import Door
from spade_sandbox.client import SandboxPool
from spade_trainer.play.engine_client import EnginePool
from spade_trainer.workers.figures import Figures
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.surroundings import Surroundings, read_token


@asynccontextmanager
async def servers(
    task: DesignTask | PlayTask, around: Surroundings, progress: Progress, figures: Figures
) -> AsyncIterator[tuple[EnginePool, SandboxPool]]:
    """Engines and sandboxes, connected while the block runs; `progress` and `figures` show what goes on with them.

    Raises InvalidInput if a token is not mounted.
    """
    engine_token = read_token(around.tokens, Door.ENGINE_DATA)
    async with (
        EnginePool(task.engine_host, engine_token) as engines,
        sandboxes(task, around, progress, figures) as pool,
    ):
        yield engines, pool


@asynccontextmanager
async def sandboxes(
    task: DesignTask | PlayTask | VerifyTask, around: Surroundings, progress: Progress, figures: Figures
) -> AsyncIterator[SandboxPool]:
    """The sandboxes alone. Raises InvalidInput if the token is not mounted."""
    token = read_token(around.tokens, Door.SANDBOX_SESSIONS)
    pool = SandboxPool(
        task.sandbox_host.split(","),
        token,
        observe_step=figures.step_seconds.observe,
        observe_session=figures.session_ended,
    )
    progress.sandboxes = pool.stats
    async with pool:
        yield pool
