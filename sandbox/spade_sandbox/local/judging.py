"""Many program files through the gate, some at once, with the verdicts in the order of the files."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace

from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_contracts.config.environments import Domain
from spade_sandbox.client import SandboxPool
from spade_sandbox.local.files import ProgramFile, read_program
from spade_sandbox.local.records import Judged
from spade_sandbox.verify import GateContext, verify_program
from spade_sandbox.verify.contamination import load_index
from spade_sandbox.verify.novelty import Library

SESSIONS_PER_PROGRAM = 4
"""Sessions that the gate may hold open for one program, generously counted."""


@dataclass(frozen=True)
class Task:
    """What all programs of one call share."""

    domain: Domain
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    settings: VerificationSettings = field(default_factory=VerificationSettings)
    context: GateContext = field(default_factory=GateContext)
    """Known programs and evaluation sets that it leaves open are filled in: the files before a file, and the lists
    that the settings name."""


async def judge_files(paths: Sequence[str], pool: SandboxPool, task: Task, jobs: int) -> AsyncGenerator[Judged, None]:
    """A verdict for every path, whatever is there, in the order of the paths; at most `jobs` are judged at once.

    Of programs that are alike the first is the original. A verdict for Reason.INFRASTRUCTURE is no word on the program.
    Close the iterator (contextlib.aclosing) when it is left early, so that what is under way ends. Raises InvalidInput
    if a list of evaluation sets cannot be read.
    """
    files, known = await asyncio.to_thread(_read_all, paths, task.settings.max_source_bytes)
    context = await asyncio.to_thread(_complete, task)
    room = asyncio.Semaphore(jobs)

    async def judge(file: ProgramFile) -> Judged:
        own = context
        if file.source is not None and context.known is None:
            own = replace(context, known=known.before(file.path))
        async with room:
            return await judge_file(file, pool, replace(task, context=own))

    waiting = [asyncio.get_running_loop().create_task(judge(file)) for file in files]
    try:
        for one in waiting:
            yield await one
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def judge_file(file: ProgramFile, pool: SandboxPool, task: Task) -> Judged:
    """The verdict on one file, by the task's context as it is. What could not be read is rejected without a sandbox."""
    if file.source is None:
        assert file.verdict is not None
        return Judged(file.path, task.domain, task.limits, file.verdict)
    judgement = await verify_program(
        file.source, pool, task.limits, settings=task.settings, domain=task.domain, context=task.context
    )
    return Judged(file.path, task.domain, task.limits, judgement.verdict, file.source, judgement.source)


def _read_all(paths: Sequence[str], max_bytes: int) -> tuple[list[ProgramFile], Library]:
    files = [read_program(path, max_bytes) for path in paths]
    known = Library()
    for file in files:
        if file.source is not None:
            known.add(file.path, file.source)
    return files, known


def _complete(task: Task) -> GateContext:
    """The task's context with the evaluation sets that its settings name."""
    settings = task.settings.contamination
    if task.context.contamination is not None or not settings.lists:
        return task.context
    return replace(task.context, contamination=load_index(settings.lists, settings.words))
