"""Rollouts of a given size in run storage, made of values in place of plays."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tests.unit.trainer.builders import design, run_manifest, write_cycle, write_step

from spade_contracts.config import resolve
from spade_contracts.config.method import MethodConfig, Profile
from spade_contracts.manifests import RolloutManifest
from spade_contracts.statuses import Outcome
from spade_trainer.play.compose import compose_rollout
from spade_trainer.store import manifests
from spade_trainer.store.episodes import Episode, Trajectory, write_episodes
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import Store

ENVIRONMENTS, PLAYS, LENGTH = 24, 32, 2
"""A window is ENVIRONMENTS x (PLAYS * LENGTH) returns."""
TOKENS, TURNS, PROMPT_TOKENS, OBSERVATION_TOKENS = 16_384, 12, 400, 64
VOCABULARY = 151_936
METHOD: MethodConfig = resolve(
    Profile.PAPER,
    {
        "environments": {"per_cycle": ENVIRONMENTS, "cycle_length": LENGTH},
        "play": {"plays_per_environment": PLAYS, "hinted_plays": 0, "context_tokens": TOKENS},
        "switches": {"surplus_samples": "Kept"},
    },
)
RUN = run_manifest(METHOD)


def trajectory(rng: np.random.Generator, version: int) -> Trajectory:
    """A conversation of TOKENS tokens: frequent tokens are frequent, and observations lie between the turns."""
    ids = np.minimum(rng.zipf(1.2, TOKENS), VOCABULARY - 1).astype(np.int32)
    mask = np.ones(TOKENS, dtype=np.bool_)
    mask[:PROMPT_TOKENS] = False
    for start in np.linspace(PROMPT_TOKENS, TOKENS, TURNS + 1, dtype=int)[1:-1]:
        mask[start : start + OBSERVATION_TOKENS] = False
    log_probs = np.where(mask, -rng.exponential(0.4, TOKENS), 0.0).astype(np.float32)
    return Trajectory(ids, mask, log_probs, PROMPT_TOKENS, ((version, int(mask.sum())),))


def plays(rollout: int, slot: int) -> Iterator[Episode]:
    """All plays of one environment: 16 K tokens each, won by a share that differs from environment to environment."""
    rng = np.random.default_rng([rollout, slot])
    observation = "The board shows a row of marks; you may move, look or wait. " * 4
    for play in range(PLAYS):
        value = float(rng.random() < slot / ENVIRONMENTS)
        yield Episode(
            environment=environment_id(rollout // LENGTH, slot),
            slot=slot,
            play=play,
            hinted=False,
            seed=None,
            outcome=Outcome.SCORED,
            episode_return=value,
            terminated=True,
            turns=TURNS,
            rewards=(*[0.0] * (TURNS - 1), value),
            actions=tuple(f"\\boxed{{move {rng.integers(100)}}}" for _ in range(TURNS)),
            observations=(observation,) * (TURNS + 1),
            fault="",
            verifier_failures=(),
            prefix_check="exact",
            trajectory=trajectory(rng, rollout),
            attempts=1,
            seconds=30.0,
        )


def write_rollout(store: Store, rollout: int) -> RolloutManifest:
    """A finished rollout; its cycle must be there."""
    for slot in range(ENVIRONMENTS):
        write_episodes(store, rollout, slot, 0, list(plays(rollout, slot)))
    entries = manifests.read_batch(store, rollout // LENGTH).environments
    manifest, _ = compose_rollout(store, METHOD, rollout, rollout, entries)
    manifests.write(store, manifests.rollout_path(rollout), manifest)
    return manifest


def write_window(store: Store) -> int:
    """A cycle with all its rollouts, and the first rollout of the next; returns that rollout, which trains both."""
    rng = np.random.default_rng(0)
    for cycle in range(2):
        skills = METHOD.environments.skills[:3]
        one_each = [design(cycle, slot, skills[slot % 3]) for slot in range(ENVIRONMENTS)]
        write_cycle(store, cycle, [replace(one, trajectory=trajectory(rng, cycle)) for one in one_each])
    for rollout in range(LENGTH + 1):
        write_rollout(store, rollout)
    for rollout in range(LENGTH):
        write_step(store, rollout, ())
    return LENGTH
