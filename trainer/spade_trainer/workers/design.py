"""A design worker: its slots of a cycle, one part each; worker 0 then composes the cycle's manifest."""

import asyncio
import time
from collections.abc import Collection, Sequence

from spade_contracts.manifests import BatchManifest
from spade_contracts.statuses import DesignSummary
from spade_contracts.tasks import DesignTask
from spade_sandbox.verify import GateContext, Judgement, verify
from spade_trainer.chat import load_chat
from spade_trainer.design.compose import compose_batch, finished_parts
from spade_trainer.design.corpus import load_corpus
from spade_trainer.design.designer import GateUnavailable, Studio, design_slot
from spade_trainer.design.memory import memory_of, shown
from spade_trainer.store import layout, manifests, timings
from spade_trainer.store.designs import Design, read_designs, read_part, write_designs
from spade_trainer.store.objects import Store, open_store, uri_of
from spade_trainer.store.policies import policy_files
from spade_trainer.workers.figures import Figures
from spade_trainer.workers.finish import finish_unit
from spade_trainer.workers.parts import wait_for_parts
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.servers import servers
from spade_trainer.workers.surroundings import Surroundings

SLOT_ATTEMPTS = 3
"""Tries of a slot under which sandboxes failed; after the last the Job tries again."""
SLOT_PAUSE_SECONDS = 2.0


async def design(task: DesignTask, around: Surroundings, progress: Progress, figures: Figures) -> DesignSummary:
    """Design what is missing of this worker's share; a finished cycle is left alone.

    Raises InfrastructureFault if engines or sandboxes fail beyond their retries, or others' parts do not come.
    """
    started = time.monotonic()
    store = open_store(task.run.storage_uri)
    method = manifests.read_run(store).method
    slots = range(method.environments.per_cycle)
    manifest = manifests.find(store, manifests.batch_path(task.cycle), BatchManifest)
    if manifest is not None:
        return _summary(store, task, len(slots), read_designs(store, manifest), started)
    own = slots[around.index :: task.workers]
    missing = [slot for slot in own if slot not in finished_parts(store, task.cycle)]
    progress.planned, progress.done = len(own), len(own) - len(missing)
    if missing:
        progress.stage = "designing"
        await _design_slots(task, around, store, slots=missing, progress=progress, figures=figures)
    folder = layout.cycle_folder(task.cycle)
    who = f"design-w{around.index}-a{task.attempt:02d}"
    timings.write(store, folder, who, {"design": time.monotonic() - started})
    if around.index != 0:
        return _summary(store, task, len(own), _parts(store, task.cycle, own), started)
    progress.stage = "waiting for other workers"
    await wait_for_parts(slots, lambda: finished_parts(store, task.cycle))
    progress.stage = "composing"
    composed, designs = compose_batch(store, task.cycle, task.policy_version, len(slots))
    final = finish_unit(store, manifests.batch_path(task.cycle), composed)
    return _summary(store, task, len(slots), designs if final == composed else read_designs(store, final), started)


async def _design_slots(
    task: DesignTask,
    around: Surroundings,
    store: Store,
    *,
    slots: Collection[int],
    progress: Progress,
    figures: Figures,
) -> None:
    """Design these slots at once and write each one's part as it ends."""
    method = manifests.read_run(store).method
    async with servers(task, around, progress, figures) as (engines, sandboxes):

        async def judge(answer: str) -> Judgement:
            settings = method.environments
            return await verify(
                answer,
                sandboxes,
                method.limits,
                settings=settings.verification,
                domain=settings.domain,
                context=GateContext(max_turns=method.play.max_turns),
            )

        studio = Studio(
            method=method,
            cycle=task.cycle,
            policy_version=task.policy_version,
            chat=load_chat(policy_files(store, task.policy_version)),
            generate=engines.generate,
            judge=judge,
            documents=load_corpus(method.environments.corpus.uri),
            memory=memory_of(store, method, task.cycle),
            show=lambda entry: shown(store, entry, method.environments.memory),
        )

        async def one(slot: int) -> None:
            designs = await _patiently(studio, slot)
            write_designs(store, task.cycle, slot, task.attempt, designs)
            figures.program_drawn(_tokens(designs))
            progress.done += 1

        async with asyncio.TaskGroup() as group:
            for slot in slots:
                group.create_task(one(slot))


async def _patiently(studio: Studio, slot: int) -> tuple[Design, ...]:
    """A slot's designs; tried again while sandboxes fail under the gate."""
    for attempt in range(1, SLOT_ATTEMPTS + 1):
        try:
            return await design_slot(studio, slot)
        except GateUnavailable:
            if attempt == SLOT_ATTEMPTS:
                raise
            await asyncio.sleep(SLOT_PAUSE_SECONDS * attempt)
    raise AssertionError("unreachable")


def _parts(store: Store, cycle: int, slots: Sequence[int]) -> tuple[Design, ...]:
    """All tries of these slots."""
    parts = finished_parts(store, cycle)
    return tuple(design for slot in slots for design in read_part(store, cycle, parts[slot]))


def _tokens(designs: Sequence[Design]) -> int:
    """Tokens drawn for these tries, hints included."""
    return sum(design.trajectory.drawn_tokens + design.hint_tokens for design in designs)


def _summary(
    store: Store, task: DesignTask, requested: int, designs: Sequence[Design], started: float
) -> DesignSummary:
    """The termination message."""
    rejected: dict[str, int] = {}
    for design in designs:
        if not design.accepted:
            key = f"{design.stage}/{design.reason}"
            rejected[key] = rejected.get(key, 0) + 1
    return DesignSummary(
        cycle=task.cycle,
        requested=requested,
        attempts=len(designs),
        accepted=sum(design.accepted for design in designs),
        rejected=dict(sorted(rejected.items())),
        seconds=round(time.monotonic() - started, 3),
        tokens=_tokens(designs),
        storage_uri=uri_of(store, layout.cycle_folder(task.cycle)),
    )
