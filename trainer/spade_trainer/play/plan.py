"""Which episodes a rollout has: a pure function of earlier manifests and settings (method.md §1.2, §3; D2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import DesignerSource
from spade_contracts.config.switches import EpisodeSeeds, RegretEstimator, ShortCycles
from spade_contracts.manifests import BatchManifest, EnvironmentEntry, RolloutManifest
from spade_trainer.play.episode import EpisodePlan
from spade_trainer.randomness import Purpose, seed_for


@dataclass(frozen=True)
class GroupPlan:
    """All episodes of one environment in a rollout; they are written as one part."""

    environment: str
    slot: int
    episodes: tuple[EpisodePlan, ...]


def environments_of(
    batch: BatchManifest, earlier: Sequence[RolloutManifest], topups: Sequence[BatchManifest] = ()
) -> tuple[EnvironmentEntry, ...]:
    """The environments that a rollout plays, by slot: all of its cycle that no earlier rollout of the cycle retired.

    topups: those of the cycle up to this rollout.
    """
    retired = {entry.id for rollout in earlier for entry in rollout.environments if entry.retired}
    entries = (entry for one in (batch, *topups) for entry in one.environments if entry.id not in retired)
    return tuple(sorted(entries, key=lambda entry: entry.slot))


def unhinted_plays(method: MethodConfig, environments: int) -> int:
    """Unhinted plays of each environment in a rollout that plays so many (switch shortCycles; method.md §1.2)."""
    if method.switches.short_cycles is ShortCycles.AS_SET:
        return method.play.plays_per_environment
    return ceil(method.environments.per_cycle * method.play.plays_per_environment / max(1, environments))


def hinted_plays(method: MethodConfig, environments: int) -> int:
    """Hinted plays of each environment in a rollout that plays so many. Where the regret compares plays of one seed,
    a hinted play without an unhinted one would be paid for nothing, so there are at most as many (D4)."""
    if method.switches.regret_estimator is RegretEstimator.FIRST_OFFSET:
        return method.play.hinted_plays
    return min(method.play.hinted_plays, unhinted_plays(method, environments))


def plan_group(
    method: MethodConfig, rollout: int, entry: EnvironmentEntry, source: str, *, environments: int
) -> GroupPlan:
    """The unhinted episodes of an environment, and in the first rollout of its cycle the hinted ones.

    environments: how many the rollout plays.

    Corrected plays both arms from one list of seeds, so that the regret compares the same instances (D2). Paper resets
    unhinted plays without a seed. Without a hint there is no hinted play. All plays of a procedural family answer one
    problem, so they share one seed in both (method.md §10).
    """
    cycle, offset = divmod(rollout, method.environments.cycle_length)
    hinted = hinted_plays(method, environments) if offset == 0 and entry.hint is not None else 0
    shared = method.environments.designer.source is DesignerSource.FAMILIES

    def seed(play: int) -> int:
        return seed_for(method.seed, Purpose.EPISODE, cycle, entry.slot, offset, 0 if shared else play)

    null = method.switches.episode_seeds is EpisodeSeeds.NULL_UNHINTED and not shared

    def plan(play: int, hint: str | None) -> EpisodePlan:
        return EpisodePlan(
            rollout=rollout,
            environment=entry.id,
            slot=entry.slot,
            play=play,
            source=source,
            hint=hint,
            seed=None if null and hint is None else seed(play),
        )

    unhinted = (plan(play, None) for play in range(unhinted_plays(method, environments)))
    with_hint = (plan(play, entry.hint) for play in range(hinted))
    return GroupPlan(entry.id, entry.slot, (*unhinted, *with_hint))


def planned_episodes(
    method: MethodConfig, rollout: int, entries: Sequence[EnvironmentEntry], *, environments: int
) -> int:
    """How many episodes these environments have in a rollout that plays so many."""
    groups = (plan_group(method, rollout, entry, "", environments=environments) for entry in entries)
    return sum(len(group.episodes) for group in groups)
