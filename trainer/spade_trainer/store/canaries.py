"""What the gate said of a unit's canaries, as Parquet: one row a canary, one part file an attempt of the Job.

The unit is a cycle, or a verification of existing programs; `folder` is its own. An attempt in whose part a known bad
program was accepted is unsound, and so is every part up to it: none of its verdicts is believed, and a later attempt
does the unit anew.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.store import layout
from spade_trainer.store.designs import evidence_text
from spade_trainer.store.episodes import parquet_bytes, parquet_rows
from spade_trainer.store.objects import Store, create, names, read_bytes

if TYPE_CHECKING:
    import pyarrow as pa

SOUND = -1
"""What `unsound_attempt` says when no attempt is unsound."""


def write_sightings(store: Store, folder: str, attempt: int, sightings: Sequence[Sighting]) -> None:
    """Create an attempt's part; one that is there already stays."""
    rows = [_row(one) for one in sorted(sightings, key=lambda one: one.canary.name)]
    create(store, f"{folder}/{layout.canaries_part(attempt)}", parquet_bytes(rows, columns()))


def read_sightings(store: Store, folder: str) -> dict[int, tuple[Sighting, ...]]:
    """All parts of a unit by attempt, ascending; without evidence and the texts of the canaries' files."""
    parts = [name for name in names(store, folder) if layout.is_canaries_part(name)]
    return {
        layout.part_attempt(name): tuple(_sighting(row) for row in parquet_rows(read_bytes(store, f"{folder}/{name}")))
        for name in sorted(parts, key=layout.part_attempt)
    }


def unsound_attempt(store: Store, folder: str) -> int:
    """The last attempt in which a known bad program was accepted, or SOUND."""
    seen = read_sightings(store, folder)
    return max((a for a, sightings in seen.items() if any(one.false_accept for one in sightings)), default=SOUND)


def believed(store: Store, folder: str) -> tuple[Sighting, ...] | None:
    """The earliest part after the last unsound attempt; None if there is none yet."""
    bound = unsound_attempt(store, folder)
    return next((found for attempt, found in read_sightings(store, folder).items() if attempt > bound), None)


def columns() -> "pa.Schema":
    """The Parquet schema of canaries; verdicts are as in those of designs."""
    import pyarrow as pa

    texts = ("name", "expected", "program", "stage", "reason", "message", "evidence")
    flags = ("false_accept", "false_reject")
    return pa.schema([*((name, pa.string()) for name in texts), *((name, pa.bool_()) for name in flags)])


def _row(one: Sighting) -> dict[str, Any]:
    verdict = one.verdict
    return {
        "name": one.canary.name,
        "expected": one.canary.expected.value,
        "program": one.source,
        "stage": verdict.stage.value,
        "reason": verdict.reason.value if verdict.reason else "",
        "message": verdict.message,
        "evidence": evidence_text(verdict.evidence),
        "false_accept": one.false_accept,
        "false_reject": one.false_reject,
    }


def _sighting(row: dict[str, Any]) -> Sighting:
    reason = Reason(row["reason"]) if row["reason"] else None
    verdict = Verdict(stage=Stage(row["stage"]), reason=reason, message=row["message"])
    return Sighting(Canary(row["name"], Stage(row["expected"]), source=""), row["program"], verdict)
