"""Dense Qwen3: one gated feed-forward network a layer; names and configuration of Hugging Face and of Megatron."""

from collections.abc import Iterator, Mapping
from typing import Any

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.models import qwen3_layers as layers
from spade_trainer.models.qwen3_layers import NORM, Binding, Cut, Form, Shape, copies, join, narrow, split, widen

__all__ = [
    "ARCHITECTURE",
    "NORM",
    "Shape",
    "bindings",
    "check_layout",
    "copies",
    "join",
    "narrow",
    "shape_of",
    "split",
    "tensor_names",
    "transformer_config",
    "widen",
]

ARCHITECTURE = "Qwen3ForCausalLM"


def shape_of(config: Mapping[str, Any]) -> Shape:
    """Read a Hugging Face configuration. Raises InvalidInput for what `read_shape` refuses."""
    return layers.read_shape(Shape, config)


def bindings(shape: Shape, parallelism: ParallelismConfig, expert_rank: int, *, fused: bool) -> list[Binding]:
    """All parameters of one rank, in Megatron's order of layers. `expert_rank` is 0: there are no experts.

    `fused` names Transformer Engine's modules (layer norms inside linear layers) instead of the local ones.
    Raises InvalidInput if the layout does not divide the model.
    """
    check_layout(shape, parallelism)
    return layers.around(shape, lambda layer: _layer(layer, fused))


def _layer(layer: int, fused: bool) -> Iterator[Binding]:
    hf, mc = f"model.layers.{layer}.", f"decoder.layers.{layer}."
    yield from layers.attention(layer, fused=fused)
    norm = "mlp.linear_fc1.layer_norm_weight" if fused else "pre_mlp_layernorm.weight"
    yield Binding(f"{mc}{norm}", (f"{hf}post_attention_layernorm.weight",))
    gate_up = (f"{hf}mlp.gate_proj.weight", f"{hf}mlp.up_proj.weight")
    yield Binding(f"{mc}mlp.linear_fc1.weight", gate_up, Form.STACKED, Cut.HALVES)
    yield Binding(f"{mc}mlp.linear_fc2.weight", (f"{hf}mlp.down_proj.weight",), cut=Cut.COLUMNS)


def check_layout(shape: Shape, parallelism: ParallelismConfig) -> None:
    """Raise InvalidInput unless the layout divides the model evenly and has no expert parallelism."""
    if parallelism.expert > 1:
        raise InvalidInput(
            "spec.learner.parallelism.expert",
            f"is {parallelism.expert}, but {ARCHITECTURE} has no experts",
            remedy="Write 1.",
        )
    feed_forward = {"intermediate_size": (shape.intermediate_size, parallelism.tensor)}
    layers.require_divisible(layers.tensor_sizes(shape, parallelism) | feed_forward)


def tensor_names(shape: Shape) -> list[str]:
    """Names of all Hugging Face tensors of the model, sorted."""
    return sorted(name for binding in bindings(shape, ParallelismConfig(), 0, fused=False) for name in binding.tensors)


def transformer_config(shape: Shape, parallelism: ParallelismConfig, *, dtype: Any, fused: bool) -> Any:
    """Megatron's TransformerConfig for training without dropout.

    dtype: torch.bfloat16, or torch.float32 for parity checks. `fused`: Transformer Engine and fused kernels.
    """
    from megatron.core.transformer.transformer_config import TransformerConfig

    return TransformerConfig(**layers.transformer_settings(shape, parallelism, dtype=dtype, fused=fused))
