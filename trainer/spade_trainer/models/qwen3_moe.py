"""Qwen3-MoE: Hugging Face's configuration and names, Megatron's, and the way between them.

Everything but `transformer_config` works without torch. Tensors pass through `join` and `split` one parameter at a
time; layouts are those of field-rl.md C4.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput

ARCHITECTURE = "Qwen3MoeForCausalLM"
NORM = "model.norm.weight"
"""The tensor that the start-up canary scales."""


class Shape(BaseModel):
    """What of `config.json` decides the network. Same names as there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    num_hidden_layers: int = Field(ge=1)
    hidden_size: int = Field(ge=1)
    intermediate_size: int = Field(ge=1)
    num_attention_heads: int = Field(ge=1)
    num_key_value_heads: int = Field(ge=1)
    head_dim: int = Field(ge=2)
    moe_intermediate_size: int = Field(ge=1)
    num_experts: int = Field(ge=2)
    num_experts_per_tok: int = Field(ge=1)
    vocab_size: int = Field(ge=2)
    max_position_embeddings: int = Field(ge=1)
    rms_norm_eps: float = Field(gt=0)
    rope_theta: float = Field(gt=0)
    tie_word_embeddings: bool = False


REFUSED: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("hidden_act", ("silu",), "only SwiGLU experts are mapped"),
    ("attention_bias", (False,), "biases are not mapped"),
    ("norm_topk_prob", (True,), "the router must normalise the chosen experts' weights"),
    ("decoder_sparse_step", (1,), "every layer must be a mixture of experts"),
    ("mlp_only_layers", ([], None), "every layer must be a mixture of experts"),
    ("use_sliding_window", (False,), "attention must be full"),
    ("output_router_logits", (False,), "it asks for an auxiliary loss, which moves the policy away from its reward"),
)
"""Settings with the only values that the mapping is right for. A setting that is absent has Hugging Face's default."""

ABSENT: Mapping[str, Any] = {
    "hidden_act": "silu",
    "attention_bias": False,
    "norm_topk_prob": False,
    "decoder_sparse_step": 1,
    "mlp_only_layers": None,
    "use_sliding_window": False,
    "output_router_logits": False,
}
"""transformers' defaults of the settings in REFUSED."""


def shape_of(config: Mapping[str, Any]) -> Shape:
    """Read a Hugging Face configuration.

    Raises InvalidInput for anything that the mapping would silently get wrong: a missing or contradictory rope base
    (it passes loose tolerances, field-rl.md C4), scaled rope, biases, dense layers, an auxiliary loss.
    """
    for key, allowed, why in REFUSED:
        value = config.get(key, ABSENT[key])
        if value not in allowed:
            raise InvalidInput(f"config.json.{key}", f"{value!r} is not supported: {why}")
    read = {**config, "rope_theta": _rope_theta(config)}
    if "num_local_experts" in config:  # newer spelling of the same setting
        read.setdefault("num_experts", config["num_local_experts"])
    try:
        return Shape.model_validate(read)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"config.json.{where}", str(first["msg"])) from error


def _rope_theta(config: Mapping[str, Any]) -> float:
    """The rope base, which older files keep at the top and newer ones in `rope_parameters`."""
    parameters = config.get("rope_parameters") or {}
    scaling = config.get("rope_scaling") or {}
    kinds = {entry.get(key, "default") for entry in (parameters, scaling) for key in ("rope_type", "type")}
    if kinds - {"default"}:
        raise InvalidInput("config.json.rope_parameters", f"scaled rope ({sorted(kinds)}) is not supported")
    found = {float(entry["rope_theta"]) for entry in (config, parameters) if entry.get("rope_theta") is not None}
    if len(found) != 1:
        says = "no rope_theta" if not found else f"rope_theta values {sorted(found)}, which contradict each other"
        raise InvalidInput("config.json.rope_theta", f"{says}; write the one base the model was trained with")
    return found.pop()


class Form(StrEnum):
    """How Hugging Face's tensors lie in one Megatron parameter."""

    SAME = "same"
    QKV = "qkv"
    """Query, key and value rows, interleaved per key-value group."""
    STACKED = "stacked"
    """Gate rows, then up rows."""


class Cut(StrEnum):
    """How tensor parallelism divides a Megatron parameter."""

    WHOLE = "whole"
    ROWS = "rows"
    COLUMNS = "columns"


@dataclass(frozen=True)
class Binding:
    """One Megatron parameter of one rank, and the Hugging Face tensors it is made of."""

    parameter: str
    """Megatron's name on that rank; experts are counted from the rank's first."""
    tensors: tuple[str, ...]
    form: Form = Form.SAME
    cut: Cut = Cut.WHOLE
    expert: int | None = None
    """Global index of the expert, None for parameters that every rank holds."""


def bindings(shape: Shape, parallelism: ParallelismConfig, expert_rank: int, *, fused: bool) -> list[Binding]:
    """All parameters of one rank, in Megatron's order of layers.

    `fused` names Transformer Engine's modules (layer norms inside linear layers, experts in one grouped module)
    instead of the local ones. Raises InvalidInput if the layout does not divide the model.
    """
    check_layout(shape, parallelism)
    result = [Binding("embedding.word_embeddings.weight", ("model.embed_tokens.weight",), cut=Cut.ROWS)]
    for layer in range(shape.num_hidden_layers):
        result += _layer(shape, layer, shape.num_experts // parallelism.expert, expert_rank, fused)
    result.append(Binding("decoder.final_layernorm.weight", (NORM,)))
    if not shape.tie_word_embeddings:
        result.append(Binding("output_layer.weight", ("lm_head.weight",), cut=Cut.ROWS))
    return result


def _layer(shape: Shape, layer: int, local: int, expert_rank: int, fused: bool) -> Iterator[Binding]:
    hf, mc = f"model.layers.{layer}.", f"decoder.layers.{layer}."
    attention = "self_attention."
    norm = f"{attention}linear_qkv.layer_norm_weight" if fused else "input_layernorm.weight"
    yield Binding(f"{mc}{norm}", (f"{hf}input_layernorm.weight",))
    qkv = tuple(f"{hf}self_attn.{kind}_proj.weight" for kind in "qkv")
    yield Binding(f"{mc}{attention}linear_qkv.weight", qkv, Form.QKV, Cut.ROWS)
    for kind in "qk":
        yield Binding(f"{mc}{attention}{kind}_layernorm.weight", (f"{hf}self_attn.{kind}_norm.weight",))
    yield Binding(f"{mc}{attention}linear_proj.weight", (f"{hf}self_attn.o_proj.weight",), cut=Cut.COLUMNS)
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
    """Raise InvalidInput unless the layout divides the model evenly."""
    for what, size, over in (
        ("num_key_value_heads", shape.num_key_value_heads, parallelism.tensor),
        ("num_attention_heads", shape.num_attention_heads, parallelism.tensor),
        ("vocab_size", shape.vocab_size, parallelism.tensor),
        ("num_experts", shape.num_experts, parallelism.expert),
    ):
        if size % over:
            raise InvalidInput(
                "learner.parallelism", f"{what} = {size} is not divisible by {over}", remedy="Choose a smaller layout."
            )


def tensor_names(shape: Shape) -> list[str]:
    """Names of all Hugging Face tensors of the model, sorted."""
    whole = bindings(shape, ParallelismConfig(), 0, fused=False)
    return sorted(name for binding in whole for name in binding.tensors)


def join(form: Form, parts: Sequence[Any], shape: Shape) -> Any:
    """Hugging Face tensors → the whole Megatron parameter. Works on torch and numpy arrays alike."""
    if form is Form.SAME:
        return parts[0]
    if form is Form.STACKED:
        return _concatenate([*parts])
    groups, hidden = shape.num_key_value_heads, shape.hidden_size
    grouped = [part.reshape(groups, -1, hidden) for part in parts]
    return _concatenate([rows for group in range(groups) for rows in (part[group] for part in grouped)])


def split(form: Form, whole: Any, shape: Shape) -> list[Any]:
    """The inverse of `join`: the whole Megatron parameter → its Hugging Face tensors, in `Binding.tensors` order."""
    if form is Form.SAME:
        return [whole]
    if form is Form.STACKED:
        middle = whole.shape[0] // 2
        return [whole[:middle], whole[middle:]]
    groups, hidden, width = shape.num_key_value_heads, shape.hidden_size, shape.head_dim
    queries = shape.num_attention_heads // groups * width
    grouped = whole.reshape(groups, queries + 2 * width, hidden)
    ends = (0, queries, queries + width, queries + 2 * width)
    return [grouped[:, low:high].reshape(-1, hidden) for low, high in pairwise(ends)]


def narrow(cut: Cut, whole: Any, rank: int, size: int) -> Any:
    """The part of a whole parameter that one tensor-parallel rank holds."""
    if cut is Cut.WHOLE or size == 1:
        return whole
    axis = 0 if cut is Cut.ROWS else 1
    step = whole.shape[axis] // size
    return whole[rank * step : (rank + 1) * step] if axis == 0 else whole[:, rank * step : (rank + 1) * step]


def widen(cut: Cut, parts: Sequence[Any]) -> Any:
    """The inverse of `narrow`, from the parts of all tensor-parallel ranks in order."""
    if cut is Cut.WHOLE or len(parts) == 1:
        return parts[0]
    return _concatenate(list(parts), axis=0 if cut is Cut.ROWS else 1)


def _concatenate(parts: list[Any], axis: int = 0) -> Any:
    if type(parts[0]).__module__.startswith("numpy"):
        import numpy as np

        return np.concatenate(parts, axis=axis)
    import torch

    return torch.cat(parts, dim=axis)


def transformer_config(shape: Shape, parallelism: ParallelismConfig, *, dtype: Any, fused: bool) -> Any:
    """Megatron's TransformerConfig (field-rl.md C3) for training without any auxiliary loss or dropout.

    dtype: torch.bfloat16, or torch.float32 for parity checks. `fused`: Transformer Engine and grouped experts.
    """
    import torch
    from megatron.core.transformer.transformer_config import TransformerConfig

    return TransformerConfig(
        num_layers=shape.num_hidden_layers,
        hidden_size=shape.hidden_size,
        num_attention_heads=shape.num_attention_heads,
        num_query_groups=shape.num_key_value_heads,
        kv_channels=shape.head_dim,
        ffn_hidden_size=shape.intermediate_size,
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
        normalization="RMSNorm",
        layernorm_epsilon=shape.rms_norm_eps,
        qk_layernorm=True,
        add_bias_linear=False,
        add_qkv_bias=False,
        gated_linear_unit=True,
        activation_func=torch.nn.functional.silu,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        attention_softmax_in_fp32=True,
        tensor_model_parallel_size=parallelism.tensor,
        pipeline_model_parallel_size=parallelism.pipeline,
        context_parallel_size=parallelism.context,
        expert_model_parallel_size=parallelism.expert,
        expert_tensor_parallel_size=1,
        sequence_parallel=parallelism.sequence,
        bf16=dtype is torch.bfloat16,
        params_dtype=dtype,
        pipeline_dtype=dtype,
        use_cpu_initialization=not fused,
        perform_initialization=False,
        calculate_per_token_loss=True,
        deterministic_mode=True,
        bias_dropout_fusion=False,
        bias_activation_fusion=fused,
        masked_softmax_fusion=fused,
        persist_layer_norm=False,
        gradient_accumulation_fusion=False,
        apply_rope_fusion=fused,
    )
