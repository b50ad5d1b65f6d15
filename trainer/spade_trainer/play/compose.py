"""The manifest of a rollout, composed of its parts: same episodes, same bytes, whoever played them and when."""

from collections import Counter
from collections.abc import Sequence

from spade_contracts.config import MethodConfig
from spade_contracts.manifests import EnvironmentEntry, EnvironmentReturns, RolloutManifest
from spade_trainer.play.plan import planned_episodes
from spade_trainer.play.retirement import retires
from spade_trainer.store import layout
from spade_trainer.store.episodes import Episode, read_part
from spade_trainer.store.objects import Store, names


def finished_parts(store: Store, rollout: int) -> dict[int, str]:
    """Part files of a rollout by slot; of several attempts the earliest counts."""
    parts: dict[int, str] = {}
    for name in names(store, layout.rollout_folder(rollout)):
        if name.startswith("episodes-s"):
            parts.setdefault(layout.part_slot(name), name)
    return parts


def returns_of(method: MethodConfig, environment: str, episodes: Sequence[Episode]) -> EnvironmentReturns:
    """What a rollout says of one environment."""
    ordered = sorted(episodes, key=lambda episode: episode.play)
    return EnvironmentReturns(
        id=environment,
        unhinted=tuple(e.episode_return for e in ordered if not e.hinted and e.episode_return is not None),
        hinted=tuple(e.episode_return for e in ordered if e.hinted and e.episode_return is not None),
        environment_faults=sum(bool(e.fault) for e in ordered),
        retired=retires(ordered, method.switches.environment_fault_credit),
    )


def compose_rollout(
    store: Store, method: MethodConfig, rollout: int, policy_version: int, entries: Sequence[EnvironmentEntry]
) -> tuple[RolloutManifest, tuple[Episode, ...]]:
    """The manifest out of all parts, with the episodes it speaks of. KeyError if a part is missing: wait for all."""
    parts = finished_parts(store, rollout)
    wanted = [(entry.id, parts[entry.slot]) for entry in sorted(entries, key=lambda entry: entry.slot)]
    played = {environment: read_part(store, rollout, part) for environment, part in wanted}
    episodes = tuple(episode for part in played.values() for episode in part)
    failures = Counter(failure for episode in episodes for failure in episode.verifier_failures)
    manifest = RolloutManifest(
        rollout=rollout,
        cycle=method.cycle_of(rollout),
        policy_version=policy_version,
        planned=planned_episodes(method, rollout, entries),
        outcomes=dict(Counter(episode.outcome.value for episode in episodes)),
        environments=tuple(returns_of(method, environment, part) for environment, part in played.items()),
        verifier_failures=dict(failures),
        episodes=tuple(part for _, part in wanted),
    )
    return manifest, episodes
