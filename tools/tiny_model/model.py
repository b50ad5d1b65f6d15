"""The tiny model's shape, and a start from which copying and counting are learned soon.

A fresh transformer of this size needs more tokens than we train on before its attention copies anything. Three things
are therefore given to it at the start, as values of ordinary weights that training is free to change. Attention's value
and output matrices undo each other and the head reads what the embedding wrote, so that attending to a token makes it
likely; words of one kind share a part of their embedding; and numbers carry their phase in several periods.
"""

import json
import math
from pathlib import Path
from typing import Any

import torch
from tools.tiny_model.documents import ADJECTIVES, NOUNS
from tools.tiny_model.tokenizer import CONTEXT_TOKENS, END_OF_TEXT, TURN_END
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

EMBEDDING_SCALE = 0.05
VALUE_SCALE, OUTPUT_SCALE = 0.5, 0.25
QUERY_KEY_NORM = 1.6
"""Initial scale of q_norm and k_norm: sharper attention from the start, which copying needs."""
PERIODS = (2, 3, 5, 10, 20, 40, 80, 160)


def model_config(tokenizer: Any, vocabulary: int) -> Qwen3MoeConfig:
    """4 layers, hidden 128, 8 experts of which 2 work for a token: fewer than 3 million parameters."""
    return Qwen3MoeConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=8,
        num_local_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=160,
        intermediate_size=320,
        norm_topk_prob=True,
        decoder_sparse_step=1,
        mlp_only_layers=[],
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=False,
        router_aux_loss_coef=0.0,
        output_router_logits=False,
        use_cache=True,
        eos_token_id=tokenizer.convert_tokens_to_ids(TURN_END),
        pad_token_id=tokenizer.convert_tokens_to_ids(END_OF_TEXT),
        bos_token_id=None,
    )


def new_model(config: Qwen3MoeConfig, tokenizer: Any) -> Any:
    """A model with fresh weights, in float32, started as the module says. Torch's generator decides the rest."""
    model = Qwen3MoeForCausalLM(config)
    model.set_experts_implementation("eager")
    with torch.no_grad():
        embedding = model.model.embed_tokens.weight.normal_(0.0, EMBEDDING_SCALE)
        _mark_kinds(embedding, tokenizer)
        model.lm_head.weight.copy_(embedding)
        for layer in model.model.layers:
            _copying_heads(layer.self_attn, config)
    return model


def _mark_kinds(embedding: Any, tokenizer: Any) -> None:
    """Nouns, adjectives and numbers get a common part each, numbers their phases too."""
    width = embedding.shape[1]
    numbers = {tokenizer.convert_tokens_to_ids(str(number)): number for number in range(100)}
    for kind in (list(numbers), *(tokenizer.convert_tokens_to_ids(list(words)) for words in (NOUNS, ADJECTIVES))):
        embedding[kind] += torch.randn(width) * EMBEDDING_SCALE
    directions = torch.randn(2 * len(PERIODS), width) * EMBEDDING_SCALE / math.sqrt(len(PERIODS))
    for token, number in numbers.items():
        turns = [2 * math.pi * number / period for period in PERIODS]
        phases = torch.tensor([part(turn) for turn in turns for part in (math.cos, math.sin)])
        embedding[token] += phases @ directions


def _copying_heads(attention: Any, config: Qwen3MoeConfig) -> None:
    """Orthonormal values, outputs that are their transpose, and sharper queries and keys."""
    size, groups = config.head_dim, config.num_key_value_heads
    basis = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size))[0][: size * groups]
    attention.v_proj.weight.copy_(basis * VALUE_SCALE)
    share = config.num_attention_heads // groups
    heads = [basis[head // share * size :][:size] for head in range(config.num_attention_heads)]
    attention.o_proj.weight.copy_(torch.cat(heads).T * OUTPUT_SCALE)
    attention.q_norm.weight.fill_(QUERY_KEY_NORM)
    attention.k_norm.weight.fill_(QUERY_KEY_NORM)


def _name_experts_twice(file: Path) -> None:
    """Readers of older transformers look for num_experts, newer ones write num_local_experts only."""
    settings = json.loads(file.read_text())
    settings["num_experts"] = settings["num_local_experts"]
    file.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")


def save(model: Any, tokenizer: Any, config: Qwen3MoeConfig, folder: Path) -> None:
    """The model in bfloat16 and its tokenizer, as Hugging Face lays them out, readable by everybody."""
    copy = Qwen3MoeForCausalLM(config)
    copy.load_state_dict(model.state_dict())
    copy.generation_config.update(
        do_sample=True, temperature=0.6, top_p=0.95, eos_token_id=[config.eos_token_id, config.pad_token_id]
    )
    copy.to(torch.bfloat16).save_pretrained(folder)
    _name_experts_twice(folder / "config.json")
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        file.chmod(0o644)
