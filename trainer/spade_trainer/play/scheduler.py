"""Runs many episodes at once, and each again when infrastructure failed under it; such a failure is never scored."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from spade_contracts.errors import InfrastructureFault
from spade_contracts.statuses import Outcome
from spade_trainer.play.episode import EpisodePlan, lost_episode
from spade_trainer.play.plan import GroupPlan
from spade_trainer.store.episodes import Episode

PAUSES_SECONDS = (0.5, 2.0, 5.0)
"""Pauses before a further try; the last one repeats."""

Play = Callable[[EpisodePlan], Awaitable[Episode]]
log = logging.getLogger(__name__)


class EnvironmentLost(InfrastructureFault):
    """Every unhinted play of an environment failed for reasons of ours. Temporary: the Job tries again."""


async def play_groups(
    groups: Iterable[GroupPlan],
    play: Play,
    *,
    attempts: int,
    finished: Callable[[GroupPlan, list[Episode]], None],
    observed: Callable[[Episode], None] = lambda episode: None,
    concurrency: int,
) -> None:
    """Play all groups; hand over each when its last episode has ended.

    Episodes start in the order of the groups, so that early groups finish early and a kill loses little. attempts:
    tries of one episode. concurrency: episodes under way at once. observed: called as each episode ends. An environment
    of which infrastructure left no unhinted play is not handed over, and raises EnvironmentLost after all others are
    done.
    """
    room = asyncio.Semaphore(concurrency)
    lost: list[str] = []

    async def one(plan: EpisodePlan) -> Episode:
        async with room:
            episode = await _tried(plan, play, attempts)
        observed(episode)
        return episode

    async def group(plan: GroupPlan, tasks: "list[asyncio.Task[Episode]]") -> None:
        episodes = [await task for task in tasks]
        unhinted = [episode for episode in episodes if not episode.hinted]
        if unhinted and all(episode.outcome is Outcome.INFRASTRUCTURE_FAULT for episode in unhinted):
            lost.append(plan.environment)
        else:
            finished(plan, episodes)

    async with asyncio.TaskGroup() as tasks:
        for plan in groups:
            started = [tasks.create_task(one(episode)) for episode in plan.episodes]
            tasks.create_task(group(plan, started))
    if lost:
        raise EnvironmentLost(f"no play of {', '.join(sorted(lost))} could be finished")


async def _tried(plan: EpisodePlan, play: Play, attempts: int) -> Episode:
    """An episode, after as many tries as it took or as are allowed."""
    for attempt in range(1, attempts + 1):
        try:
            return replace(await play(plan), attempts=attempt)
        except InfrastructureFault as error:
            log.warning("%s play %d, try %d: %s", plan.environment, plan.play, attempt, error)
            if attempt < attempts:
                await asyncio.sleep(PAUSES_SECONDS[min(attempt, len(PAUSES_SECONDS)) - 1])
    return lost_episode(plan, attempts)
