"""Designs as Parquet: one row a try of a slot, one part file a slot; programs and verdicts are written out of them.

The part file is the only record of a slot's work, so a slot is designed or it is not. `compose` writes what players
and people read (programs, verdicts), under names that hold their content's digest.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spade_contracts.manifests import BatchManifest
from spade_contracts.verdicts import Fact, Trace, lasting, without_solution
from spade_trainer.store import layout
from spade_trainer.store.episodes import (
    Trajectory,
    parquet_bytes,
    parquet_rows,
    trajectory_columns,
    trajectory_from,
    trajectory_row,
)
from spade_trainer.store.objects import Store, create, create_same, read_bytes

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Usage:
    """What endpoints were asked for and what that cost. Tokens are those that their answers name; 0 where none did."""

    requests: int = 0
    """Requests, failed ones included."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """By the prices of the settings, in their currency."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
        )


NO_USAGE = Usage()


@dataclass(frozen=True)
class Design:
    """One try of one slot."""

    cycle: int
    slot: int
    attempt: int
    """Try within the slot, from 0."""
    skill: str
    document_id: str
    trajectory: Trajectory
    """Prompt and answer; empty when no answer came in time."""
    program: str
    """The program as it was judged, or empty when none was found in the answer."""
    stage: str
    """Stage of the gate that spoke last: `accepted`, or the one that rejected."""
    reason: str
    """Why it was rejected, or empty."""
    message: str
    evidence: str
    """The verdict's evidence: JSON, a list of traces."""
    facts: str
    """The verdict's facts without timings: a JSON object."""
    hint: str | None
    """Hint of an accepted program, or None when none could be written."""
    hint_tokens: int
    """Tokens drawn for the hint; they are never trained (method.md §3)."""
    answer: str = ""
    """The answer as text where another model than the policy wrote it, so that it has no tokens."""
    usage: Usage = NO_USAGE
    """What endpoints were asked for this try, hint included."""

    @property
    def accepted(self) -> bool:
        """Whether the gate let the program through."""
        return self.stage == "accepted"

    @property
    def without_solution(self) -> bool:
        """Whether the gate let the program through without a solution of its own."""
        return self.accepted and without_solution(json.loads(self.facts or "{}"))

    @property
    def sha256(self) -> str:
        """Digest of the program."""
        return hashlib.sha256(self.program.encode()).hexdigest()


def evidence_text(evidence: Sequence[Trace]) -> str:
    """A verdict's evidence as these files hold it; `spade replay` reads it."""
    return json.dumps([trace.model_dump(mode="json", exclude_defaults=True) for trace in evidence], ensure_ascii=False)


def facts_text(facts: Mapping[str, Fact]) -> str:
    """A verdict's facts as these files hold them, timings left out."""
    return json.dumps(lasting(facts), ensure_ascii=False, sort_keys=True)


def columns() -> "pa.Schema":
    """The Parquet schema of designs."""
    import pyarrow as pa

    return pa.schema(
        [
            ("cycle", pa.int32()),
            ("slot", pa.int32()),
            ("attempt", pa.int32()),
            ("skill", pa.string()),
            ("document_id", pa.string()),
            *trajectory_columns(),
            ("program", pa.string()),
            ("program_sha256", pa.string()),
            ("accepted", pa.bool_()),
            ("stage", pa.string()),
            ("reason", pa.string()),
            ("message", pa.string()),
            ("evidence", pa.string()),
            ("facts", pa.string()),
            ("hint", pa.string()),
            ("hint_tokens", pa.int32()),
            ("answer", pa.string()),
            ("endpoint_requests", pa.int32()),
            ("endpoint_prompt_tokens", pa.int64()),
            ("endpoint_completion_tokens", pa.int64()),
            ("endpoint_cost", pa.float64()),
        ]
    )


def verdict_columns() -> "pa.Schema":
    """The Parquet schema of verdicts: what people ask of designs without their tokens."""
    import pyarrow as pa

    unwanted = {name for name, _ in trajectory_columns()} | {"program", "hint", "hint_tokens", "answer"}
    unwanted |= {name for name in columns().names if name.startswith("endpoint_")}
    return pa.schema([field for field in columns() if field.name not in unwanted])


def write_designs(
    store: Store, cycle: int, slot: int, attempt: int, designs: Sequence[Design], *, rollout: int | None = None
) -> None:
    """Create one slot's part of a cycle, or of its top-up for a rollout; a part that is there already stays."""
    content = parquet_bytes((_row(design) for design in designs), columns())
    create(store, f"{layout.design_folder(cycle, rollout)}/{layout.design_part(slot, attempt)}", content)


def read_part(store: Store, cycle: int, name: str) -> tuple[Design, ...]:
    """The tries of one slot, in order; `name` is below the cycle's folder."""
    return tuple(_design(row) for row in parquet_rows(read_bytes(store, f"{layout.cycle_folder(cycle)}/{name}")))


def read_designs(store: Store, manifest: BatchManifest) -> tuple[Design, ...]:
    """All tries of a finished cycle or top-up, by slot and try."""
    return tuple(design for name in manifest.designs for design in read_part(store, manifest.cycle, name))


def write_program(store: Store, design: Design) -> str:
    """Write an accepted program where players read it; returns its path below the cycle's folder."""
    name = layout.program_file(design.slot, design.sha256)
    create_same(store, f"{layout.cycle_folder(design.cycle)}/{name}", design.program.encode())
    return name


def read_program(store: Store, cycle: int, file: str) -> str:
    """The program at a path below the cycle's folder."""
    return read_bytes(store, f"{layout.cycle_folder(cycle)}/{file}").decode()


def write_verdicts(store: Store, cycle: int, designs: Sequence[Design]) -> str:
    """Write all verdicts of a cycle; returns the file's name below the cycle's folder."""
    wanted = set(verdict_columns().names)
    rows = [{name: value for name, value in _row(design).items() if name in wanted} for design in designs]
    content = parquet_bytes(rows, verdict_columns())
    name = layout.verdicts_file(hashlib.sha256(content).hexdigest())
    create_same(store, f"{layout.cycle_folder(cycle)}/{name}", content)
    return name


def _row(design: Design) -> dict[str, Any]:
    """A design's values by column."""
    return {
        "cycle": design.cycle,
        "slot": design.slot,
        "attempt": design.attempt,
        "skill": design.skill,
        "document_id": design.document_id,
        **trajectory_row(design.trajectory),
        "program": design.program,
        "program_sha256": design.sha256,
        "accepted": design.accepted,
        "stage": design.stage,
        "reason": design.reason,
        "message": design.message,
        "evidence": design.evidence,
        "facts": design.facts,
        "hint": design.hint,
        "hint_tokens": design.hint_tokens,
        "answer": design.answer,
        "endpoint_requests": design.usage.requests,
        "endpoint_prompt_tokens": design.usage.prompt_tokens,
        "endpoint_completion_tokens": design.usage.completion_tokens,
        "endpoint_cost": design.usage.cost,
    }


def _design(row: dict[str, Any]) -> Design:
    """The design in a row."""
    return Design(
        cycle=row["cycle"],
        slot=row["slot"],
        attempt=row["attempt"],
        skill=row["skill"],
        document_id=row["document_id"],
        trajectory=trajectory_from(row),
        program=row["program"],
        stage=row["stage"],
        reason=row["reason"],
        message=row["message"],
        evidence=row["evidence"],
        facts=row["facts"],
        hint=row["hint"],
        hint_tokens=row["hint_tokens"],
        answer=row["answer"],
        usage=Usage(
            requests=row["endpoint_requests"],
            prompt_tokens=row["endpoint_prompt_tokens"],
            completion_tokens=row["endpoint_completion_tokens"],
            cost=row["endpoint_cost"],
        ),
    )
