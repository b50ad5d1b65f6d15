"""The manifest of a rollout, composed of its parts: same episodes, same bytes, whoever played them and when."""

from collections import Counter
from collections.abc import Mapping, Sequence

from spade_contracts.config import MethodConfig
from spade_contracts.manifests import EnvironmentEntry, EnvironmentReturns, RolloutManifest
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.verify import concentration
from spade_trainer.play.plan import planned_episodes
from spade_trainer.play.retirement import retires, suspicions
from spade_trainer.rewards.returns import STEP_TIMEOUTS
from spade_trainer.store import layout
from spade_trainer.store.episodes import Episode, read_part
from spade_trainer.store.objects import Store, names

OF_ONE_EPISODE = frozenset({VerifierFailure.SUCCESS_WITH_ERROR})


def finished_parts(store: Store, rollout: int) -> dict[int, str]:
    """Part files of a rollout by slot; of several attempts the earliest counts."""
    parts: dict[int, str] = {}
    for name in names(store, layout.rollout_folder(rollout)):
        if layout.is_episodes_part(name):
            parts.setdefault(layout.part_slot(name), name)
    return parts


def returns_of(
    method: MethodConfig, environment: str, episodes: Sequence[Episode], suspect: Sequence[VerifierFailure] = ()
) -> EnvironmentReturns:
    """What a rollout says of one environment. `suspect`: what the live detectors found."""
    ordered = sorted(episodes, key=lambda episode: episode.play)
    return EnvironmentReturns(
        id=environment,
        unhinted=_returns(ordered, hinted=False),
        hinted=_returns(ordered, hinted=True),
        pairs=_pairs(ordered),
        environment_faults=sum(bool(e.fault) for e in ordered),
        step_timeouts=sum(e.fault in STEP_TIMEOUTS for e in ordered),
        suspect=tuple(suspect),
        retired=retires(method, ordered, suspect),
    )


def suspects(played: Mapping[str, Sequence[Episode]]) -> dict[str, tuple[VerifierFailure, ...]]:
    """What the live detectors find in a rollout, by environment; each one alone first, then all together."""
    found = {environment: suspicions(episodes) for environment, episodes in played.items()}
    few = concentration({environment: _returns(episodes, hinted=False) for environment, episodes in played.items()})
    for environment in few:
        found[environment] = (*found[environment], VerifierFailure.REWARD_CONCENTRATION)
    return found


def compose_rollout(
    store: Store,
    method: MethodConfig,
    rollout: int,
    policy_version: int,
    entries: Sequence[EnvironmentEntry],
    *,
    environments: int | None = None,
) -> tuple[RolloutManifest, tuple[Episode, ...]]:
    """The manifest out of all parts, with the episodes it speaks of. KeyError if a part is missing: wait for all.

    environments: how many the rollout plays, where entries are one worker's share of them.
    """
    parts = finished_parts(store, rollout)
    wanted = [(entry.id, parts[entry.slot]) for entry in sorted(entries, key=lambda entry: entry.slot)]
    played = {environment: read_part(store, rollout, part) for environment, part in wanted}
    episodes = tuple(episode for part in played.values() for episode in part)
    suspect = suspects(played)
    failures = Counter(failure for episode in episodes for failure in episode.verifier_failures)
    # What one episode shows is counted there; what takes several is counted by environment.
    failures.update(reason for found in suspect.values() for reason in found if reason not in OF_ONE_EPISODE)
    manifest = RolloutManifest(
        rollout=rollout,
        cycle=method.cycle_of(rollout),
        policy_version=policy_version,
        planned=planned_episodes(method, rollout, entries, environments=environments or len(entries)),
        outcomes=dict(Counter(episode.outcome.value for episode in episodes)),
        environments=tuple(returns_of(method, name, part, suspect[name]) for name, part in played.items()),
        verifier_failures=dict(failures),
        prefix_checks=dict(Counter(episode.prefix_check for episode in episodes)),
        episodes=tuple(part for _, part in wanted),
    )
    return manifest, episodes


def _returns(episodes: Sequence[Episode], *, hinted: bool) -> tuple[float, ...]:
    """Returns of one arm that are not masked, in the given order."""
    return tuple(e.episode_return for e in episodes if e.hinted is hinted and e.episode_return is not None)


def _pairs(episodes: Sequence[Episode]) -> tuple[tuple[float, float], ...]:
    """Returns without and with the hint of plays from one seed, where neither is masked."""
    with_hint = {e.play: e for e in episodes if e.hinted and e.seed is not None}
    both = ((e, with_hint[e.play]) for e in episodes if not e.hinted and e.play in with_hint)
    return tuple(
        (plain.episode_return, helped.episode_return)
        for plain, helped in both
        if plain.seed == helped.seed and plain.episode_return is not None and helped.episode_return is not None
    )
