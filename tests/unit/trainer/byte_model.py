"""A policy's folder whose tokenizer knows bytes and Qwen3's turn marks: enough for everything but weights."""

import json
import shutil
from pathlib import Path

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
"""Qwen3 has a token for each of them, none of which is special."""
DATA = Path(__file__).parents[2] / "data"
TEMPLATES = DATA / "chat_templates"
REAL_TOKENIZER = DATA / "tokenizers" / "qwen3.json"


def real_template(name: str) -> str:
    """A chat template as real models have it: `qwen3` or `qwen3_instruct_2507`."""
    return (TEMPLATES / f"{name}.jinja").read_text()


def write_byte_model(folder: Path, *, template: str = CHATML, context_tokens: int = 4096, merges: bool = True) -> Path:
    """Write config, tokenizer and template; with merges, some pairs of letters are one token, and each tag is."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    pairs = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "b")] if merges else []
    for left, right in pairs:
        vocabulary[left + right] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    if merges:
        tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in TAGS])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    end = tokenizer.token_to_id("<|im_end|>")
    settings = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    config = {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "vocab_size": tokenizer.get_vocab_size(),
        "max_position_embeddings": context_tokens,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "norm_topk_prob": True,
        "num_hidden_layers": 1,
        "hidden_size": 8,
        "intermediate_size": 8,
        "moe_intermediate_size": 8,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "eos_token_id": end,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [end]}))
    return folder


def write_real_model(folder: Path, *, template: str, tokenizer: Path = REAL_TOKENIZER) -> Path:
    """The same with Qwen3's own tokenizer: its normaliser, its splits, its added tokens, the first of its merges."""
    write_byte_model(folder, template=template)
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    changed: dict[str, dict[str, object]] = {
        "config.json": {"vocab_size": 151936, "eos_token_id": 151645},
        "generation_config.json": {"eos_token_id": [151645, 151643]},
    }
    for name, values in changed.items():
        (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()) | values))
    return folder


def write_weights(folder: Path, version: int = 0) -> None:
    """Tensors of the right names with a value that tells versions apart; their shapes mean nothing."""
    import numpy as np
    from safetensors.numpy import save_file

    from spade_trainer.models.registry import family_of

    config = json.loads((folder / "config.json").read_text())
    family = family_of(config)
    names = family.tensor_names(family.shape_of(config))
    save_file({name: np.full(2, version, dtype=np.float32) for name in names}, folder / "model.safetensors")
