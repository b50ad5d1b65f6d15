"""Random models small enough for any test, saved as a policy is."""

from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM

VOCABULARY = 512


def save_random_model(
    folder: Path, *, seed: int = 0, dtype: torch.dtype = torch.bfloat16, spread: float = 0.08
) -> None:
    """Write a random mixture of experts.

    `spread` is the standard deviation of its weights: large enough for visible differences.
    """
    torch.manual_seed(seed)
    config = Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        moe_intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=8,
        num_experts_per_tok=2,
        norm_topk_prob=True,
        decoder_sparse_step=1,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7},
        tie_word_embeddings=False,
        initializer_range=spread,
        router_aux_loss_coef=0.0,
    )
    model = Qwen3MoeForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif "gate_up_proj" in name or "down_proj" in name or name.endswith("gate.weight"):
                parameter.normal_(std=spread)
    model.to(dtype).save_pretrained(folder)


def save_random_dense_model(folder: Path, *, tied: bool, seed: int = 0, spread: float = 0.08) -> None:
    """Write a random dense model; tied: whether its head is its embedding."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 5e6},
        tie_word_embeddings=tied,
        initializer_range=spread,
    )
    model = Qwen3ForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.to(torch.bfloat16).save_pretrained(folder)
