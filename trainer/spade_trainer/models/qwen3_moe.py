"""Qwen3-MoE: every layer a mixture of experts; names and configuration of Hugging Face and of Megatron."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.models import qwen3_layers as layers
from spade_trainer.models.qwen3_layers import NORM, Binding, Form, Only, copies, join, narrow, split, widen

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

ARCHITECTURE = "Qwen3MoeForCausalLM"


class Shape(layers.Shape):
    """What of `config.json` decides the network. Same names as there; `intermediate_size` is of no effect."""

    moe_intermediate_size: int = Field(ge=1)
    num_experts: int = Field(ge=2)
    num_experts_per_tok: int = Field(ge=1)


REFUSED = (
    Only("norm_topk_prob", (True,), False, "the router must normalise the chosen experts' weights"),
    Only("decoder_sparse_step", (1,), 1, "every layer must be a mixture of experts"),
    Only("mlp_only_layers", ([], None), None, "every layer must be a mixture of experts"),
    Only(
        "output_router_logits",
        (False,),
        False,
        "it asks for an auxiliary loss, which moves the policy away from its reward",
    ),
)


def shape_of(config: Mapping[str, Any]) -> Shape:
    """Read a Hugging Face configuration.

    Raises InvalidInput for anything that the mapping would silently get wrong: what `read_shape` refuses, dense layers,
    an auxiliary loss.
    """
    experts = config.get("num_experts", config.get("num_local_experts"))  # newer spelling of the same setting
    return layers.read_shape(Shape, {**config, "num_experts": experts}, REFUSED)


def bindings(shape: Shape, parallelism: ParallelismConfig, expert_rank: int, *, fused: bool) -> list[Binding]:
    """All parameters of one rank, in Megatron's order of layers.

    `fused` names Transformer Engine's modules (layer norms inside linear layers, experts in one grouped module)
    instead of the local ones. Raises InvalidInput if the layout does not divide the model.
    """
    check_layout(shape, parallelism)
    local = shape.num_experts // parallelism.expert
    return layers.around(shape, lambda layer: _layer(layer, local, expert_rank, fused))


def _layer(layer: int, local: int, expert_rank: int, fused: bool) -> Iterator[Binding]:
    hf, mc = f"model.layers.{layer}.", f"decoder.layers.{layer}."
    yield from layers.attention(layer, fused=fused)
    yield Binding(f"{mc}pre_mlp_layernorm.weight", (f"{hf}post_attention_layernorm.weight",))
    yield Binding(f"{mc}mlp.router.weight", (f"{hf}mlp.gate.weight",))
    for index in range(local):
        expert = expert_rank * local + index
        theirs = f"{hf}mlp.experts.{expert}."
        ours = f"{mc}mlp.experts." + (
            "linear_fc{}.weight" + str(index) if fused else f"local_experts.{index}.linear_fc{{}}.weight"
        )
        gate_up = (f"{theirs}gate_proj.weight", f"{theirs}up_proj.weight")
        yield Binding(ours.format(1), gate_up, Form.STACKED, expert=expert)
        yield Binding(ours.format(2), (f"{theirs}down_proj.weight",), expert=expert)


def check_layout(shape: Shape, parallelism: ParallelismConfig) -> None:
    """Raise InvalidInput unless the layout divides the model evenly and is one that Megatron trains rightly."""
    if parallelism.tensor > 1 and parallelism.expert == 1:
        # Megatron takes the gradients of experts as complete on each rank then, although each saw a part of the tokens.
        raise InvalidInput(
            "spec.learner.parallelism.expert",
            f"1 cannot be trained with tensor {parallelism.tensor} in a mixture of experts",
            remedy="Write tensor: 1, or an expert size above 1.",
        )
    experts = {"num_experts": (shape.num_experts, parallelism.expert)}
    layers.require_divisible(layers.tensor_sizes(shape, parallelism) | experts)


def tensor_names(shape: Shape) -> list[str]:
    """Names of all Hugging Face tensors of the model, sorted."""
    whole = bindings(shape, ParallelismConfig(), 0, fused=False)
    return sorted(name for binding in whole for name in binding.tensors)


def transformer_config(shape: Shape, parallelism: ParallelismConfig, *, dtype: Any, fused: bool) -> Any:
    """Megatron's TransformerConfig (field-rl.md C3) for training without any auxiliary loss or dropout.

    dtype: torch.bfloat16, or torch.float32 for parity checks. `fused`: Transformer Engine and grouped experts.
    """
    from megatron.core.transformer.transformer_config import TransformerConfig

    return TransformerConfig(
        **layers.transformer_settings(shape, parallelism, dtype=dtype, fused=fused),
        expert_model_parallel_size=parallelism.expert,
        expert_tensor_parallel_size=1,
        moe_ffn_hidden_size=shape.moe_intermediate_size,
        num_moe_experts=shape.num_experts,
        moe_router_topk=shape.num_experts_per_tok,
        moe_router_load_balancing_type="none",
        moe_aux_loss_coeff=0.0,
        moe_router_pre_softmax=False,
        moe_router_dtype="fp32",
        moe_router_fusion=False,
        moe_token_dispatcher_type="alltoall",  # noqa: S106 - no password
        moe_grouped_gemm=fused,
        moe_permute_fusion=fused,
    )
