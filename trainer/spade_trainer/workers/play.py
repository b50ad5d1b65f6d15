"""A play worker: its environments of a rollout, one part each; worker 0 then composes the rollout's manifest."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from spade_contracts.config.switches import Switches
from spade_contracts.manifests import EnvironmentEntry, RolloutManifest
from spade_contracts.statuses import Outcome, PlaySummary, PrefixCheck
from spade_contracts.tasks import PlayTask
from spade_sandbox.client import SandboxSession
from spade_trainer.assembly import SampleRole
from spade_trainer.chat import load_chat
from spade_trainer.play.compose import compose_rollout, finished_parts
from spade_trainer.play.episode import EpisodePlan, Table, play_episode
from spade_trainer.play.plan import GroupPlan, environments_of, plan_group, planned_episodes
from spade_trainer.play.scheduler import play_groups
from spade_trainer.rewards.summary import learnable_fraction, mean_hint_regret, mean_return
from spade_trainer.store import layout, manifests, timings
from spade_trainer.store.designs import read_program
from spade_trainer.store.episodes import Episode, read_episodes, read_kept_episodes, write_episodes
from spade_trainer.store.objects import Store, open_store, uri_of
from spade_trainer.store.policies import policy_files
from spade_trainer.topups import topups_of
from spade_trainer.workers.figures import Figures
from spade_trainer.workers.finish import finish_unit
from spade_trainer.workers.parts import wait_for_parts
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.servers import servers
from spade_trainer.workers.surroundings import Surroundings

SESSION_WAIT_SECONDS = 1800.0
"""How long an episode may wait for a sandbox: a small pool is slow, not broken, and a growing one needs its time."""


async def play(task: PlayTask, around: Surroundings, progress: Progress, figures: Figures) -> PlaySummary:
    """Play what is missing of this worker's share; a finished rollout is left alone.

    Raises InfrastructureFault if an environment could not be played at all, or others' parts do not come.
    """
    started = time.monotonic()
    store = open_store(task.run.storage_uri)
    method = manifests.read_run(store).method
    path = manifests.rollout_path(task.rollout)
    manifest = manifests.find(store, path, RolloutManifest)
    if manifest is not None:
        return _summary(
            store, task, manifest, read_kept_episodes(store, manifest), switches=method.switches, started=started
        )
    batch = manifests.read_batch(store, task.cycle)
    first = task.cycle * method.environments.cycle_length
    topups = topups_of(store, method, task.cycle, until=task.rollout)
    entries = environments_of(batch, [manifests.read_rollout(store, r) for r in range(first, task.rollout)], topups)
    own = entries[around.index :: task.workers]
    parts = finished_parts(store, task.rollout)
    missing = [entry for entry in own if entry.slot not in parts]
    among = len(entries)
    progress.planned = planned_episodes(method, task.rollout, own, environments=among)
    progress.done = progress.planned - planned_episodes(method, task.rollout, missing, environments=among)
    if missing:
        progress.stage = "playing"
        await _play_environments(task, around, store, entries=missing, among=among, progress=progress, figures=figures)
    folder = layout.rollout_folder(task.rollout)
    who = f"play-w{around.index}-a{task.attempt:02d}"
    timings.write(store, folder, who, {"play": time.monotonic() - started})
    if around.index != 0:
        share, episodes = compose_rollout(store, method, task.rollout, task.policy_version, own, environments=among)
        return _summary(store, task, share, episodes, switches=method.switches, started=started)
    progress.stage = "waiting for other workers"
    await wait_for_parts([entry.slot for entry in entries], lambda: finished_parts(store, task.rollout))
    progress.stage = "composing"
    composed, episodes = compose_rollout(store, method, task.rollout, task.policy_version, entries)
    final = finish_unit(store, path, composed)
    episodes = episodes if final == composed else read_episodes(store, final)
    return _summary(store, task, final, episodes, switches=method.switches, started=started)


async def _play_environments(
    task: PlayTask,
    around: Surroundings,
    store: Store,
    *,
    entries: Sequence[EnvironmentEntry],
    among: int,
    progress: Progress,
    figures: Figures,
) -> None:
    """Play these environments, of so many in the rollout, and write each one's part as its last episode ends."""
    method = manifests.read_run(store).method
    groups = [
        plan_group(method, task.rollout, entry, read_program(store, task.cycle, entry.file), environments=among)
        for entry in entries
    ]
    async with servers(task, around, progress, figures) as (engines, sandboxes):

        def open_session(source: str) -> AbstractAsyncContextManager[SandboxSession]:
            domain = method.environments.domain
            turns = method.play.max_turns
            return sandboxes.session(source, method.limits, domain, max_turns=turns, wait_seconds=SESSION_WAIT_SECONDS)

        table = Table(
            method=method,
            policy_version=task.policy_version,
            chat=load_chat(policy_files(store, task.policy_version, weights=False)),
            generate=engines.generate,
            open_session=open_session,
            observe=partial(figures.answer_flawed, SampleRole.PLAYER),
        )

        async def one(plan: EpisodePlan) -> Episode:
            return await play_episode(table, plan)

        def finished(plan: GroupPlan, episodes: list[Episode]) -> None:
            write_episodes(store, task.rollout, plan.slot, task.attempt, episodes)

        def observed(episode: Episode) -> None:
            progress.done += 1
            progress.verifier_failures.update(episode.verifier_failures)
            figures.episode_ended(episode)

        await play_groups(
            groups,
            one,
            attempts=method.play.episode_attempts,
            finished=finished,
            observed=observed,
            concurrency=task.episodes,
        )


def _summary(
    store: Store,
    task: PlayTask,
    manifest: RolloutManifest,
    episodes: Sequence[Episode],
    *,
    switches: Switches,
    started: float,
) -> PlaySummary:
    """The termination message."""
    regret = mean_hint_regret(manifest, switches)
    hinted = Counter(episode.outcome for episode in episodes if episode.hinted)
    return PlaySummary(
        rollout=task.rollout,
        planned=manifest.planned,
        outcomes={Outcome(name): count for name, count in sorted(manifest.outcomes.items())},
        hinted=sum(hinted.values()),
        hinted_outcomes=dict(sorted(hinted.items())),
        learnable_fraction=learnable_fraction(manifest),
        mean_return=mean_return(manifest),
        hint_regret=None if regret is None else regret.value,
        hint_regret_standard_error=None if regret is None else regret.standard_error,
        prefix_checks={PrefixCheck(name): count for name, count in sorted(manifest.prefix_checks.items())},
        verifier_failures=dict(sorted(manifest.verifier_failures.items())),
        tokens=sum(episode.trajectory.drawn_tokens for episode in episodes),
        seconds=round(time.monotonic() - started, 3),
        storage_uri=uri_of(store, layout.rollout_folder(task.rollout)),
    )
