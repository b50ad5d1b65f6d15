"""A small run on a folder: its settings, and real worker processes for its tasks."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.component.workers import scripted_engine
from tests.support import sandbox_pods
from tests.support.ports import free_port

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.manifests import StepManifest
from spade_contracts.statuses import DesignSummary, PlaySummary, PrepareResult
from spade_contracts.tasks import DesignTask, PlayTask, PrepareTask, RunRef, VerifyTask
from spade_contracts.tokens import Door
from spade_trainer.assembly import assemble
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import open_store
from spade_trainer.store.policies import finish, policy_files

WORKERS = 2
DEADLINE_SECONDS = 600.0
ROOT = Path(__file__).parents[3]


def settings(**verification: Any) -> MethodConfig:
    """Three environments, three plays, cycles of two, with the limits of the shipped model; and these of the gate."""
    patch: dict[str, Any] = {
        "seed": 7,
        "environments": {
            "per_cycle": 3,
            "cycle_length": 2,
            "active_skills": 2,
            "designer": {"prompt_template": "Compact", "sampling": {"max_new_tokens": 900}, "attempts": 4},
            "corpus": {"uri": "package:mini", "max_words": 50},
            # The scripted designer writes one game in several sizes.
            "verification": {"canaries": 2, "novelty": {"reject": "Exact"}, **verification},
        },
        "play": {
            "plays_per_environment": 3,
            "hinted_plays": 3,
            "prompt_template": "Compact",
            "max_turns": 4,
            "context_tokens": 768,
            "sampling": {"max_new_tokens": 128},
        },
    }
    return resolve(Profile.CORRECTED, patch)


@dataclass(frozen=True)
class SmallRun:
    """A run's folder and the servers that its workers talk to."""

    folder: Path
    engine: str
    sandbox: str

    @property
    def storage(self) -> Path:
        """Run storage."""
        return self.folder / "storage"

    @property
    def run(self) -> RunRef:
        return RunRef(namespace="default", name="small", uid="0", storage_uri=self.storage.as_uri())

    def prepare_task(self, **changes: Any) -> PrepareTask:
        task = PrepareTask(run=self.run, model_uri="package:tiny", method=settings())
        return task.model_copy(update=changes)

    def design_task(self, cycle: int, attempt: int = 0) -> DesignTask:
        return DesignTask(
            run=self.run,
            cycle=cycle,
            policy_version=2 * cycle,
            attempt=attempt,
            workers=WORKERS,
            engine_host=self.engine,
            sandbox_host=self.sandbox,
        )

    def play_task(self, rollout: int, attempt: int = 0) -> PlayTask:
        return PlayTask(
            run=self.run,
            rollout=rollout,
            cycle=rollout // 2,
            policy_version=rollout,
            attempt=attempt,
            workers=WORKERS,
            engine_host=self.engine,
            sandbox_host=self.sandbox,
        )


def small_run(folder: Path, engine: str, sandbox: str) -> SmallRun:
    """The folder of a run, with its tokens."""
    folder.mkdir(parents=True)
    tokens = folder / "tokens"
    tokens.mkdir()
    (tokens / Door.ENGINE_DATA).write_text(scripted_engine.TOKEN)
    (tokens / Door.SANDBOX_SESSIONS).write_text(sandbox_pods.TOKEN)
    return SmallRun(folder, engine, sandbox)


@dataclass(frozen=True)
class Worker:
    """A worker process."""

    process: Process
    message: Path
    log: Path
    status_port: int

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self.process.wait()

    async def kill(self) -> None:
        """SIGKILL, as the node's end would be; a worker whose share is done may have ended before."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


async def start(run: SmallRun, task: PrepareTask | DesignTask | PlayTask | VerifyTask, index: int = 0) -> Worker:
    """Start a worker on a task."""
    name = f"{task.kind}-{index}-{os.urandom(4).hex()}"
    path, message, log = (run.folder / f"{name}.{suffix}" for suffix in ("json", "message", "log"))
    path.write_text(task.model_dump_json())
    port = free_port()
    folders = os.pathsep.join(str(ROOT / part) for part in ("contracts", "sandbox", "trainer"))
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "spade_trainer.workers.main", task.kind, "--task", str(path)),
            *("--tokens", str(run.folder / "tokens"), "--index", str(index), "--status-port", str(port)),
            env={**os.environ, "PYTHONPATH": folders, "SPADE_TERMINATION_LOG": str(message)},
            stdin=DEVNULL,
            stdout=out,
            stderr=out,
        )
    return Worker(process, message, log, port)


async def start_all(run: SmallRun, task: DesignTask | PlayTask | VerifyTask) -> list[Worker]:
    """Start every worker of a Job."""
    return [await start(run, task, index) for index in range(WORKERS)]


async def finished(workers: Sequence[Worker]) -> None:
    """Wait for all; every one must have done its task."""
    for worker in workers:
        code = await worker.ended()
        assert code == 0, worker.log.read_text()[-4000:]


async def prepared(run: SmallRun, **changes: Any) -> PrepareResult:
    """Run the preparation; its result."""
    worker = await start(run, run.prepare_task(**changes))
    await finished([worker])
    return PrepareResult.model_validate_json(worker.message.read_bytes())


async def designed(run: SmallRun, cycle: int) -> DesignSummary:
    """Run a cycle's design; worker 0's summary."""
    workers = await start_all(run, run.design_task(cycle))
    await finished(workers)
    return DesignSummary.model_validate_json(workers[0].message.read_bytes())


async def played(run: SmallRun, rollout: int) -> PlaySummary:
    """Run a rollout's plays; worker 0's summary."""
    workers = await start_all(run, run.play_task(rollout))
    await finished(workers)
    return PlaySummary.model_validate_json(workers[0].message.read_bytes())


def trained(run: SmallRun, rollout: int, *, last: bool = False) -> StepManifest:
    """Stand in for the learner: record the step of the batch, and an equal policy under the next number."""
    store = open_store(run.run.storage_uri)
    batch = assemble(store, manifests.read_run(store), rollout, last_rollout=last)
    step = StepManifest(
        rollout=rollout,
        policy_version=rollout + 1,
        player_samples=batch.player_samples,
        designer_samples=batch.designer_samples,
        designer_cycles=batch.designer_cycles,
        samples_sha256=batch.samples_sha256,
        loss=0.0,
        gradient_norm=1.0,
        kl=0.0,
        importance_mean=1.0,
        importance_clipped_fraction=0.0,
        tokens=batch.tokens,
        parameter_sha256="0" * 64,
        world_size=1,
    )
    manifests.write(store, manifests.step_path(rollout), step)
    folder = run.storage / layout.policy_folder(rollout + 1)
    if not folder.exists():
        shutil.copytree(policy_files(store, 0), folder, ignore=lambda *_: ["policy.json"])
        finish(store, rollout + 1)
    return step


def results(run: SmallRun) -> dict[str, bytes]:
    """All manifests that speak of designs, plays and steps, by path."""
    found = [path for part in ("cycles", "rollouts", "steps") for path in (run.storage / part).rglob("*.json")]
    return {
        str(path.relative_to(run.storage)): path.read_bytes()
        for path in sorted(found)
        if not path.name.startswith("timings-")
    }
