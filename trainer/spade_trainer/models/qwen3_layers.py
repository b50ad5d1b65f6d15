"""What the families of Qwen3 share: attention, norms, embeddings, and the way between both kinds of tensors.

Everything but `transformer_settings` works without torch. Tensors pass through `join` and `split` one parameter at a
time; layouts are those of field-rl.md C4.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
NORM = "model.norm.weight"
"""The tensor that the start-up canary scales."""


class Shape(BaseModel):
    """What of `config.json` decides the network in every family. Same names as there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    num_hidden_layers: int = Field(ge=1)
    hidden_size: int = Field(ge=1)
    intermediate_size: int = Field(ge=1)
    num_attention_heads: int = Field(ge=1)
    num_key_value_heads: int = Field(ge=1)
    head_dim: int = Field(ge=2)
    vocab_size: int = Field(ge=2)
    max_position_embeddings: int = Field(ge=1)
    rms_norm_eps: float = Field(gt=0)
    rope_theta: float = Field(gt=0)
    tie_word_embeddings: bool = False


AnyShape = TypeVar("AnyShape", bound=Shape)


@dataclass(frozen=True)
class Only:
    """A setting of `config.json` with the only values that the mapping is right for."""

    key: str
    allowed: tuple[Any, ...]
    absent: Any
    """transformers' default: what a file that lacks the setting means."""
    why: str


REFUSED = (
    Only("hidden_act", ("silu",), "silu", "only SwiGLU is mapped"),
    Only("attention_bias", (False,), False, "biases are not mapped"),
    Only("use_sliding_window", (False,), False, "attention must be full"),
)
FULL_ATTENTION = "full_attention"


def read_shape(kind: type[AnyShape], config: Mapping[str, Any], refused: Sequence[Only] = ()) -> AnyShape:
    """Read a Hugging Face configuration. `refused`: the family's own rules beside REFUSED.

    Raises InvalidInput for anything that the mapping would silently get wrong: a missing or contradictory rope base
    (it passes loose tolerances, field-rl.md C4), scaled rope, biases, sliding windows, and what the family refuses.
    """
    for rule in (*REFUSED, *refused):
        value = config.get(rule.key, rule.absent)
        if value not in rule.allowed:
            raise InvalidInput(f"config.json.{rule.key}", f"{value!r} is not supported: {rule.why}")
    others = {*(config.get("layer_types") or ())} - {FULL_ATTENTION}
    if others:
        raise InvalidInput("config.json.layer_types", f"{sorted(others)} are not supported: attention must be full")
    try:
        return kind.model_validate({**config, "rope_theta": _rope_theta(config)})
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
    HALVES = "halves"
    """The rows of the upper and of the lower half, each divided: a rank has its part of the gate above that of up."""
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


def attention(layer: int, *, fused: bool) -> Iterator[Binding]:
    """Parameters of one layer's attention and of the norm before it.

    `fused` names Transformer Engine's modules (layer norms inside linear layers) instead of the local ones.
    """
    hf, mc = f"model.layers.{layer}.", f"decoder.layers.{layer}."
    part = "self_attention."
    norm = f"{part}linear_qkv.layer_norm_weight" if fused else "input_layernorm.weight"
    yield Binding(f"{mc}{norm}", (f"{hf}input_layernorm.weight",))
    qkv = tuple(f"{hf}self_attn.{kind}_proj.weight" for kind in "qkv")
    yield Binding(f"{mc}{part}linear_qkv.weight", qkv, Form.QKV, Cut.ROWS)
    for kind in "qk":
        yield Binding(f"{mc}{part}{kind}_layernorm.weight", (f"{hf}self_attn.{kind}_norm.weight",))
    yield Binding(f"{mc}{part}linear_proj.weight", (f"{hf}self_attn.o_proj.weight",), cut=Cut.COLUMNS)


def around(shape: Shape, layer: Callable[[int], Iterator[Binding]]) -> list[Binding]:
    """All parameters of one rank, in Megatron's order: those of each layer between embedding, last norm and head."""
    result = [Binding("embedding.word_embeddings.weight", (EMBEDDING,), cut=Cut.ROWS)]
    for number in range(shape.num_hidden_layers):
        result += layer(number)
    result.append(Binding("decoder.final_layernorm.weight", (NORM,)))
    if not shape.tie_word_embeddings:
        result.append(Binding("output_layer.weight", (HEAD,), cut=Cut.ROWS))
    return result


def copies(shape: Shape) -> Mapping[str, str]:
    """Tensors that files may hold although they are others of the model: name → the name of what they must equal."""
    return {HEAD: EMBEDDING} if shape.tie_word_embeddings else {}


def require_divisible(sizes: Mapping[str, tuple[int, int]]) -> None:
    """Raise InvalidInput unless each size (by its name in `config.json`) is a multiple of the ranks that share it."""
    for what, (size, over) in sizes.items():
        if size % over:
            raise InvalidInput(
                "learner.parallelism", f"{what} = {size} is not divisible by {over}", remedy="Choose a smaller layout."
            )


def tensor_sizes(shape: Shape, parallelism: ParallelismConfig) -> dict[str, tuple[int, int]]:
    """What tensor parallelism divides in every family, for `require_divisible`."""
    names = ("num_key_value_heads", "num_attention_heads", "vocab_size")
    return {name: (getattr(shape, name), parallelism.tensor) for name in names}


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
        return [*_halves(whole)]
    groups, hidden, width = shape.num_key_value_heads, shape.hidden_size, shape.head_dim
    queries = shape.num_attention_heads // groups * width
    grouped = whole.reshape(groups, queries + 2 * width, hidden)
    ends = (0, queries, queries + width, queries + 2 * width)
    return [grouped[:, low:high].reshape(-1, hidden) for low, high in pairwise(ends)]


def narrow(cut: Cut, whole: Any, rank: int, size: int) -> Any:
    """The part of a whole parameter that one tensor-parallel rank holds."""
    if cut is Cut.WHOLE or size == 1:
        return whole
    if cut is Cut.HALVES:
        return _concatenate([narrow(Cut.ROWS, half, rank, size) for half in _halves(whole)])
    axis = 0 if cut is Cut.ROWS else 1
    step = whole.shape[axis] // size
    return whole[rank * step : (rank + 1) * step] if axis == 0 else whole[:, rank * step : (rank + 1) * step]


def widen(cut: Cut, parts: Sequence[Any]) -> Any:
    """The inverse of `narrow`, from the parts of all tensor-parallel ranks in order."""
    if cut is Cut.WHOLE or len(parts) == 1:
        return parts[0]
    if cut is Cut.HALVES:
        halves = [_halves(part) for part in parts]
        return _concatenate([pair[half] for half in (0, 1) for pair in halves])
    return _concatenate(list(parts), axis=0 if cut is Cut.ROWS else 1)


def _halves(whole: Any) -> tuple[Any, Any]:
    middle = whole.shape[0] // 2
    return whole[:middle], whole[middle:]


def _concatenate(parts: list[Any], axis: int = 0) -> Any:
    if type(parts[0]).__module__.startswith("numpy"):
        import numpy as np

        return np.concatenate(parts, axis=axis)
    import torch

    return torch.cat(parts, dim=axis)


def transformer_settings(shape: Shape, parallelism: ParallelismConfig, *, dtype: Any, fused: bool) -> dict[str, Any]:
    """Arguments of Megatron's TransformerConfig (field-rl.md C3) that all families share; there is no dropout.

    dtype: torch.bfloat16, or torch.float32 for parity checks. `fused`: Transformer Engine and fused kernels.
    """
    import torch

    return {
        "num_layers": shape.num_hidden_layers,
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.num_attention_heads,
        "num_query_groups": shape.num_key_value_heads,
        "kv_channels": shape.head_dim,
        "ffn_hidden_size": shape.intermediate_size,
        "normalization": "RMSNorm",
        "layernorm_epsilon": shape.rms_norm_eps,
        "qk_layernorm": True,
        "add_bias_linear": False,
        "add_qkv_bias": False,
        "gated_linear_unit": True,
        "activation_func": torch.nn.functional.silu,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "attention_softmax_in_fp32": True,
        "tensor_model_parallel_size": parallelism.tensor,
        "pipeline_model_parallel_size": parallelism.pipeline,
        "context_parallel_size": parallelism.context,
        "sequence_parallel": parallelism.sequence,
        "bf16": dtype is torch.bfloat16,
        "params_dtype": dtype,
        "pipeline_dtype": dtype,
        "use_cpu_initialization": not fused,
        "perform_initialization": False,
        "calculate_per_token_loss": True,
        "deterministic_mode": True,
        "bias_dropout_fusion": False,
        "bias_activation_fusion": fused,
        "masked_softmax_fusion": fused,
        "persist_layer_norm": False,
        "gradient_accumulation_fusion": False,
        "apply_rope_fusion": fused,
    }
