"""A design worker: its slots of a cycle, one part each; worker 0 then composes the cycle's manifest.

A top-up in mid-cycle is designed the same way, of the slots that are empty; none of it accepted is no failure.
Worker 0 also tries the gate on the cycle's canaries, among its slots. A known bad program that is accepted stops the
cycle: no manifest is written, and the summary says so. The Job's next attempts under a higher number design it anew.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

from spade_contracts.config.environments import AllRejected, DesignerSource
from spade_contracts.manifests import BatchManifest
from spade_contracts.statuses import DesignSummary
from spade_contracts.tasks import DesignTask
from spade_contracts.verdicts import Verdict
from spade_sandbox.verify import canaries
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.design.canaries import canaries_of, mixed
from spade_trainer.design.compose import compose_batch, finished_parts
from spade_trainer.design.designer import GateUnavailable, design_slot
from spade_trainer.design.procedural import family_designs
from spade_trainer.store import layout, manifests, timings
from spade_trainer.store.canaries import believed, read_sightings, unsound_attempt, write_sightings
from spade_trainer.store.designs import NO_USAGE, Design, Usage, read_designs, read_part, write_designs
from spade_trainer.store.objects import Store, open_store, uri_of
from spade_trainer.store.rejected import read_rejected, rejected_attempt, write_rejected
from spade_trainer.topups import wanted_slots
from spade_trainer.workers.counts import bounded
from spade_trainer.workers.figures import Figures
from spade_trainer.workers.finish import finish_unit
from spade_trainer.workers.parts import wait_for_parts
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.servers import servers
from spade_trainer.workers.studio import gate_of, model_judge_of, studio_of
from spade_trainer.workers.surroundings import Surroundings

ATTEMPTS = 3
"""Tries of a slot or canary under which sandboxes failed; after the last the Job tries again."""
PAUSE_SECONDS = 2.0
MAX_NAMES = 8
Done = TypeVar("Done")
log = logging.getLogger(__name__)


class GateUnsound(Exception):
    """The gate accepted a program that is known to be bad. Ends the worker's other work at once."""


async def design(task: DesignTask, around: Surroundings, progress: Progress, figures: Figures) -> DesignSummary:
    """Design what is missing of this worker's share; a finished cycle is left alone.

    Raises InfrastructureFault if engines or sandboxes fail beyond their retries, or others' parts do not come.
    """
    started = time.monotonic()
    store = open_store(task.run.storage_uri)
    method = manifests.read_run(store).method
    path = manifests.batch_path(task.cycle, task.rollout)
    manifest = manifests.find(store, path, BatchManifest)
    if manifest is not None:
        return _summary(store, task, manifest, read_designs(store, manifest), started)
    if task.rollout is None and rejected_attempt(store, task.cycle) >= task.attempt:
        return _in_vain(store, task, started)
    slots = wanted_slots(store, method, task.cycle, task.rollout)
    own = slots[around.index :: task.workers]
    missing = [slot for slot in own if slot not in finished_parts(store, task.cycle, task.rollout)]
    families = method.environments.designer.source is DesignerSource.FAMILIES
    untried = (
        canaries_of(method, task.cycle)
        if slots and around.index == 0 and not families and believed(store, _folder(task)) is None
        else ()
    )
    progress.planned, progress.done = len(own), len(own) - len(missing)
    if families:
        for made in family_designs(store, method, task.cycle, missing):
            write_designs(store, task.cycle, made.slot, task.attempt, [made])
    elif (missing or untried) and not _unsound(store, task):
        progress.stage = "designing"
        empty = () if task.rollout is None else tuple(slots)
        await _design(
            task, around, store, slots=missing, topped_up=empty, untried=untried, progress=progress, figures=figures
        )
    folder = _folder(task)
    who = f"design-w{around.index}-a{task.attempt:02d}"
    timings.write(store, folder, who, {"design": time.monotonic() - started})
    if _unsound(store, task):
        return _stopped(store, task, len(slots), started)
    if around.index != 0:
        return _share(store, task, own, started)
    progress.stage = "waiting for other workers"
    await wait_for_parts(slots, lambda: finished_parts(store, task.cycle, task.rollout))
    progress.stage = "composing"
    composed, designs = compose_batch(
        store, method, task.cycle, task.policy_version, believed(store, _folder(task)) or (), rollout=task.rollout
    )
    pauses = task.rollout is None and method.environments.designer.all_rejected is AllRejected.PAUSE
    if not composed.environments and pauses:
        write_rejected(store, task.attempt, composed)
        return _in_vain(store, task, started)
    final = finish_unit(store, path, composed)
    designs = designs if final == composed else read_designs(store, final)
    return _summary(store, task, final, designs, started)


async def _design(
    task: DesignTask,
    around: Surroundings,
    store: Store,
    *,
    slots: Collection[int],
    topped_up: tuple[int, ...],
    untried: Sequence[tuple[Canary, str]],
    progress: Progress,
    figures: Figures,
) -> None:
    """Design these slots and try the gate on these canaries, all at once; each slot's part is written as it ends.

    topped_up: all slots that the top-up fills, other workers' too.
    """
    method = manifests.read_run(store).method
    sightings: list[Sighting] = []
    async with AsyncExitStack() as stack:
        engines, sandboxes = await stack.enter_async_context(servers(task, around, progress, figures))
        model = await stack.enter_async_context(model_judge_of(task, around, store, method=method, engines=engines))
        gate = await gate_of(store, method, task, sandboxes, model)
        judge_canary, _ = gate(max(method.play.max_turns, canaries.TURNS))
        studio = await stack.enter_async_context(
            studio_of(
                task, around, store, method=method, engines=engines, gate=gate, figures=figures, topped_up=topped_up
            )
        )

        async def designed(slot: int) -> None:
            designs = await _patiently(lambda: design_slot(studio, slot))
            write_designs(store, task.cycle, slot, task.attempt, designs, rollout=task.rollout)
            figures.program_drawn(_tokens(designs))
            figures.endpoint_used(_usage(designs))
            progress.done += 1

        async def tried(canary: Canary, text: str) -> None:
            async def word(source: str) -> Verdict:
                return (await judge_canary(f"```python\n{source}```\n", ())).verdict

            sightings.append(await _patiently(lambda: canaries.sight(canary, text, word)))
            if sightings[-1].false_accept:
                log.error("the gate accepted %s, which %s had to reject", canary.name, canary.expected)
                raise GateUnsound

        work = mixed(method, task.cycle, [*(designed(s) for s in slots), *(tried(*one) for one in untried)])
        try:
            async with asyncio.TaskGroup() as group:
                for piece in work:
                    group.create_task(piece)
        except* GateUnsound:
            pass
        finally:
            if len(sightings) == len(untried) or any(one.false_accept for one in sightings):
                _kept(store, task, sightings)


async def _patiently(do: Callable[[], Awaitable[Done]]) -> Done:
    """Tried again while sandboxes fail under the gate."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await do()
        except (GateUnavailable, canaries.CanaryUnjudged):
            if attempt == ATTEMPTS:
                raise
            await asyncio.sleep(PAUSE_SECONDS * attempt)
    raise AssertionError("unreachable")


def _folder(task: DesignTask) -> str:
    """Where the designs of the task are."""
    return layout.design_folder(task.cycle, task.rollout)


def _kept(store: Store, task: DesignTask, sightings: Sequence[Sighting]) -> None:
    if sightings:
        write_sightings(store, _folder(task), task.attempt, sightings)


def _unsound(store: Store, task: DesignTask) -> bool:
    """Whether the gate let a known bad program through in this attempt of the Job, or in a later one."""
    return unsound_attempt(store, _folder(task)) >= task.attempt


def _tokens(designs: Sequence[Design]) -> int:
    """Tokens drawn for these tries, hints included."""
    return sum(design.trajectory.drawn_tokens + design.hint_tokens for design in designs)


def _usage(designs: Sequence[Design]) -> Usage:
    """What these tries asked of endpoints."""
    return sum((one.usage for one in designs), NO_USAGE)


def _summary(
    store: Store, task: DesignTask, manifest: BatchManifest, designs: Sequence[Design], started: float
) -> DesignSummary:
    """The termination message of worker 0, which speaks for all."""
    return DesignSummary(
        cycle=task.cycle,
        requested=manifest.requested,
        attempts=manifest.attempts,
        accepted=len(manifest.environments) if manifest.kept_from is None else 0,
        kept=len(manifest.environments) if manifest.kept_from is not None else 0,
        kept_from=manifest.kept_from,
        rejected=bounded(manifest.rejected),
        without_solution=manifest.without_solution,
        canaries=manifest.canaries,
        seconds=round(time.monotonic() - started, 3),
        tokens=_tokens(designs),
        endpoint_requests=(used := _usage(designs)).requests,
        endpoint_cost=used.cost,
        storage_uri=uri_of(store, _folder(task)),
    )


def _in_vain(store: Store, task: DesignTask, started: float) -> DesignSummary:
    """What is said of an attempt of which no program was accepted, where the next one designs the cycle anew."""
    tried = read_rejected(store, task.cycle, rejected_attempt(store, task.cycle))
    summary = _summary(store, task, tried, read_designs(store, tried), started)
    return summary.model_copy(update={"retry_designs_anew": True})


def _share(store: Store, task: DesignTask, own: Sequence[int], started: float) -> DesignSummary:
    """What a worker other than 0 says: of its own slots."""
    parts = finished_parts(store, task.cycle, task.rollout)
    designs = [design for slot in own if slot in parts for design in read_part(store, task.cycle, parts[slot])]
    return DesignSummary(
        cycle=task.cycle,
        requested=len(own),
        attempts=len(designs),
        accepted=sum(design.accepted for design in designs),
        rejected=bounded(Counter(f"{d.stage}/{d.reason}" for d in designs if not d.accepted)),
        without_solution=sum(design.without_solution for design in designs),
        seconds=round(time.monotonic() - started, 3),
        tokens=_tokens(designs),
        endpoint_requests=(used := _usage(designs)).requests,
        endpoint_cost=used.cost,
        storage_uri=uri_of(store, _folder(task)),
    )


def _stopped(store: Store, task: DesignTask, requested: int, started: float) -> DesignSummary:
    """What is said of a cycle that nothing is admitted of, because the gate is not to be believed."""
    sightings = read_sightings(store, _folder(task))[unsound_attempt(store, _folder(task))]
    return DesignSummary(
        cycle=task.cycle,
        requested=requested,
        attempts=0,
        accepted=0,
        canaries=canaries.figures(sightings),
        let_through=tuple(one.canary.name for one in sightings if one.false_accept)[:MAX_NAMES],
        seconds=round(time.monotonic() - started, 3),
        tokens=0,
        storage_uri=uri_of(store, _folder(task)),
    )
