"""What the front must know of a model without loading it: its vocabulary, its length, and where it stops."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_contracts.errors import InvalidInput


@dataclass(frozen=True)
class ModelFacts:
    """From `config.json` and `generation_config.json`."""

    architecture: str
    vocabulary: int
    """Token ids are below this."""
    max_tokens: int
    """Longest sequence that the model's positions allow, in tokens."""
    stop_token_ids: tuple[int, ...]
    """A generation ends with the first of these."""


def read_model_facts(folder: Path) -> ModelFacts:
    """Read a policy's folder. Raises InvalidInput for a missing file or setting."""
    config = _read(folder / "config.json")
    generation = _read(folder / "generation_config.json") if (folder / "generation_config.json").exists() else {}
    architectures = config.get("architectures") or []
    if not architectures:
        raise InvalidInput(f"{folder}/config.json", "names no architecture")
    stops = generation.get("eos_token_id", config.get("eos_token_id"))
    stop_token_ids = tuple(stops) if isinstance(stops, list) else () if stops is None else (stops,)
    if not stop_token_ids:
        raise InvalidInput(
            f"{folder}/generation_config.json", "eos_token_id is missing, so that no generation would end by itself"
        )
    return ModelFacts(
        architecture=str(architectures[0]),
        vocabulary=_positive(folder, config, "vocab_size"),
        max_tokens=_positive(folder, config, "max_position_embeddings"),
        stop_token_ids=stop_token_ids,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidInput(str(path), f"is no readable JSON file: {error}") from error
    if not isinstance(content, dict):
        raise InvalidInput(str(path), "is no JSON object")
    return content


def _positive(folder: Path, config: dict[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{folder}/config.json", f"{name} is {value!r}, not a positive number")
    return value
