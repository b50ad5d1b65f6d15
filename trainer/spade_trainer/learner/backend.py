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
    collectives: str
    """`nccl` or `gloo`."""
    fused: bool
    """Whether Transformer Engine's modules and grouped expert products are used."""


def start(*, local_rank: int, timeout: timedelta) -> Backend:
    """Join the process group that torchrun's environment describes, ready for Megatron.

    Every collective that lasts longer than `timeout` fails. Arithmetic is made deterministic. Raises UnknownMegatron
    without CUDA and with a megatron-core that the CPU remedies do not know.
    """
    import torch

    cpu_remedies.apply()
    torch.use_deterministic_algorithms(mode=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    if cpu_remedies.needed():
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        backend = Backend(device=torch.device("cpu"), collectives="gloo", fused=False)
    else:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        if find_spec("transformer_engine") is None:
            raise InvalidInput(
                "image", "CUDA is here, but Transformer Engine is not", remedy="Use the GPU trainer image."
            )
        torch.cuda.set_device(local_rank)
        backend = Backend(device=torch.device("cuda", local_rank), collectives="nccl", fused=True)
    torch.distributed.init_process_group(backend.collectives, timeout=timeout)
    return backend


def layer_modules(layers: int, experts: int, *, fused: bool) -> Any:
    """Megatron's module specification of a transformer block: Transformer Engine's modules, or plain torch."""
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
