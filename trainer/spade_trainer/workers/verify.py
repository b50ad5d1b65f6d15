"""A verify worker: its chunks of a set of existing programs, one part each; worker 0 then composes the manifest.

Worker 0 also tries the gate on canaries. A known bad program that is accepted stops the verification: no manifest is
written, and the summary says so. The Job's next attempts under a higher number judge everything anew.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from spade_contracts.errors import InfrastructureFault
from spade_contracts.manifests import VerificationManifest
from spade_contracts.statuses import VerifySummary
from spade_contracts.tasks import VerifyTask
from spade_contracts.verdicts import Reason, Verdict
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import GateContext, Judgement, canaries, verify_program
from spade_sandbox.verify.canaries import Sighting
from spade_sandbox.verify.contamination import ContaminationIndex, load_index
from spade_sandbox.verify.judge import Judge, judge_of
from spade_sandbox.verify.novelty import Known, Library, diversity
from spade_trainer.store import layout, manifests, timings, verifications
from spade_trainer.store.canaries import believed, read_sightings, unsound_attempt, write_sightings
from spade_trainer.store.objects import Store, open_store, uri_of
from spade_trainer.store.programs import ProgramFile, read_programs
from spade_trainer.store.verifications import Judged, judged
from spade_trainer.workers.counts import bounded
from spade_trainer.workers.figures import Figures
from spade_trainer.workers.finish import finish_unit
from spade_trainer.workers.parts import wait_for_parts
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.servers import sandboxes
from spade_trainer.workers.surroundings import Surroundings

CHUNK = 16
"""Programs of one part: what a lost worker does again at most, for each one of AT_ONCE."""
AT_ONCE = 16
"""Programs that one worker judges at a time; each has up to a few sessions, and the pool queues them."""
ATTEMPTS = 3
"""Tries of a program under which sandboxes failed; after the last the Job tries again."""
PAUSE_SECONDS = 2.0
MAX_NAMES = 8
MOST_COMPARED = 1000
"""Programs of a diversity figure; the work grows with their square."""


class GateUnavailable(InfrastructureFault):
    """Sandboxes failed under the gate, so a program could not be judged. Temporary: the Job's next try judges it."""


async def verify_programs(
    task: VerifyTask, around: Surroundings, progress: Progress, figures: Figures
) -> VerifySummary:
    """Judge what is missing of this worker's share; a finished verification is left alone.

    Raises InvalidInput if there is nothing to judge, and InfrastructureFault if sandboxes fail beyond their retries or
    others' parts do not come.
    """
    started = time.monotonic()
    store = open_store(task.run.storage_uri)
    programs = await asyncio.to_thread(read_programs, task.programs_uri)
    digest = verifications.digest(task, programs)
    folder = layout.verification_folder(digest)
    chunks = dict(enumerate(programs[first : first + CHUNK] for first in range(0, len(programs), CHUNK)))
    manifest = manifests.find(store, manifests.verification_path(digest), VerificationManifest)
    if manifest is not None:
        return _summary(store, folder, manifest, started)
    own = sorted(chunks)[around.index :: task.workers]
    present = verifications.finished_parts(store, folder)
    missing = {chunk: chunks[chunk] for chunk in own if chunk not in present}
    progress.planned = sum(len(chunks[chunk]) for chunk in own)
    progress.done = progress.planned - sum(len(chunk) for chunk in missing.values())
    untried = around.index == 0 and believed(store, folder) is None
    if (missing or untried) and unsound_attempt(store, folder) < task.attempt:
        progress.stage = "verifying"
        async with _gate(task, programs, sandboxes(task, around, progress, figures), around.judge_key) as gate:
            if untried:
                write_sightings(store, folder, task.attempt, await _tried(gate, digest))
            if unsound_attempt(store, folder) < task.attempt:
                await _judge_chunks(gate, store, folder, missing, progress)
    timings.write(store, folder, f"verify-w{around.index}-a{task.attempt:02d}", {"verify": time.monotonic() - started})
    if unsound_attempt(store, folder) >= task.attempt:
        return _stopped(store, folder, len(programs), started)
    if around.index != 0:
        return _share(store, folder, own, started)
    progress.stage = "waiting for other workers"
    await wait_for_parts(chunks, lambda: verifications.finished_parts(store, folder))
    progress.stage = "composing"
    tried = canaries.figures(believed(store, folder) or ())
    composed = verifications.compose(store, folder, task, len(chunks), tried, _diversity)
    final = finish_unit(store, manifests.verification_path(digest), composed)
    return _summary(store, folder, final, started)


@dataclass(frozen=True)
class _Gate:
    """What judging a program needs."""

    task: VerifyTask
    pool: SandboxPool
    known: Library
    """All programs in their order; each is compared with those before it, whoever judges them and when."""
    contamination: ContaminationIndex
    judge: Judge | None

    async def ask(self, program: str | bytes, known: Known | None) -> Judgement:
        """The gate's word on a program among those known."""
        context = GateContext(known=known, contamination=self.contamination, judge=self.judge)
        task = self.task
        return await verify_program(
            program, self.pool, task.limits, settings=task.settings, domain=task.domain, context=context
        )


@asynccontextmanager
async def _gate(
    task: VerifyTask,
    programs: Sequence[ProgramFile],
    pool: AbstractAsyncContextManager[SandboxPool],
    judge_key: str | None,
) -> AsyncIterator[_Gate]:
    """The gate of this verification, with sandboxes and judge connected while the block runs."""
    settings = task.settings
    index = await asyncio.to_thread(load_index, settings.contamination.lists, settings.contamination.words)
    library = await asyncio.to_thread(_library, task, programs)
    async with AsyncExitStack() as stack:
        judge = await stack.enter_async_context(judge_of(settings, judge_key))
        yield _Gate(task, await stack.enter_async_context(pool), library, index, judge)


async def _tried(gate: _Gate, digest: str) -> tuple[Sighting, ...]:
    """What the gate says of known programs that nobody can tell from the others; drawn for this verification."""
    rng = random.Random(int(digest[:16], 16))  # noqa: S311  # a draw that can be repeated
    settings = gate.task.settings
    drawn = canaries.draw(canaries.shipped(gate.task.domain), settings.canaries, settings.stages, rng)

    async def judged_text(source: str) -> Verdict:
        return (await gate.ask(source, gate.known)).verdict

    return await canaries.sight_all(canaries.disguised(drawn, rng), judged_text)


def _library(task: VerifyTask, programs: Sequence[ProgramFile]) -> Library:
    """What the gate will read, in its order; what it rejects unread is nobody's duplicate."""
    library = Library()
    for program in programs:
        source = _readable(task, program)
        if source is not None:
            library.add(program.name, source)
    return library


def _readable(task: VerifyTask, program: ProgramFile) -> str | None:
    """The text of a program; None for one that the gate rejects unread: too long, or not UTF-8."""
    if len(program.content) > task.settings.max_source_bytes:
        return None
    try:
        return program.content.decode()
    except UnicodeDecodeError:
        return None


async def _judge_chunks(
    gate: _Gate, store: Store, folder: str, chunks: Mapping[int, Sequence[ProgramFile]], progress: Progress
) -> None:
    """Judge these chunks at once and write each one's part as it ends."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(program: ProgramFile) -> Judged:
        async with free:
            judgement = await _judged(gate, program)
        progress.done += 1
        return judged(program, judgement.source, judgement.verdict)

    async def part(chunk: int, programs: Sequence[ProgramFile]) -> None:
        rows = await asyncio.gather(*(one(program) for program in programs))
        verifications.write_part(store, folder, chunk, gate.task.attempt, rows)

    async with asyncio.TaskGroup() as group:
        for chunk, programs in chunks.items():
            group.create_task(part(chunk, programs))


async def _judged(gate: _Gate, program: ProgramFile) -> Judgement:
    """The gate's word on a program; asked again while sandboxes fail under it."""
    known = None if _readable(gate.task, program) is None else gate.known.before(program.name)
    problem = ""
    for attempt in range(1, ATTEMPTS + 1):
        judgement = await gate.ask(program.content, known)
        if judgement.verdict.reason is not Reason.INFRASTRUCTURE:
            return judgement
        problem = judgement.verdict.message
        await asyncio.sleep(PAUSE_SECONDS * attempt)
    raise GateUnavailable(f"{program.name} could not be judged: {problem}")


def _diversity(sources: Sequence[str]) -> float | None:
    """Of all accepted programs, or of so many spread over them as can be compared pair by pair."""
    step = max(1, -(-len(sources) // MOST_COMPARED))
    return diversity(sources[::step])


def _share(store: Store, folder: str, chunks: Sequence[int], started: float) -> VerifySummary:
    """What a worker other than 0 says: of its own programs."""
    parts = verifications.finished_parts(store, folder)
    verdicts = [row.accepted for chunk in chunks for row in verifications.read_part(store, folder, parts[chunk])]
    return VerifySummary(
        programs=len(verdicts),
        accepted=sum(verdicts),
        seconds=round(time.monotonic() - started, 3),
        storage_uri=uri_of(store, folder),
    )


def _stopped(store: Store, folder: str, programs: int, started: float) -> VerifySummary:
    """What is said when the gate accepted a program that is known to be bad: nothing is accepted."""
    seen = read_sightings(store, folder)[unsound_attempt(store, folder)]
    return VerifySummary(
        programs=programs,
        accepted=0,
        canaries=canaries.figures(seen),
        let_through=tuple(one.canary.name for one in seen if one.false_accept)[:MAX_NAMES],
        seconds=round(time.monotonic() - started, 3),
        storage_uri=uri_of(store, folder),
    )


def _summary(store: Store, folder: str, manifest: VerificationManifest, started: float) -> VerifySummary:
    """The termination message of worker 0."""
    return VerifySummary(
        programs=manifest.programs,
        accepted=len(manifest.accepted),
        rejected=bounded(manifest.rejected),
        without_solution=manifest.without_solution,
        mutation_scores=manifest.mutation_scores,
        diversity=manifest.diversity,
        canaries=manifest.canaries,
        seconds=round(time.monotonic() - started, 3),
        storage_uri=uri_of(store, folder),
    )
