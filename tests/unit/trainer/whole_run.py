"""A whole run without a model: the real studio, episodes, parts, manifests and batches around a scripted engine.

The engine knows of every request what it is for, because its seed says so, and keeps count. It writes programs that
the plays run; of the gate there is the parser alone. What was drawn can be read from run storage again, and drawn once
more.
"""

import asyncio
import copy
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.unit.trainer.builders import method, run_manifest, write_step
from tests.unit.trainer.byte_model import write_byte_model, write_weights
from tests.unit.trainer.programs_here import SessionHere
from tests.unit.trainer.written import Request, Role, answer_of

from spade_contracts.config import MethodConfig
from spade_contracts.config.method import Profile
from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse, VersionSpan
from spade_contracts.manifests import BatchManifest, EnvironmentEntry, RolloutManifest
from spade_contracts.tasks import DesignTask, RunRef
from spade_contracts.verdicts import accepted
from spade_sandbox.pod.programs.loading import load
from spade_sandbox.verify import Judgement
from spade_sandbox.verify.parse import parse_answer
from spade_trainer.assembly import Batch, assemble
from spade_trainer.chat import TURN_END, Chat
from spade_trainer.design.compose import compose_batch
from spade_trainer.design.designer import design_slot
from spade_trainer.play.compose import compose_rollout
from spade_trainer.play.episode import EpisodePlan, Generate, Table, play_episode
from spade_trainer.play.plan import environments_of, plan_group
from spade_trainer.play.scheduler import play_groups
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store import layout, manifests
from spade_trainer.store.designs import read_designs, read_program, write_designs
from spade_trainer.store.episodes import Episode, Trajectory, read_episodes, write_episodes
from spade_trainer.store.objects import Store, local_path
from spade_trainer.store.policies import finish
from spade_trainer.workers.figures import new_figures
from spade_trainer.workers.studio import studio_of
from spade_trainer.workers.surroundings import Surroundings

TURNS = 2
"""Most turns of a play: a tool call and an answer."""
Drawn = tuple[tuple[int, ...], tuple[float, ...]]
"""Token ids and log-probabilities of one answer."""


@dataclass(frozen=True)
class Rollout:
    """What one rollout of the run came to."""

    manifest: RolloutManifest
    batch: Batch


@dataclass
class Engine:
    """A scripted engine, and how often each policy version was asked for what."""

    chat: Chat
    method: MethodConfig
    rollouts: int
    wins: Callable[[Request], bool]
    asked: Counter[tuple[int, Role]] = field(default_factory=Counter)
    _known: dict[int, Request] = field(init=False)
    _ids: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known = requests_of(self.method, self.rollouts)

    async def generate(self, request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        """The same answer to the same request, however often it comes."""
        known = self._known[request.seed]
        self.asked[request.policy_version, known.role] += 1
        text = answer_of(known, self.method.environments.domain, won=known.play is not None and self.wins(known))
        if text not in self._ids:
            self._ids[text] = tuple(self.chat.encode(text + TURN_END))
        ids = self._ids[text]
        return answer(request, (ids, tuple(-(1 + (request.seed + i) % 97) / 64 for i in range(len(ids)))))


def small(profile: Profile = Profile.CORRECTED) -> MethodConfig:
    """A run of four environments, whose skills the designer is asked for."""
    skills = ("Optimization", "Causal Inference")
    return method(profile, environments={"skills": skills, "designer": {"prompt_template": "Compact"}})


def requests_of(method: MethodConfig, rollouts: int) -> dict[int, Request]:
    """Every request that the run can make, by its seed."""
    found: dict[int, Request] = {}
    settings, play, seed = method.environments, method.play, method.seed
    for rollout in range(rollouts):
        cycle = method.cycle_of(rollout)
        for slot in range(settings.per_cycle):
            for attempt in range(settings.designer.attempts if method.starts_cycle(rollout) else 0):
                key = seed_for(seed, Purpose.DESIGN, cycle, slot, attempt)
                found[key] = Request(rollout, slot, Role.PROGRAM, turn=attempt)
                for hint in range(settings.hints.attempts):
                    key = seed_for(seed, Purpose.HINT, cycle, slot, attempt, hint)
                    found[key] = Request(rollout, slot, Role.HINT, turn=hint)
            arms = ((Role.PLAY, play.plays_per_environment), (Role.HINTED_PLAY, play.hinted_plays))
            for hinted, (role, plays) in enumerate(arms):
                for number, turn in ((n, t) for n in range(plays) for t in range(TURNS)):
                    key = seed_for(seed, Purpose.TURN, rollout, slot, hinted, number, turn)
                    found[key] = Request(rollout, slot, role, number, turn)
    return found


def scripted(chat: Chat, method: MethodConfig, rollouts: int, wins: Callable[[Request], bool]) -> Generate:
    """An engine whose plays are won as the test says."""
    return Engine(chat, method, rollouts, wins).generate


@dataclass(frozen=True)
class Engines:
    """What a studio needs of the engines."""

    generate: Generate


def recorded(store: Store, method: MethodConfig, rollouts: int, chat: Chat) -> Generate:
    """An engine that draws again what run storage says was drawn."""
    answers = dict(_drawn(store, method, rollouts, chat))

    async def generate(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        return answer(request, answers[request.seed])

    return generate


def answer(request: GenerateRequest, drawn: Drawn) -> GenerateResponse:
    """The engine's message."""
    span = VersionSpan(policy_version=request.policy_version, tokens=len(drawn[0]))
    return GenerateResponse(
        token_ids=drawn[0], log_probs=drawn[1], finish_reason=FinishReason.STOP, spans=(span,), boot_id="scripted"
    )


async def run(
    store: Store,
    method: MethodConfig,
    rollouts: int,
    chat: Chat,
    generate: Generate,
    *,
    workers: int = 1,
    order: random.Random | None = None,
) -> list[Rollout]:
    """All rollouts, one after the other. order: shuffles slots, workers, their environments and the ends of answers."""

    async def drawn(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        for _ in range(order.randrange(4) if order is not None else 0):
            await asyncio.sleep(0)
        return await generate(request, timeout_seconds)

    manifests.write(store, manifests.run_path(), run_manifest(method))
    results = []
    for rollout in range(rollouts):
        cycle = method.cycle_of(rollout)
        if method.starts_cycle(rollout):
            await _designed(store, method, rollout, chat, drawn, order)
        batch = manifests.read_batch(store, cycle)
        first = cycle * method.environments.cycle_length
        entries = environments_of(batch, [manifests.read_rollout(store, r) for r in range(first, rollout)])
        await _played(store, method, rollout, chat, drawn, entries, workers, order)
        manifest, _ = compose_rollout(store, method, rollout, rollout, entries)
        manifests.write(store, manifests.rollout_path(rollout), manifest)
        assembled = assemble(store, run_manifest(method), rollout, last_rollout=rollout == rollouts - 1)
        write_step(store, rollout, assembled.designer_cycles, assembled.samples_sha256)
        results.append(Rollout(manifest, assembled))
    return results


async def _designed(
    store: Store, method: MethodConfig, rollout: int, chat: Chat, generate: Generate, order: random.Random | None
) -> BatchManifest:
    """A cycle as its studio designs it, all slots at once."""
    cycle, slots = method.cycle_of(rollout), list(range(method.environments.per_cycle))
    policy = local_path(store, layout.policy_folder(rollout))
    write_weights(write_byte_model(policy, context_tokens=chat.context_tokens))
    finish(store, rollout)
    task = DesignTask(
        run=RunRef(namespace="default", name="mini", uid="u", storage_uri=store.uri),
        cycle=cycle,
        policy_version=rollout,
        attempt=0,
        workers=1,
        engine_host="",
        sandbox_host="",
    )

    async def judge(text: str, names: tuple[str, ...]) -> Judgement:
        settings = method.environments.verification
        parsed = parse_answer(text, settings.max_source_bytes, settings.brace_repairs)
        return Judgement(accepted(), parsed) if isinstance(parsed, str) else Judgement(parsed, None)

    async with studio_of(
        task,
        Surroundings(),
        store,
        method=method,
        engines=Engines(generate),  # type: ignore[arg-type]  # a pool's stand-in
        gate=lambda turns: (judge, _no_pool),
        figures=new_figures(),
    ) as studio:

        async def designed(slot: int) -> None:
            write_designs(store, cycle, slot, 0, await design_slot(studio, slot))

        if order is not None:
            order.shuffle(slots)
        async with asyncio.TaskGroup() as group:
            for slot in slots:
                group.create_task(designed(slot))
    manifest, _ = compose_batch(store, method, cycle, rollout, ())
    manifests.write(store, manifests.batch_path(cycle), manifest)
    return manifest


async def _no_pool(content: bytes) -> Judgement:
    raise AssertionError("no program comes from a file")


async def _played(
    store: Store,
    method: MethodConfig,
    rollout: int,
    chat: Chat,
    generate: Generate,
    entries: Sequence[EnvironmentEntry],
    workers: int,
    order: random.Random | None,
) -> None:
    """All shares, worker after worker; each writes its parts as its environments end."""

    loaded: dict[str, Any] = {}

    @asynccontextmanager
    async def open_session(source: str) -> AsyncIterator[SessionHere]:
        if source not in loaded:
            loaded[source] = load(source, method.play.max_turns)
        yield SessionHere(copy.deepcopy(loaded[source]))

    table = Table(method=method, policy_version=rollout, chat=chat, generate=generate, open_session=open_session)

    async def one(plan: EpisodePlan) -> Episode:
        return await play_episode(table, plan)

    shares = [entries[index::workers] for index in range(workers)]
    if order is not None:
        order.shuffle(shares)
        shares = [tuple(order.sample(share, len(share))) for share in shares]
    for share in shares:
        groups = [
            plan_group(
                method, rollout, e, read_program(store, method.cycle_of(rollout), e.file), environments=len(entries)
            )
            for e in share
        ]
        await play_groups(
            groups,
            one,
            attempts=1,
            finished=lambda plan, episodes: write_episodes(store, rollout, plan.slot, 0, episodes),
            concurrency=128,
        )


def _drawn(store: Store, method: MethodConfig, rollouts: int, chat: Chat) -> Iterator[tuple[int, Drawn]]:
    """Seed of each request → what was drawn for it."""
    for rollout in range(rollouts):
        cycle = method.cycle_of(rollout)
        if method.starts_cycle(rollout):
            for one in read_designs(store, manifests.read_batch(store, cycle)):
                yield seed_for(method.seed, Purpose.DESIGN, cycle, one.slot, one.attempt), _answers(one.trajectory)[0]
                hint = tuple(chat.encode((one.hint or "").removesuffix(TURN_END) + TURN_END))
                keys = (cycle, one.slot, one.attempt, 0)
                yield seed_for(method.seed, Purpose.HINT, *keys), (hint, (0.0,) * len(hint))
        for episode in read_episodes(store, manifests.read_rollout(store, rollout)):
            for turn, drawn in enumerate(_answers(episode.trajectory)):
                place = (rollout, episode.slot, int(episode.hinted), episode.play, turn)
                yield seed_for(method.seed, Purpose.TURN, *place), drawn


def _answers(trajectory: Trajectory) -> list[Drawn]:
    """The drawn runs of a conversation, in order."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], trajectory.loss_mask, [0]]).astype(np.int8)))
    return [
        (tuple(trajectory.token_ids[a:b].tolist()), tuple(trajectory.log_probs[a:b].tolist()))
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]


def manifest_bytes(store: Store, rollouts: int, method: MethodConfig) -> Mapping[str, bytes]:
    """Every manifest of a run by its path."""
    cycles = range(method.cycle_of(rollouts - 1) + 1)
    paths = [
        manifests.run_path(),
        *(manifests.batch_path(cycle) for cycle in cycles),
        *(path(r) for r in range(rollouts) for path in (manifests.rollout_path, manifests.step_path)),
    ]
    return {path: store.files.read(f"{store.root}/{path}") for path in paths}
