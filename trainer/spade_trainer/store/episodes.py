"""Episodes as Parquet: one row a play, one part file an environment and rollout."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spade_contracts.manifests import RolloutManifest
from spade_contracts.statuses import Outcome
from spade_trainer.store import layout
from spade_trainer.store.columnar import parquet_options, rows_of, table_of
from spade_trainer.store.objects import Store, create, exists, read_bytes

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Trajectory:
    """Tokens of one episode or one program. Arrays have the shape (tokens,)."""

    token_ids: "NDArray[np.int32]"
    loss_mask: "NDArray[np.bool_]"
    """True on tokens that the policy drew, but for turns whose tool calls could not be read (method.md §5.3)."""
    log_probs: "NDArray[np.float32]"
    """Of these tokens, as the engine drew them; 0 elsewhere."""
    prompt_tokens: int
    """Tokens before the first drawn one."""
    spans: tuple[tuple[int, int], ...]
    """(policy version, tokens) over the drawn tokens, in order; neighbours differ in version."""

    @property
    def drawn_tokens(self) -> int:
        """How many tokens the policy drew."""
        return sum(tokens for _, tokens in self.spans)


@dataclass(frozen=True)
class TurnTokens:
    """Size of one turn's own sequence."""

    tokens: int
    prompt_tokens: int


@dataclass(frozen=True)
class Episode:
    """One play of one environment."""

    environment: str
    slot: int
    play: int
    hinted: bool
    seed: int | None
    """Seed of the environment's reset; None: reset without one (switch episodeSeeds)."""
    outcome: Outcome
    episode_return: float | None
    """In [-1, 1]; None: masked, because no one may learn from it."""
    terminated: bool
    turns: int
    """Answered steps, and tool calls, of which a turn of the player may have several."""
    rewards: tuple[float, ...]
    """The environment's reward of each step, as given; 0 of a tool call."""
    actions: tuple[str, ...]
    """What each step was given, or a tool call as `tool_calls.spelled` writes it; with seed and observations enough to
    play the episode again in a sandbox."""
    observations: tuple[str, ...]
    """The opening one, and one for each answered step; empty if the reset failed."""
    fault: str
    """Kind and operation of the fault that ended it, such as `timeout/step`, or empty."""
    verifier_failures: tuple[str, ...]
    prefix_check: str
    """Whether the chat template spells the episode with the same tokens (PrefixCheck)."""
    trajectory: Trajectory
    attempts: int
    """Tries that it took; only infrastructure faults are tried again."""
    seconds: float
    """Wall clock of the last try."""
    per_turn: tuple[TurnTokens, ...] = ()
    """Where each turn is a sequence of its own (method.md §8.2): their sizes, in order; the trajectory holds them one
    after the other. Empty: it is one sequence."""


def columns() -> "pa.Schema":
    """The Parquet schema of episodes."""
    import pyarrow as pa

    return pa.schema(
        [
            ("environment", pa.string()),
            ("slot", pa.int32()),
            ("play", pa.int32()),
            ("hinted", pa.bool_()),
            ("seed", pa.int64()),
            ("outcome", pa.string()),
            ("return", pa.float64()),
            ("terminated", pa.bool_()),
            ("turns", pa.int32()),
            ("rewards", pa.list_(pa.float64())),
            ("actions", pa.list_(pa.string())),
            ("observations", pa.list_(pa.string())),
            ("fault", pa.string()),
            ("verifier_failures", pa.list_(pa.string())),
            ("prefix_check", pa.string()),
            *trajectory_columns(),
            ("attempts", pa.int32()),
            ("seconds", pa.float64()),
            ("turn_tokens", pa.list_(pa.int32())),
            ("turn_prompt_tokens", pa.list_(pa.int32())),
        ]
    )


def trajectory_columns() -> "list[tuple[str, pa.DataType]]":
    """The columns that hold tokens; episodes and designs share them."""
    import pyarrow as pa

    return [
        ("token_ids", pa.list_(pa.int32())),
        ("loss_mask", pa.list_(pa.bool_())),
        ("log_probs", pa.list_(pa.float32())),
        ("prompt_tokens", pa.int32()),
        ("span_versions", pa.list_(pa.int32())),
        ("span_tokens", pa.list_(pa.int32())),
    ]


def trajectory_row(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory's values by column."""
    return {
        "token_ids": trajectory.token_ids,
        "loss_mask": trajectory.loss_mask,
        "log_probs": trajectory.log_probs,
        "prompt_tokens": trajectory.prompt_tokens,
        "span_versions": [version for version, _ in trajectory.spans],
        "span_tokens": [tokens for _, tokens in trajectory.spans],
    }


def trajectory_from(row: dict[str, Any]) -> Trajectory:
    """The trajectory in a row read from Parquet."""
    import numpy as np

    return Trajectory(
        token_ids=np.asarray(row["token_ids"], dtype=np.int32),
        loss_mask=np.asarray(row["loss_mask"], dtype=np.bool_),
        log_probs=np.asarray(row["log_probs"], dtype=np.float32),
        prompt_tokens=row["prompt_tokens"],
        spans=tuple(zip(row["span_versions"], row["span_tokens"], strict=True)),
    )


def write_episodes(store: Store, rollout: int, slot: int, attempt: int, episodes: Sequence[Episode]) -> None:
    """Create one environment's part of a rollout; a part that is there already stays (it holds the same plays)."""
    rows = [_row(episode) for episode in sorted(episodes, key=lambda e: (e.hinted, e.play))]
    content = parquet_bytes(rows, columns())
    create(store, f"{layout.rollout_folder(rollout)}/{layout.episodes_part(slot, attempt)}", content)


def read_part(store: Store, rollout: int, name: str) -> tuple[Episode, ...]:
    """The episodes of one part file, unhinted ones first, each arm by play."""
    rows = parquet_rows(read_bytes(store, f"{layout.rollout_folder(rollout)}/{name}"))
    return tuple(_episode(row) for row in rows)


def read_episodes(store: Store, manifest: RolloutManifest) -> tuple[Episode, ...]:
    """All episodes of a finished rollout, by slot, unhinted first, by play."""
    return tuple(episode for name in manifest.episodes for episode in read_part(store, manifest.rollout, name))


def read_kept_episodes(store: Store, manifest: RolloutManifest) -> tuple[Episode, ...]:
    """The same of a rollout whose episodes may have been removed by retention: those that are left."""
    folder = layout.rollout_folder(manifest.rollout)
    left = tuple(name for name in manifest.episodes if exists(store, f"{folder}/{name}"))
    return read_episodes(store, manifest.model_copy(update={"episodes": left}))


def parquet_bytes(rows: Iterable[dict[str, Any]], schema: "pa.Schema") -> bytes:
    """Rows as one Parquet file."""
    return parquet_groups([list(rows)], schema)


def parquet_groups(groups: "Iterable[Sequence[dict[str, Any]]]", schema: "pa.Schema") -> bytes:
    """Rows as one Parquet file, group by group, so that only one is held in memory uncompressed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = pa.BufferOutputStream()
    with pq.ParquetWriter(out, schema, **parquet_options(schema)) as writer:
        for rows in groups:
            writer.write_table(table_of(rows, schema))
    return bytes(out.getvalue())


def parquet_rows(content: bytes) -> list[dict[str, Any]]:
    """The rows of one Parquet file; token columns as arrays that must not be written to (columnar.ARRAYS)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return rows_of(pq.read_table(pa.BufferReader(content)))


def _row(episode: Episode) -> dict[str, Any]:
    """An episode's values by column."""
    return {
        "environment": episode.environment,
        "slot": episode.slot,
        "play": episode.play,
        "hinted": episode.hinted,
        "seed": episode.seed,
        "outcome": episode.outcome.value,
        "return": episode.episode_return,
        "terminated": episode.terminated,
        "turns": episode.turns,
        "rewards": list(episode.rewards),
        "actions": list(episode.actions),
        "observations": list(episode.observations),
        "fault": episode.fault,
        "verifier_failures": list(episode.verifier_failures),
        "prefix_check": episode.prefix_check,
        **trajectory_row(episode.trajectory),
        "attempts": episode.attempts,
        "seconds": episode.seconds,
        "turn_tokens": [turn.tokens for turn in episode.per_turn],
        "turn_prompt_tokens": [turn.prompt_tokens for turn in episode.per_turn],
    }


def _episode(row: dict[str, Any]) -> Episode:
    """The episode in a row."""
    return Episode(
        environment=row["environment"],
        slot=row["slot"],
        play=row["play"],
        hinted=row["hinted"],
        seed=row["seed"],
        outcome=Outcome(row["outcome"]),
        episode_return=row["return"],
        terminated=row["terminated"],
        turns=row["turns"],
        rewards=tuple(row["rewards"]),
        actions=tuple(row["actions"]),
        observations=tuple(row["observations"]),
        fault=row["fault"],
        verifier_failures=tuple(row["verifier_failures"]),
        prefix_check=row["prefix_check"],
        trajectory=trajectory_from(row),
        attempts=row["attempts"],
        seconds=row["seconds"],
        per_turn=tuple(map(TurnTokens, row.get("turn_tokens") or (), row.get("turn_prompt_tokens") or ())),
    )
