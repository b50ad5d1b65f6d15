"""The model that is shipped as package:tiny is small, complete, and speaks the form that runs speak."""

import json
from importlib import resources
from pathlib import Path

import pytest

from spade_trainer.chat import load_chat

FOLDER = Path(str(resources.files("spade_trainer.models") / "tiny"))


@pytest.fixture(scope="module")
def chat():
    return load_chat(FOLDER)


def test_weights_are_at_most_eight_megabytes_of_at_most_four_million_bfloat16_parameters():
    file = FOLDER / "model.safetensors"
    with file.open("rb") as weights:
        header = json.loads(weights.read(int.from_bytes(weights.read(8), "little")))
    header.pop("__metadata__", None)
    assert file.stat().st_size <= 8_000_000
    assert {tensor["dtype"] for tensor in header.values()} == {"BF16"}
    assert sum(tensor["data_offsets"][1] - tensor["data_offsets"][0] for tensor in header.values()) // 2 <= 4_000_000


def test_it_is_a_mixture_of_experts_with_room_for_runs():
    config = json.loads((FOLDER / "config.json").read_text())
    assert config["architectures"] == ["Qwen3MoeForCausalLM"]
    assert config["num_experts"] == 8
    assert config["num_experts_per_tok"] == 2
    assert config["tie_word_embeddings"] is False
    assert config["max_position_embeddings"] == 2048


def test_generation_stops_at_the_end_of_a_turn(chat):
    assert chat.token_text(min(chat.stop_token_ids)) == "<|endoftext|>"
    assert {chat.token_text(i) for i in chat.stop_token_ids} == {"<|endoftext|>", "<|im_end|>"}


def test_turns_given_explicitly_are_those_of_the_template(chat):
    start = [{"role": "user", "content": "Begin."}]
    answer, then = "Up. \\boxed{up}", "Warmer."
    whole = [*start, {"role": "assistant", "content": answer}, {"role": "user", "content": then}]
    end = chat.encode("<|im_end|>")
    assert chat.prompt(start) + chat.encode(answer) + end + chat.next_turn(then) == chat.prompt(whole)


def test_files_can_be_read_by_another_user():
    assert all(file.stat().st_mode & 0o044 == 0o044 for file in FOLDER.iterdir() if file.is_file())
