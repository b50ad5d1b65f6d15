"""What a design worker's slots share: corpus or pool, endpoints, memory, and the gate."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import DesignerSource, EndpointConfig, HintMode
from spade_contracts.config.verification import JudgeSource, OptionalStage
from spade_contracts.tasks import DesignTask
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify import GateContext, Judgement, verify, verify_program
from spade_sandbox.verify.contamination import load_index
from spade_sandbox.verify.judge import Judge as ModelJudge
from spade_sandbox.verify.judge import judge_of
from spade_trainer.assembly import SampleRole
from spade_trainer.chat import load_chat
from spade_trainer.design.corpus_index import open_corpus
from spade_trainer.design.designer import Judge, JudgeProgram, PoolPrograms, Studio
from spade_trainer.design.endpoint import Ask, endpoint_at
from spade_trainer.design.known import earlier_programs
from spade_trainer.design.memory import memory_of, shown
from spade_trainer.design.pool import read_pool
from spade_trainer.design.self_judge import policy_judge
from spade_trainer.design.writing import Policy
from spade_trainer.play.engine_client import EnginePool
from spade_trainer.store.objects import Store
from spade_trainer.store.policies import policy_files
from spade_trainer.store.rejected import rejected_attempts
from spade_trainer.workers.figures import Figures
from spade_trainer.workers.surroundings import Surroundings

Gate = Callable[[int], tuple[Judge, JudgeProgram]]
"""For episodes of so many turns: how answers, and how programs of files, are judged."""


@asynccontextmanager
async def studio_of(
    task: DesignTask,
    around: Surroundings,
    store: Store,
    *,
    method: MethodConfig,
    engines: EnginePool,
    gate: Gate,
    figures: Figures,
    topped_up: tuple[int, ...] = (),
) -> AsyncIterator[Studio]:
    """The studio of a cycle, with its endpoints connected while the block runs.

    topped_up: the slots that a top-up fills. Its prompts show the memory with the cycle's own first rollout, which is
    played by then (method.md §6). Raises InvalidInput if corpus or pool are not what the run was prepared with.
    """
    settings = method.environments
    later = 0 if task.rollout is None else task.rollout % settings.cycle_length
    judge, judge_program = gate(method.play.max_turns)
    async with AsyncExitStack() as stack:
        designer = hinter = pool = None
        if settings.designer.source is DesignerSource.ENDPOINT:
            where = "environments.designer.endpoint"
            designer = await _asker(stack, settings.designer.endpoint, around.designer_key, where, figures)
        if settings.hints.mode is HintMode.ENDPOINT:
            where = "environments.hints.endpoint"
            hinter = await _asker(stack, settings.hints.endpoint, around.hints_key, where, figures)
        if settings.designer.source is DesignerSource.POOL:
            pool = PoolPrograms(await asyncio.to_thread(read_pool, settings.designer.pool), judge_program)
        yield Studio(
            method=method,
            cycle=task.cycle,
            policy_version=task.policy_version,
            chat=load_chat(policy_files(store, task.policy_version, weights=False)),
            generate=engines.generate,
            judge=judge,
            documents=await asyncio.to_thread(open_corpus, store, settings.corpus) if pool is None else (),
            memory=memory_of(store, method, task.cycle if task.rollout is None else task.cycle + 1),
            show=lambda entry: shown(store, entry, settings.memory),
            designer=designer,
            hinter=hinter,
            pool=pool,
            first_attempt=settings.designer.attempts * (len(rejected_attempts(store, task.cycle)) + later),
            topped_up=topped_up,
            observe_flaw=partial(figures.answer_flawed, SampleRole.DESIGNER),
            observe_cut=figures.document_cut,
        )


async def _asker(stack: AsyncExitStack, settings: EndpointConfig, key: str | None, where: str, figures: Figures) -> Ask:
    role = where.split(".")[1]
    observe = partial(figures.endpoint_asked, role)
    return await stack.enter_async_context(endpoint_at(settings, key, where=where, observe=observe))


@asynccontextmanager
async def model_judge_of(
    task: DesignTask, around: Surroundings, store: Store, *, method: MethodConfig, engines: EnginePool
) -> AsyncIterator[ModelJudge | None]:
    """The model judge of a cycle's gate: the policy, an endpoint that is connected while the block runs, or nobody."""
    settings = method.environments.verification
    if OptionalStage.JUDGE in settings.stages and settings.judge.source is JudgeSource.POLICY:
        chat = load_chat(policy_files(store, task.policy_version, weights=False))
        yield policy_judge(Policy(chat, engines.generate, task.policy_version), settings.judge, method.seed)
        return
    async with judge_of(settings, around.judge_key) as judge:
        yield judge


async def gate_of(
    store: Store, method: MethodConfig, task: DesignTask, pool: SandboxPool, model: ModelJudge | None
) -> Gate:
    """The gate of a cycle. Programs and canaries go through the same call."""
    settings, domain = method.environments.verification, method.environments.domain
    known = await asyncio.to_thread(earlier_programs, store, method, task.cycle, task.rollout)
    index = await asyncio.to_thread(load_index, settings.contamination.lists, settings.contamination.words)

    def within(max_turns: int) -> tuple[Judge, JudgeProgram]:
        def context(names: tuple[str, ...]) -> GateContext:
            return GateContext(max_turns=max_turns, documents=names, known=known, contamination=index, judge=model)

        async def judge(answer: str, names: tuple[str, ...]) -> Judgement:
            return await verify(answer, pool, method.limits, settings=settings, domain=domain, context=context(names))

        async def judge_program(content: bytes) -> Judgement:
            return await verify_program(
                content, pool, method.limits, settings=settings, domain=domain, context=context(())
            )

        return judge, judge_program

    return within
