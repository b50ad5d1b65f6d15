"""The command behind `spade score` and `python -m spade_trainer.rewards`: a file in, JSON out."""

import json
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.rewards.advantages import NotFinite
from spade_trainer.scoring.documents import BatchInput, LossInput, WindowInput
from spade_trainer.scoring.reading import read

STANDARD_INPUT = "-"
MAX_BYTES = 64 * 2**20


class Kind(StrEnum):
    """What a file holds."""

    WINDOW = "window"
    BATCH = "batch"
    LOSS = "loss"


def _window(text: str) -> dict[str, Any]:
    from spade_trainer.scoring.window import score_window

    return score_window(read(text, WindowInput))


def _batch(text: str) -> dict[str, Any]:
    from spade_trainer.scoring.batch import score_batch

    return score_batch(read(text, BatchInput))


def _loss(text: str) -> dict[str, Any]:
    from spade_trainer.scoring.loss import score_loss

    return score_loss(read(text, LossInput))


SCORED: Mapping[Kind, Callable[[str], dict[str, Any]]] = {
    Kind.WINDOW: _window,
    Kind.BATCH: _batch,
    Kind.LOSS: _loss,
}
"""A kind's module is imported when a file of it is scored, because a command should answer at once."""


def scored(kind: Kind, text: str) -> str:
    """The scores of a document as JSON text. Raises InvalidInput with the JSON path of what is wrong."""
    try:
        return _printed(SCORED[kind](text))
    except NotFinite as error:
        remedy = (
            "Look for log-probabilities that are far apart."
            if kind is Kind.LOSS
            else "Look for scales close to 0, and for returns that are very large."
        )
        raise InvalidInput("$", "leads to a figure that is infinite or no number", remedy=remedy) from error


def _printed(figures: dict[str, Any]) -> str:
    """Figures as JSON text. Raises NotFinite, because JSON has no infinity."""
    try:
        return json.dumps(figures, indent=1, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise NotFinite(str(error)) from error


def scored_file(kind: Kind, file: str) -> str:
    """The scores of a file, or of standard input for `-`. Raises InvalidInput."""
    try:
        content = _standard_input() if file == STANDARD_INPUT else _content(Path(file))
    except OSError as error:
        raise InvalidInput(file, f"cannot be read: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise InvalidInput(file, f"is larger than {MAX_BYTES // 2**20} MiB", remedy="Score it in parts.")
    try:
        text = content.decode("utf-8-sig")  # some editors write a mark at the beginning
    except UnicodeDecodeError as error:
        raise InvalidInput(file, "is no UTF-8 text") from error
    return scored(kind, text)


def _standard_input() -> bytes:
    """At most one byte more than may be. Raises InvalidInput if it is closed."""
    if sys.stdin is None:
        raise InvalidInput(STANDARD_INPUT, "standard input is closed")
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def _content(path: Path) -> bytes:
    """At most one byte more than may be."""
    with path.open("rb") as opened:
        return opened.read(MAX_BYTES + 1)
