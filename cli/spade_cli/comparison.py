"""What a replay shows: one row an operation, as recorded and as it is now."""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_cli.verify import visible

SHOWN_CHARACTERS = 100
SHOWN_ANSWER_CHARACTERS = 600


@dataclass(frozen=True)
class Row:
    """One operation of a replayed session."""

    operation: str
    same: bool
    recorded: str = ""
    now: str = ""
    fields: tuple[str, ...] = ()
    """Which parts of the answer differ, where that can be told."""


def lines(rows: Sequence[Row]) -> tuple[str, ...]:
    """The rows for people: what is the same in one line, what differs with both answers."""
    found: list[str] = []
    for row in rows:
        operation = _cut(row.operation, SHOWN_CHARACTERS)
        if row.same:
            found.append(f"  same     {operation}")
            continue
        parts = f" ({', '.join(row.fields)})" if row.fields else ""
        found.append(f"  DIFFERS  {operation}{parts}")
        found.append(f"    recorded  {_cut(row.recorded, SHOWN_ANSWER_CHARACTERS)}")
        found.append(f"    now       {_cut(row.now, SHOWN_ANSWER_CHARACTERS)}")
    return tuple(found)


def _cut(text: str, characters: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= characters else f"{shown[:characters]}…"
