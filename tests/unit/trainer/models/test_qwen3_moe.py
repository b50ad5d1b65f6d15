"""Qwen3-MoE: what is refused, and which names belong together."""

from typing import Any

import pytest

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.models import qwen3_moe
from spade_trainer.models.qwen3_moe import Shape

# config.json of Qwen3-30B-A3B-Instruct-2507, the fields that we read
REAL: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "attention_bias": False,
    "decoder_sparse_step": 1,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "max_position_embeddings": 262144,
    "mlp_only_layers": [],
    "moe_intermediate_size": 768,
    "norm_topk_prob": True,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "output_router_logits": False,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 10000000,
    "router_aux_loss_coef": 0.001,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "vocab_size": 151936,
}


def small(**changes: Any) -> Shape:
    values = REAL | {
        "hidden_size": 6,
        "head_dim": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_experts": 4,
        "num_hidden_layers": 2,
        "vocab_size": 8,
    }
    return qwen3_moe.shape_of(values | changes)


def test_the_real_configuration_is_read() -> None:
    shape = qwen3_moe.shape_of(REAL)
    assert (shape.num_experts, shape.num_experts_per_tok, shape.rope_theta) == (128, 8, 1e7)


def test_newer_files_are_read_alike() -> None:
    newer = {key: value for key, value in REAL.items() if key not in ("rope_theta", "num_experts", "rope_scaling")}
    newer |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e7}, "num_local_experts": 128}
    assert qwen3_moe.shape_of(newer) == qwen3_moe.shape_of(REAL)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"rope_theta": None}, "rope_theta"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, "rope_theta"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_parameters"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e7}}, "rope_parameters"),
        ({"attention_bias": True}, "attention_bias"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"norm_topk_prob": False}, "norm_topk_prob"),
        ({"decoder_sparse_step": 2}, "decoder_sparse_step"),
        ({"mlp_only_layers": [0]}, "mlp_only_layers"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"output_router_logits": True}, "output_router_logits"),
        ({"num_experts": None}, "num_experts"),
    ],
)
def test_what_the_mapping_would_get_wrong_is_refused_by_name(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidInput, match=rf"config\.json\.{where}"):
        qwen3_moe.shape_of(REAL | changes)


def test_an_absent_top_k_normalisation_means_no_normalisation_and_is_refused() -> None:
    with pytest.raises(InvalidInput, match="norm_topk_prob"):
        qwen3_moe.shape_of({key: value for key, value in REAL.items() if key != "norm_topk_prob"})


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("experts", [1, 2, 4])
def test_the_ranks_together_hold_every_tensor(experts: int, fused: bool) -> None:
    shape, layout = small(), ParallelismConfig(expert=experts)
    ranks = [qwen3_moe.bindings(shape, layout, rank, fused=fused) for rank in range(experts)]
    held = [{name for binding in rank for name in binding.tensors} for rank in ranks]
    assert sorted(set.union(*held)) == qwen3_moe.tensor_names(shape)
    assert all(len({binding.parameter for binding in rank}) == len(rank) for rank in ranks)
    dense = {name for name in held[0] if ".experts." not in name}
    assert set.intersection(*held) == (dense if experts > 1 else held[0])


def test_tied_embeddings_have_no_output_layer() -> None:
    names = qwen3_moe.tensor_names(small(tie_word_embeddings=True))
    assert "lm_head.weight" not in names
    assert "model.embed_tokens.weight" in names


def test_a_second_rank_counts_its_experts_from_its_first() -> None:
    found = qwen3_moe.bindings(small(), ParallelismConfig(expert=2), 1, fused=False)
    down = {b.parameter: b.tensors for b in found}["decoder.layers.1.mlp.experts.local_experts.0.linear_fc2.weight"]
    assert down == ("model.layers.1.mlp.experts.2.down_proj.weight",)


@pytest.mark.parametrize(
    "layout",
    [ParallelismConfig(tensor=4, expert=2), ParallelismConfig(expert=3), ParallelismConfig(tensor=3, expert=2)],
)
def test_a_layout_that_does_not_divide_the_model_is_refused(layout: ParallelismConfig) -> None:
    with pytest.raises(InvalidInput, match="not divisible"):
        qwen3_moe.bindings(small(), layout, 0, fused=False)


def test_tensor_parallelism_alone_is_refused_because_megatron_gets_the_gradients_of_experts_wrong() -> None:
    with pytest.raises(InvalidInput, match=r"parallelism\.expert"):
        qwen3_moe.check_layout(small(), ParallelismConfig(tensor=2))
