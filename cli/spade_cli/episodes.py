"""An episode out of run storage: its environment, its actions as the player's tokens spell them, what was answered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_cli.comparison import Row
from spade_contracts.config import MethodConfig
from spade_contracts.errors import EnvironmentFault, InvalidInput
from spade_contracts.protocol import PROGRAM_FAULTS
from spade_sandbox.client import SandboxPool, SandboxSession
from spade_trainer.chat import Chat, load_chat
from spade_trainer.play.action import parse_action
from spade_trainer.play.prompt import first_message, with_hint
from spade_trainer.store import manifests
from spade_trainer.store.designs import read_program
from spade_trainer.store.episodes import Episode, Trajectory, read_part
from spade_trainer.store.objects import open_store
from spade_trainer.store.policies import policy_files

WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Turn:
    """One reply of the player and the environment's next words, as tokens; the last turn has none of them."""

    drawn: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(frozen=True)
class RecordedEpisode:
    """All that its replay needs."""

    episode: Episode
    source: str
    hint: str | None
    chat: Chat
    method: MethodConfig


def is_episode(row: dict[str, Any]) -> bool:
    """Whether a record is one of an episode rather than of a verdict."""
    return {"environment", "turns", "token_ids", "play"} <= row.keys()


def read_recorded(path: str, row: dict[str, Any]) -> RecordedEpisode:
    """The episode of a row of `rollouts/NNNN/episodes-….parquet` in a run's storage.

    Raises InvalidInput or ManifestMissing if the file is not in a run's storage.
    """
    part = Path(path).resolve()
    if not part.parent.name.isdigit() or part.parent.parent.name != "rollouts":
        remedy = "Replay it where it lies in the run's storage: rollouts/NNNN/episodes-….parquet."
        raise InvalidInput(path, "its environment cannot be found from here", remedy=remedy)
    store = open_store(part.parents[2].as_uri())
    rollout = int(part.parent.name)
    method = manifests.read_run(store).method
    cycle = method.cycle_of(rollout)
    entry = next((one for one in manifests.read_batch(store, cycle).environments if one.id == row["environment"]), None)
    if entry is None:
        raise InvalidInput(path, f"cycle {cycle} has no environment {row['environment']}")
    key = (row["environment"], row["play"], row["hinted"])
    played = read_part(store, rollout, part.name)
    episode = next(one for one in played if (one.environment, one.play, one.hinted) == key)
    chat = load_chat(policy_files(store, 0))
    return RecordedEpisode(episode, read_program(store, cycle, entry.file), entry.hint, chat, method)


def turns(trajectory: Trajectory) -> tuple[Turn, ...]:
    """The drawn stretches of a conversation, each with what was given after it."""
    found: list[tuple[list[int], list[int]]] = []
    for token, drawn in zip(
        trajectory.token_ids[trajectory.prompt_tokens :].tolist(),
        trajectory.loss_mask[trajectory.prompt_tokens :].tolist(),
        strict=True,
    ):
        if drawn and (not found or found[-1][1]):
            found.append(([], []))
        found[-1][0 if drawn else 1].append(token)
    return tuple(Turn(tuple(drawn), tuple(given)) for drawn, given in found)


def fault_operation(fault: str) -> str:
    """The operation during which the program itself failed, or nothing."""
    kind, _, operation = fault.partition("/")
    return operation if kind in set(PROGRAM_FAULTS) else ""


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
            rows.append(await _reset(recorded, session))
            operation = "step"
            for number, turn in enumerate(_taken(recorded.episode)):
                rows.append(await _step(recorded, session, number, turn))
    except EnvironmentFault as error:
        now, before = f"{error.kind}/{operation}", recorded.episode.fault
        rows.append(Row(operation, now == before, before or "an answer", f"{now}: {error}"))
        return tuple(rows)
    if fault_operation(recorded.episode.fault):
        rows.append(Row("the episode's end", False, recorded.episode.fault, "no fault"))
    return tuple(rows)


def _taken(episode: Episode) -> tuple[Turn, ...]:
    """The turns whose reply became an action; a reply that was cut short did not."""
    faulted = fault_operation(episode.fault) == "step"
    return turns(episode.trajectory)[: episode.turns + faulted]


async def _reset(recorded: RecordedEpisode, session: SandboxSession) -> Row:
    observation = await session.reset(recorded.episode.seed)
    template = f"games_{recorded.method.play.prompt_template.value.lower()}"
    shown = observation
    if recorded.episode.hinted and recorded.hint is not None:
        shown = with_hint(observation, recorded.hint, template)
    prompt = recorded.chat.prompt([{"role": "user", "content": first_message(shown, template)}])
    trajectory = recorded.episode.trajectory
    before = trajectory.token_ids[: trajectory.prompt_tokens].tolist()
    return Row(
        f"reset(seed={recorded.episode.seed})",
        prompt == before,
        recorded.chat.decode(before),
        recorded.chat.decode(prompt),
        ("observation",),
    )


async def _step(recorded: RecordedEpisode, session: SandboxSession, number: int, turn: Turn) -> Row:
    """One action. Compared: the reward, whether the episode ended, and the observation where the player read it."""
    episode, chat = recorded.episode, recorded.chat
    action = parse_action(chat.decode(turn.drawn), recorded.method.switches.boxed_action)
    result = await session.step(action)
    last = number == episode.turns - 1
    before = {
        "reward": episode.rewards[number] if number < len(episode.rewards) else None,
        "terminated": episode.terminated and last,
        "observation": chat.decode(turn.given) if turn.given else "",
    }
    given = tuple(chat.next_turn(result.observation)) if turn.given else ()
    now = {
        "reward": result.reward,
        "terminated": result.terminated,
        "observation": before["observation"] if given == turn.given else chat.decode(given),
    }
    fields = tuple(name for name in before if before[name] != now[name])
    return Row(f"step({action!r})", not fields, str(before), str(now), fields)
