"""A whole run without a model: the real plans, episodes, parts, manifests and batches around a scripted engine.

The engine knows of every request what it is for, because its seed says so. What it drew can be read from run storage
again, and drawn once more.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import numpy as np
from tests.unit.trainer.builders import design, run_manifest, write_step

from spade_contracts.config import MethodConfig
from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse, VersionSpan
from spade_contracts.manifests import BatchManifest, EnvironmentEntry, RolloutManifest
from spade_sandbox.client import StepResult
from spade_trainer.assembly import Batch, assemble
from spade_trainer.chat import Chat
from spade_trainer.design.rotation import active_skills
from spade_trainer.play.compose import compose_rollout
from spade_trainer.play.episode import EpisodePlan, Generate, Table, play_episode
from spade_trainer.play.plan import environments_of, plan_group
from spade_trainer.play.scheduler import play_groups
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store import layout, manifests
from spade_trainer.store.designs import Design, read_designs, read_program, write_designs, write_program
from spade_trainer.store.episodes import Episode, Trajectory, read_episodes, write_episodes
from spade_trainer.store.objects import Store

Drawn = tuple[tuple[int, ...], tuple[float, ...]]
"""Token ids and log-probabilities of one answer."""


@dataclass(frozen=True)
class Turn:
    """What an answer is for: a play's only turn, or a program (play None)."""

    rollout: int
    slot: int
    hinted: bool = False
    play: int | None = None


@dataclass(frozen=True)
class Rollout:
    """What one rollout of the run came to."""

    generated: int
    manifest: RolloutManifest
    batch: Batch


def turns_of(method: MethodConfig, rollouts: int) -> dict[int, Turn]:
    """Every request that the run can make, by its seed."""
    found: dict[int, Turn] = {}
    settings, seed = method.play, method.seed
    for rollout in range(rollouts):
        for slot in range(method.environments.per_cycle):
            if method.starts_cycle(rollout):
                found[seed_for(seed, Purpose.DESIGN, method.cycle_of(rollout), slot, 0)] = Turn(rollout, slot)
            for hinted, plays in ((False, settings.plays_per_environment), (True, settings.hinted_plays)):
                for play in range(plays):
                    key = seed_for(seed, Purpose.TURN, rollout, slot, int(hinted), play, 0)
                    found[key] = Turn(rollout, slot, hinted, play)
    return found


def scripted(chat: Chat, method: MethodConfig, rollouts: int, wins: Callable[[Turn], bool]) -> Generate:
    """An engine whose plays are won as the test says; equal requests give equal answers, however often they come."""
    turns = turns_of(method, rollouts)

    async def generate(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        turn = turns[request.seed]
        if turn.play is None:
            text = f"class Env{turn.rollout}x{turn.slot}: pass"
        else:
            text = f"<answer>\\boxed{{{'win' if wins(turn) else 'lose'} {int(turn.hinted)} {turn.play}}}</answer>"
        ids = tuple(chat.encode(f"{text}<|im_end|>"))
        return answer(request, (ids, tuple(-(1 + (request.seed + i) % 97) / 64 for i in range(len(ids)))))

    return generate


def recorded(store: Store, method: MethodConfig, rollouts: int) -> Generate:
    """An engine that draws again what run storage says was drawn."""
    answers = dict(_drawn(store, method, rollouts))

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
    """All rollouts, one after the other. order: shuffles workers, their environments and the ends of episodes."""
    manifests.write(store, manifests.run_path(), run_manifest(method))
    results = []
    for rollout in range(rollouts):
        cycle = method.cycle_of(rollout)
        starts = method.starts_cycle(rollout)
        if starts:
            await _designed(store, method, rollout, chat, generate)
        batch = manifests.read_batch(store, cycle)
        first = cycle * method.environments.cycle_length
        entries = environments_of(batch, [manifests.read_rollout(store, r) for r in range(first, rollout)])
        await _played(store, method, rollout, chat, generate, entries, workers, order)
        manifest, _ = compose_rollout(store, method, rollout, rollout, entries)
        manifests.write(store, manifests.rollout_path(rollout), manifest)
        assembled = assemble(store, run_manifest(method), rollout, last_rollout=rollout == rollouts - 1)
        write_step(store, rollout, assembled.designer_cycles, assembled.samples_sha256)
        results.append(Rollout(len(batch.environments) if starts else 0, manifest, assembled))
    return results


async def _designed(store: Store, method: MethodConfig, rollout: int, chat: Chat, generate: Generate) -> None:
    """A cycle whose every first try was accepted."""
    cycle, settings = method.cycle_of(rollout), method.environments
    skills = active_skills(settings.skills, cycle, settings.active_skills)
    entries = []
    for slot in range(settings.per_cycle):
        prompt = chat.encode(f"<|im_start|>user\nWrite a program for {slot}.<|im_end|>\n<|im_start|>assistant\n")
        seed = seed_for(method.seed, Purpose.DESIGN, cycle, slot, 0)
        request = GenerateRequest(
            token_ids=tuple(prompt), temperature=1.0, max_new_tokens=4096, seed=seed, policy_version=rollout
        )
        drawn = await generate(request, 60.0)
        one = replace(
            design(cycle, slot, skills[slot % len(skills)], program=chat.decode(drawn.token_ids), version=rollout),
            trajectory=_trajectory(prompt, drawn),
        )
        write_designs(store, cycle, slot, 0, [one])
        entries.append(_entry(store, one))
    manifest = BatchManifest(
        cycle=cycle,
        policy_version=rollout,
        requested=len(entries),
        attempts=len(entries),
        environments=tuple(entries),
        rejected={},
        designs=tuple(layout.design_part(entry.slot, 0) for entry in entries),
        verdicts=(),
    )
    manifests.write(store, manifests.batch_path(cycle), manifest)


def _entry(store: Store, one: Design) -> EnvironmentEntry:
    return EnvironmentEntry(
        id=layout.environment_id(one.cycle, one.slot),
        slot=one.slot,
        attempt=0,
        skill=one.skill,
        file=write_program(store, one),
        sha256=one.sha256,
        document_id=one.document_id,
        hint=one.hint,
    )


def _trajectory(prompt: Sequence[int], drawn: GenerateResponse) -> Trajectory:
    count = len(prompt)
    return Trajectory(
        token_ids=np.array([*prompt, *drawn.token_ids], dtype=np.int32),
        loss_mask=np.array([False] * count + [True] * len(drawn.token_ids)),
        log_probs=np.array([0.0] * count + list(drawn.log_probs), dtype=np.float32),
        prompt_tokens=count,
        spans=tuple((span.policy_version, span.tokens) for span in drawn.spans),
    )


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

    async def drawn(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        for _ in range(order.randrange(4) if order is not None else 0):
            await asyncio.sleep(0)
        return await generate(request, timeout_seconds)

    table = Table(method=method, policy_version=rollout, chat=chat, generate=drawn, open_session=won_by_words)

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


class WonByWords:
    """A program of either domain that is won by the word `win`, in one step."""

    async def reset(self, seed: int | None) -> str:
        return "Say the word."

    async def tools(self) -> tuple[()]:
        return ()

    async def step(self, action: str) -> StepResult:
        return StepResult(f"You said {action}.", float("win" in action), True, False, {})


@asynccontextmanager
async def won_by_words(source: str) -> AsyncIterator[WonByWords]:
    yield WonByWords()


def _drawn(store: Store, method: MethodConfig, rollouts: int) -> Iterator[tuple[int, Drawn]]:
    """Seed of each request → what was drawn for it."""
    for rollout in range(rollouts):
        cycle = method.cycle_of(rollout)
        if method.starts_cycle(rollout):
            for one in read_designs(store, manifests.read_batch(store, cycle)):
                yield seed_for(method.seed, Purpose.DESIGN, cycle, one.slot, one.attempt), _answers(one.trajectory)[0]
        for episode in read_episodes(store, manifests.read_rollout(store, rollout)):
            for turn, drawn in enumerate(_answers(episode.trajectory)):
                keys = (rollout, episode.slot, int(episode.hinted), episode.play, turn)
                yield seed_for(method.seed, Purpose.TURN, *keys), drawn


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
