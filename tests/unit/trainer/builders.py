"""Small runs in run storage, made of values instead of plays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import merged
from spade_contracts.manifests import (
    BatchManifest,
    EnvironmentEntry,
    EnvironmentReturns,
    RolloutManifest,
    RunManifest,
    StepManifest,
)
from spade_contracts.statuses import Outcome
from spade_trainer.store import layout, manifests
from spade_trainer.store.designs import Design, write_designs, write_program
from spade_trainer.store.episodes import Episode, Trajectory, write_episodes
from spade_trainer.store.objects import Store

SMALL: dict[str, Any] = {
    "environments": {"per_cycle": 4, "cycle_length": 2, "skills": ("A", "B"), "active_skills": 2},
    "play": {"plays_per_environment": 4, "hinted_plays": 4},
}


def method(profile: Profile = Profile.CORRECTED, **patch: Any) -> MethodConfig:
    """A run of four environments, four plays and cycles of two."""
    return resolve(profile, merged(SMALL, patch))


def run_manifest(settings: MethodConfig) -> RunManifest:
    return RunManifest(namespace="default", name="mini", model_uri="package:tiny", method=settings, versions={})


def trajectory(key: int, version: int = 0, tokens: int = 6, prompt: int = 2) -> Trajectory:
    """Distinct tokens for each key."""
    mask = np.arange(tokens) >= prompt
    return Trajectory(
        token_ids=(np.arange(tokens) + 10 * key).astype(np.int32),
        loss_mask=mask,
        log_probs=np.where(mask, -0.5 - key / 100, 0.0).astype(np.float32),
        prompt_tokens=prompt,
        spans=((version, tokens - prompt),),
    )


def episode(environment: str, play: int, value: float | None, *, hinted: bool = False, version: int = 0) -> Episode:
    """A play with this return; None: masked as an environment fault."""
    slot = layout.slot_of(environment)
    return Episode(
        environment=environment,
        slot=slot,
        play=play,
        hinted=hinted,
        seed=play,
        outcome=Outcome.ENVIRONMENT_FAULT if value is None else Outcome.SCORED,
        episode_return=value,
        terminated=value is not None,
        turns=1,
        rewards=() if value is None else (value,),
        actions=(f"move {play}",),
        observations=("Begin.",) if value is None else ("Begin.", f"answer {play}"),
        fault="crash/step" if value is None else "",
        verifier_failures=(),
        prefix_check="exact",
        trajectory=trajectory(100 * slot + 10 * hinted + play, version),
        attempts=1,
        seconds=0.0,
    )


def design(cycle: int, slot: int, skill: str, program: str = "class GameEnv: pass\n", version: int = 0) -> Design:
    return Design(
        cycle=cycle,
        slot=slot,
        attempt=0,
        skill=skill,
        document_id=f"line-{slot}",
        trajectory=trajectory(1000 + slot, version),
        program=program,
        stage="accepted",
        reason="",
        message="",
        evidence="[]",
        facts="{}",
        hint="look left",
        hint_tokens=3,
    )


def write_cycle(
    store: Store, cycle: int, designs: Sequence[Design], version: int = 0, *, topup: int | None = None
) -> BatchManifest:
    """A finished cycle with these accepted designs, or its top-up for a rollout."""
    entries, parts = [], []
    below = "" if topup is None else f"{layout.topup_name(topup)}/"
    for one in designs:
        write_designs(store, cycle, one.slot, 0, [one], rollout=topup)
        parts.append(f"{below}{layout.design_part(one.slot, 0)}")
        entries.append(
            EnvironmentEntry(
                id=layout.environment_id(cycle, one.slot),
                slot=one.slot,
                attempt=one.attempt,
                skill=one.skill,
                file=write_program(store, one),
                sha256=one.sha256,
                document_id=one.document_id,
                hint=one.hint,
            )
        )
    manifest = BatchManifest(
        cycle=cycle,
        rollout=topup,
        policy_version=version,
        requested=len(designs),
        attempts=len(designs),
        environments=tuple(entries),
        rejected={},
        designs=tuple(parts),
        verdicts=(),
    )
    manifests.write(store, manifests.batch_path(cycle, topup), manifest)
    return manifest


Returns = Mapping[str, Sequence[float | None]]


def write_rollout(
    store: Store, rollout: int, cycle: int, unhinted: Returns, hinted: Returns | None = None
) -> RolloutManifest:
    """A finished rollout with these returns by environment; None is an environment fault."""
    entries, parts = [], []
    for environment, values in unhinted.items():
        extra = (hinted or {}).get(environment, ())
        episodes = [episode(environment, play, value, version=rollout) for play, value in enumerate(values)]
        episodes += [
            episode(environment, play, value, hinted=True, version=rollout) for play, value in enumerate(extra)
        ]
        slot = layout.slot_of(environment)
        write_episodes(store, rollout, slot, 0, episodes)
        parts.append(layout.episodes_part(slot, 0))
        entries.append(
            EnvironmentReturns(
                id=environment,
                unhinted=tuple(value for value in values if value is not None),
                hinted=tuple(value for value in extra if value is not None),
                pairs=tuple(
                    (plain, helped)
                    for plain, helped in zip(values, extra, strict=False)
                    if plain is not None and helped is not None
                ),
                environment_faults=sum(value is None for value in (*values, *extra)),
                retired=False,
            )
        )
    manifest = RolloutManifest(
        rollout=rollout,
        cycle=cycle,
        policy_version=rollout,
        planned=sum(len(values) for values in (*unhinted.values(), *(hinted or {}).values())),
        outcomes={},
        environments=tuple(entries),
        verifier_failures={},
        episodes=tuple(parts),
    )
    manifests.write(store, manifests.rollout_path(rollout), manifest)
    return manifest


def write_step(store: Store, rollout: int, designer_cycles: tuple[int, ...], samples_sha256: str = "0" * 64) -> None:
    """A recorded step on a rollout."""
    step = StepManifest(
        rollout=rollout,
        policy_version=rollout + 1,
        player_samples=1,
        designer_samples=len(designer_cycles),
        designer_cycles=designer_cycles,
        samples_sha256=samples_sha256,
        loss=0.0,
        gradient_norm=1.0,
        kl=0.0,
        importance_mean=1.0,
        importance_clipped_fraction=0.0,
        tokens=1,
        parameter_sha256="0" * 64,
        world_size=1,
    )
    manifests.write(store, manifests.step_path(rollout), step)
