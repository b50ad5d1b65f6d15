"""Which module speaks for which architecture of a Hugging Face configuration."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.models import qwen3, qwen3_moe

FAMILIES: Mapping[str, ModuleType] = {family.ARCHITECTURE: family for family in (qwen3, qwen3_moe)}


def family_of(config: Mapping[str, Any]) -> ModuleType:
    """The family of a model. Raises InvalidInput for an architecture that has none."""
    architectures = config.get("architectures") or []
    for name in architectures:
        if name in FAMILIES:
            return FAMILIES[name]
    raise InvalidInput(
        "config.json.architectures",
        f"{architectures} is not supported",
        remedy=f"Choose a model of one of these: {', '.join(sorted(FAMILIES))}.",
    )
