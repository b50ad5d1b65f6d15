"""Recorded runs to train on: a random tiny model, and rollouts made of values and random tokens."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from tests.component.learner.tiny import VOCABULARY, save_random_model
from tests.support.s3 import S3Service
from tests.unit.trainer.builders import design, episode, method, run_manifest, write_cycle

from spade_contracts.config import MethodConfig
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_trainer.store import layout, manifests, policies
from spade_trainer.store.episodes import Trajectory, write_episodes
from spade_trainer.store.objects import Store, create, local_path, open_store

ENVIRONMENTS = 4
PLAYS = 4


def settings(ranks: int = 2, expert: int = 2, **learner: Any) -> MethodConfig:
    """Four environments, four plays, cycles of two, and a learning rate that one step shows."""
    values = {
        "ranks": ranks,
        "parallelism": {"expert": expert},
        "optimizer": {"learning_rate": 1e-2},
        "loss": {"max_tokens_per_microbatch": 512},
        "checkpoint_every": 2,
    }
    return method(learner=values | learner)


def make_run(folder: Path, config: MethodConfig, *, rollouts: int, model: Path | None = None) -> Store:
    """Run storage with run.json, policy 0 (random, or a copy of the given model) and so many finished rollouts."""
    store = open_store(folder.as_uri())
    start = local_path(store, layout.policy_folder(0))
    if model is None:
        save_random_model(start)
    else:
        shutil.copytree(model, start)
    policies.finish(store, 0)
    manifests.write(store, manifests.run_path(), run_manifest(config))
    for rollout in range(rollouts):
        add_rollout(store, rollout)
    return store


def in_bucket(folder: Path, service: S3Service) -> Store:
    """A copy of a run's folder in a bucket."""
    store = open_store(f"s3://{service.bucket()}/runs/learner")
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        create(store, file.relative_to(folder).as_posix(), file.read_bytes())
    return store


def add_rollout(store: Store, rollout: int) -> None:
    """Finish a rollout, and before it the cycle that it begins."""
    cycle = rollout // 2
    names = [layout.environment_id(cycle, slot) for slot in range(ENVIRONMENTS)]
    if rollout % 2 == 0:
        designs = [
            dataclasses.replace(
                design(cycle, slot, "AB"[slot % 2], version=rollout),
                trajectory=random_trajectory((1, rollout, slot), rollout, tokens=120),
            )
            for slot in range(ENVIRONMENTS)
        ]
        write_cycle(store, cycle, designs, version=rollout)
    entries, parts = [], []
    for slot, name in enumerate(names):
        returns = [float(play < slot) for play in range(PLAYS)]
        plays = [
            dataclasses.replace(
                episode(name, play, value, version=rollout),
                trajectory=random_trajectory((2, rollout, slot, play), rollout, tokens=30 + 17 * play + 9 * slot),
            )
            for play, value in enumerate(returns)
        ]
        write_episodes(store, rollout, slot, 0, plays)
        parts.append(layout.episodes_part(slot, 0))
        entries.append(
            EnvironmentReturns(id=name, unhinted=tuple(returns), hinted=(0.5,), environment_faults=0, retired=False)
        )
    manifest = RolloutManifest(
        rollout=rollout,
        cycle=cycle,
        policy_version=rollout,
        planned=ENVIRONMENTS * PLAYS,
        outcomes={},
        environments=tuple(entries),
        verifier_failures={},
        episodes=tuple(parts),
    )
    manifests.write(store, manifests.rollout_path(rollout), manifest)


def random_trajectory(key: tuple[int, ...], version: int, tokens: int) -> Trajectory:
    """Random tokens, three quarters of those after the prompt drawn, at about their probability under the model."""
    draws = np.random.default_rng(key)
    prompt = tokens // 4
    mask = (np.arange(tokens) >= prompt) & (draws.random(tokens) < 0.75)
    mask[-1] = True
    log_probs = draws.normal(-6.3, 0.3, tokens)
    return Trajectory(
        token_ids=draws.integers(0, VOCABULARY, tokens).astype(np.int32),
        loss_mask=mask,
        log_probs=np.where(mask, log_probs, 0).astype(np.float32),
        prompt_tokens=prompt,
        spans=((version, int(mask.sum())),),
    )
