"""The one place that knows whether this process trains on CUDA or on CPU."""

import os
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.learner import cpu_remedies


@dataclass(frozen=True)
class Backend:
    """What the rest of the learner asks the machine."""

    device: Any
    """torch.device of this rank."""
    fused: bool
    """Whether Transformer Engine's modules and grouped expert products are used."""
    control: Any
    """A gloo group of all ranks, for commands and texts, with a deadline of its own."""


def start(*, local_rank: int, collective_seconds: float, command_seconds: float) -> Backend:
    """Join the process group that torchrun's environment describes, ready for Megatron.

    collective_seconds: deadline of every collective; command_seconds: of those in the control group. Arithmetic is made
    deterministic. Raises UnknownMegatron without CUDA and with a megatron-core that the CPU remedies do not know.
    """
    import torch

    cpu_remedies.apply()
    torch.use_deterministic_algorithms(mode=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    if cpu_remedies.needed():
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        device, collectives, fused = torch.device("cpu"), "gloo", False
    else:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        if find_spec("transformer_engine") is None:
            raise InvalidInput("image", "CUDA is here, Transformer Engine is not", remedy="Use the GPU trainer image.")
        torch.cuda.set_device(local_rank)
        device, collectives, fused = torch.device("cuda", local_rank), "nccl", True
    torch.distributed.init_process_group(collectives, timeout=timedelta(seconds=collective_seconds))
    control = torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=command_seconds))
    return Backend(device=device, fused=fused, control=control)


def layer_modules(layers: int, experts: int | None, *, fused: bool) -> Any:
    """Megatron's module specification of a transformer block: Transformer Engine's modules, or plain torch.

    experts: of each layer; None for dense layers.
    """
    from megatron.core.models.gpt import gpt_layer_specs
    from megatron.core.transformer.transformer_block import TransformerBlockSubmodules

    if fused:
        from megatron.core.extensions.transformer_engine import TENorm

        spec = gpt_layer_specs.get_gpt_layer_with_transformer_engine_spec(
            num_experts=experts, moe_grouped_gemm=True, qk_layernorm=True
        )
        return TransformerBlockSubmodules(layer_specs=[spec] * layers, layer_norm=TENorm)

    from spade_trainer.learner.plain_modules import CausalAttention, RmsNorm

    spec = gpt_layer_specs.get_gpt_layer_local_spec(
        num_experts=experts, moe_grouped_gemm=False, qk_layernorm=True, normalization="RMSNorm"
    )
    layer = spec.submodules
    layer.input_layernorm = layer.pre_mlp_layernorm = RmsNorm
    layer.self_attention.submodules.q_layernorm = layer.self_attention.submodules.k_layernorm = RmsNorm
    layer.self_attention.submodules.core_attention = CausalAttention
    return TransformerBlockSubmodules(layer_specs=[spec] * layers, layer_norm=RmsNorm)
