"""An episode out of run storage: its environment, its seed and actions, and what was answered to them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_cli.comparison import Row
from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import Domain
from spade_contracts.errors import EnvironmentFault, InvalidInput
from spade_contracts.statuses import Outcome
from spade_contracts.tool_calls import ToolCall, read_call
from spade_sandbox.client import SandboxPool, SandboxSession
from spade_trainer.store import manifests
from spade_trainer.store.designs import read_program
from spade_trainer.store.episodes import Episode, read_part
from spade_trainer.store.objects import open_store
from spade_trainer.topups import programs_of

WAIT_SECONDS = 60.0
NO_ANSWER = "(no answer)"


@dataclass(frozen=True)
class RecordedEpisode:
    """All that its replay needs."""

    episode: Episode
    source: str
    method: MethodConfig


def is_episode(row: dict[str, Any]) -> bool:
    """Whether a record is one of an episode rather than of a verdict."""
    return {"environment", "actions", "observations", "play"} <= row.keys()


@dataclass(frozen=True)
class Environment:
    """An environment of a rollout."""

    source: str
    method: MethodConfig


def environment_of(path: str, environment: str) -> Environment:
    """An environment that the rollout of a file `rollouts/NNNN/…` in a run's storage played.

    Raises InvalidInput or ManifestMissing if the file is not in a run's storage.
    """
    part = Path(path).resolve()
    if not part.parent.name.isdigit() or part.parent.parent.name != "rollouts":
        remedy = "Name the file where it lies in the run's storage: rollouts/NNNN/episodes-….parquet."
        raise InvalidInput(path, "its environment cannot be found from here", remedy=remedy)
    store = open_store(part.parents[2].as_uri())
    rollout = int(part.parent.name)
    method = manifests.read_run(store).method
    cycle = method.cycle_of(rollout)
    entries = programs_of(store, method, cycle, until=rollout)
    entry = next((one for one in entries if one.id == environment), None)
    if entry is None:
        raise InvalidInput(path, f"cycle {cycle} has no environment {environment}")
    return Environment(read_program(store, cycle, entry.file), method)


def read_recorded(path: str, row: dict[str, Any]) -> RecordedEpisode:
    """The episode of a row of `rollouts/NNNN/episodes-….parquet` in a run's storage.

    Raises InvalidInput or ManifestMissing if the file is not in a run's storage.
    """
    found = environment_of(path, row["environment"])
    part = Path(path).resolve()
    key = (row["environment"], row["play"], row["hinted"])
    played = read_part(open_store(part.parents[2].as_uri()), int(part.parent.name), part.name)
    episode = next(one for one in played if (one.environment, one.play, one.hinted) == key)
    if episode.outcome is Outcome.INFRASTRUCTURE_FAULT:
        raise InvalidInput(path, "this episode was never played: infrastructure failed at every try")
    return RecordedEpisode(episode, found.source, found.method)


async def play_again(recorded: RecordedEpisode, pool: SandboxPool) -> tuple[Row, ...]:
    """The same actions once more, each answer beside the recorded one. Raises InfrastructureFault."""
    settings = recorded.method.play
    rows: list[Row] = []
    operation = "open"
    try:
        async with pool.session(
            recorded.source,
            recorded.method.limits,
            recorded.method.environments.domain,
            max_turns=settings.max_turns,
            wait_seconds=WAIT_SECONDS,
        ) as session:
            operation = "reset"
            rows.append(await _reset(recorded.episode, session))
            tools = recorded.method.environments.domain is Domain.TOOLS
            for number, action in enumerate(recorded.episode.actions):
                call = read_call(action) if tools else None
                operation = "step" if call is None else "call"
                if call is None:
                    rows.append(await _step(recorded.episode, session, number, action))
                else:
                    rows.append(await _call(recorded.episode, session, number, call))
    except EnvironmentFault as error:
        now, before = f"{error.kind}/{operation}", recorded.episode.fault
        in_place = len(rows) == len(recorded.episode.observations)
        rows.append(Row(operation, now == before and in_place, before or "an answer", f"{now}: {error}"))
    return tuple(rows)


async def _reset(episode: Episode, session: SandboxSession) -> Row:
    now = await session.reset(episode.seed)
    before = episode.observations[0] if episode.observations else NO_ANSWER
    return Row(f"reset(seed={episode.seed})", now == before, before, now, ("observation",))


async def _call(episode: Episode, session: SandboxSession, number: int, call: ToolCall) -> Row:
    """One tool call. Compared: its output."""
    now = (await session.call(call.name, call.arguments)).output
    before = episode.observations[number + 1] if number < episode.turns else episode.fault or NO_ANSWER
    return Row(f"call({call.name}({call.arguments}))", now == before, before, now, ("observation",))


async def _step(episode: Episode, session: SandboxSession, number: int, action: str) -> Row:
    """One action. Compared: the observation, the reward, and whether the episode reached its end."""
    result = await session.step(action)
    now = {"observation": result.observation, "reward": result.reward, "terminated": result.terminated}
    operation = f"step({action!r})"
    if number >= episode.turns:
        return Row(operation, False, episode.fault or NO_ANSWER, str(now))
    before = {
        "observation": episode.observations[number + 1],
        "reward": episode.rewards[number],
        "terminated": episode.terminated and number == episode.turns - 1,
    }
    fields = tuple(name for name in before if before[name] != now[name])
    return Row(operation, not fields, str(before), str(now), fields)
