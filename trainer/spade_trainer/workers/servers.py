"""The servers that design and play workers talk to: the run's engines and its sandboxes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from spade_contracts.tasks import DesignTask, PlayTask
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
    sandbox_token = read_token(around.tokens, Door.SANDBOX_SESSIONS)
    sandboxes = SandboxPool(task.sandbox_host.split(","), sandbox_token, observe_step=figures.step_seconds.observe)
    progress.sandboxes = sandboxes.stats
    async with EnginePool(task.engine_host, engine_token) as engines, sandboxes:
        yield engines, sandboxes
