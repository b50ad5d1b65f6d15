"""The front knows a model's vocabulary, context and stop tokens from its files, or refuses to start."""

import json
from pathlib import Path
from typing import Any

import pytest

from spade_contracts.errors import InvalidInput
from spade_trainer.engine.model_facts import ModelFacts, read_model_facts

CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "eos_token_id": 2,
}


def written(folder: Path, config: dict[str, Any], generation: Any = None) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def test_stop_tokens_are_those_of_the_generation_config(tmp_path: Path) -> None:
    facts = read_model_facts(written(tmp_path, CONFIG, {"eos_token_id": [5, 6]}))
    assert facts == ModelFacts("Qwen3MoeForCausalLM", 100, 64, (5, 6))


@pytest.mark.parametrize("generation", [None, {}])
def test_without_them_the_models_own_end_token_counts(tmp_path: Path, generation: Any) -> None:
    assert read_model_facts(written(tmp_path, CONFIG, generation)).stop_token_ids == (2,)


@pytest.mark.parametrize("missing", CONFIG)
def test_a_missing_setting_is_named(tmp_path: Path, missing: str) -> None:
    config = {name: value for name, value in CONFIG.items() if name != missing}
    with pytest.raises(InvalidInput, match="architecture" if missing == "architectures" else missing):
        read_model_facts(written(tmp_path, config))


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"config\.json"):
        read_model_facts(tmp_path)
