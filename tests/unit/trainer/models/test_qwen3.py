"""Dense Qwen3: what is refused, and which names belong together."""

from typing import Any

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.models import qwen3
from spade_trainer.models.qwen3 import Shape

# config.json of Qwen3-4B-Instruct-2507, the fields that we read
REAL: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 2560,
    "intermediate_size": 9728,
    "max_position_embeddings": 262144,
    "num_attention_heads": 32,
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 5000000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
}


def small(**changes: Any) -> Shape:
    values = REAL | {
        "hidden_size": 6,
        "intermediate_size": 12,
        "head_dim": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "vocab_size": 8,
    }
    return qwen3.shape_of(values | changes)


def on_meta(**changes: Any) -> Qwen3ForCausalLM:
    """transformers' own model, without memory for its tensors."""
    with torch.device("meta"):
        return Qwen3ForCausalLM(Qwen3Config(**{**small(**changes).model_dump(exclude={"rope_theta"})}))


def test_the_real_configuration_is_read() -> None:
    shape = qwen3.shape_of(REAL)
    assert (shape.intermediate_size, shape.rope_theta, shape.tie_word_embeddings) == (9728, 5e6, True)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"rope_theta": None}, "rope_theta"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_parameters"),
        ({"attention_bias": True}, "attention_bias"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"intermediate_size": None}, "intermediate_size"),
    ],
)
def test_what_the_mapping_would_get_wrong_is_refused_by_name(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidInput, match=rf"config\.json\.{where}"):
        qwen3.shape_of(REAL | changes)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("fused", [True, False])
def test_every_tensor_of_transformers_is_bound_once(tied: bool, fused: bool) -> None:
    theirs = dict(on_meta(tie_word_embeddings=tied).named_parameters())
    bound = qwen3.bindings(small(tie_word_embeddings=tied), ParallelismConfig(), 0, fused=fused)
    assert sorted(name for binding in bound for name in binding.tensors) == sorted(theirs)
    assert len({binding.parameter for binding in bound}) == len(bound)
    assert ("lm_head.weight" in theirs) is not tied


def test_the_parts_of_all_ranks_have_the_sizes_of_transformers() -> None:
    shape, theirs = small(), dict(on_meta().named_parameters())
    for binding in qwen3.bindings(shape, ParallelismConfig(tensor=2), 0, fused=False):
        whole = qwen3.join(binding.form, [theirs[name] for name in binding.tensors], shape)
        parts = [qwen3.narrow(binding.cut, whole, rank, 2) for rank in (0, 1)]
        again = qwen3.split(binding.form, qwen3.widen(binding.cut, parts), shape)
        assert [tensor.shape for tensor in again] == [theirs[name].shape for name in binding.tensors]


def test_the_norm_before_the_feed_forward_network_lies_in_its_first_layer_when_fused() -> None:
    held = {
        fused: {b.tensors[0]: b.parameter for b in qwen3.bindings(small(), ParallelismConfig(), 0, fused=fused)}
        for fused in (True, False)
    }
    name = "model.layers.1.post_attention_layernorm.weight"
    assert held[True][name] == "decoder.layers.1.mlp.linear_fc1.layer_norm_weight"
    assert held[False][name] == "decoder.layers.1.pre_mlp_layernorm.weight"


def test_files_of_tied_embeddings_may_repeat_them_as_the_head() -> None:
    assert qwen3.copies(small(tie_word_embeddings=True)) == {"lm_head.weight": "model.embed_tokens.weight"}
    assert qwen3.copies(small(tie_word_embeddings=False)) == {}


@pytest.mark.parametrize("tensor", [3, 8])
def test_a_layout_that_does_not_divide_the_model_is_refused(tensor: int) -> None:
    with pytest.raises(InvalidInput, match="not divisible"):
        qwen3.bindings(small(), ParallelismConfig(tensor=tensor), 0, fused=False)


def test_a_feed_forward_network_that_the_layout_does_not_divide_is_refused() -> None:
    with pytest.raises(InvalidInput, match="intermediate_size = 11"):
        qwen3.check_layout(small(intermediate_size=11), ParallelismConfig(tensor=2))


def test_expert_parallelism_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"parallelism\.expert: .*has no experts"):
        qwen3.check_layout(small(), ParallelismConfig(expert=2))
