"""The Megatron model of a policy: built for this rank's layout, filled from Hugging Face's files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.tensor_parallel.layers import set_tensor_model_parallel_attributes
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed

from spade_contracts.config import ParallelismConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.learner.backend import Backend, layer_modules
from spade_trainer.models import hf_io, registry


@dataclass(frozen=True)
class Network:
    """A model on this rank, and what is needed to name its parameters."""

    module: Any
    """Megatron's GPTModel."""
    family: Any
    """Module of spade_trainer.models that speaks for the architecture."""
    shape: Any
    parallelism: ParallelismConfig
    fused: bool

    def parameters(self) -> Iterator[tuple[Any, torch.nn.Parameter]]:
        """(binding, parameter) of this rank, in the family's order.

        Raises InvalidInput if Megatron's parameters are not exactly those that the family binds.
        """
        ours = dict(self.module.named_parameters())
        rank = parallel_state.get_expert_model_parallel_rank()
        bindings = self.family.bindings(self.shape, self.parallelism, rank, fused=self.fused)
        unbound = set(ours) ^ {binding.parameter for binding in bindings}
        if unbound:
            raise InvalidInput(
                "model", f"parameters without a Hugging Face counterpart, or the reverse: {sorted(unbound)[:4]}"
            )
        for binding in bindings:
            yield binding, ours[binding.parameter]


def start_parallel(parallelism: ParallelismConfig, *, ranks: int, seed: int) -> None:
    """Make Megatron's process groups for a layout of so many ranks.

    Raises InvalidInput for a layout that this version does not train, or if other ranks were started than configured.
    """
    if ranks != torch.distributed.get_world_size():
        raise InvalidInput(
            "learner.ranks", f"{ranks} are configured, and {torch.distributed.get_world_size()} were started"
        )
    for name in ("pipeline", "context"):
        if getattr(parallelism, name) > 1:
            raise InvalidInput(
                f"spec.learner.parallelism.{name}", "sizes above 1 are not supported by this version of the learner"
            )
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=parallelism.tensor,
        expert_model_parallel_size=parallelism.expert,
        expert_tensor_parallel_size=1,
        create_gloo_process_groups=True,
    )
    torch.manual_seed(seed)
    model_parallel_cuda_manual_seed(seed)


def build(folder: Path, parallelism: ParallelismConfig, backend: Backend, *, dtype: torch.dtype) -> Network:
    """Build a policy's model for this rank and load its weights.

    dtype: torch.bfloat16 for training (the files must hold bf16 then), torch.float32 for parity checks.
    Raises InvalidInput for an unsupported model, layout, or incomplete files.
    """
    config = hf_io.read_config(folder)
    family = registry.family_of(config)
    shape = family.shape_of(config)
    family.check_layout(shape, parallelism)
    transformer = family.transformer_config(shape, parallelism, dtype=dtype, fused=backend.fused)
    module = GPTModel(
        config=transformer,
        transformer_layer_spec=layer_modules(shape.num_hidden_layers, transformer.num_moe_experts, fused=backend.fused),
        vocab_size=shape.vocab_size,
        max_sequence_length=shape.max_position_embeddings,
        position_embedding_type="rope",
        rotary_base=shape.rope_theta,
        share_embeddings_and_output_weights=shape.tie_word_embeddings,
    )
    network = Network(module.to(device=backend.device, dtype=dtype), family, shape, parallelism, backend.fused)
    _mark_divided(network)
    load_weights(network, folder, exact=dtype is torch.bfloat16)
    return network


def _mark_divided(network: Network) -> None:
    """Tell Megatron which parameters are different on each rank.

    It marks them while it initialises them at random, which is skipped here. Without the mark it takes the shards of
    other tensor-parallel ranks for copies and leaves them out of the gradient norm.
    """
    for binding, parameter in network.parameters():
        if binding.expert is not None or binding.cut.value != "whole":
            set_tensor_model_parallel_attributes(parameter, True, 1 if binding.cut.value == "columns" else 0, 1)


def load_weights(network: Network, folder: Path, *, exact: bool) -> None:
    """Fill a model from Hugging Face's files, one tensor at a time.

    exact: refuse files of another type than the model's, so that nothing is rounded on the way in.
    Raises InvalidInput if a tensor is missing, left over, of another shape, or a copy that differs from its original.
    """
    rank, size = parallel_state.get_tensor_model_parallel_rank(), network.parallelism.tensor
    with hf_io.open_tensors(folder) as tensors:
        copies = network.family.copies(network.shape)
        extra = tensors.names - set(network.family.tensor_names(network.shape)) - set(copies)
        if extra:
            raise InvalidInput(str(folder), f"tensors that the architecture does not have: {sorted(extra)[:4]}")
        for copy in set(copies) & tensors.names:
            if not torch.equal(tensors.read(copy), tensors.read(copies[copy])):
                raise InvalidInput(str(folder), f"{copy} is not {copies[copy]}, to which config.json ties it")
        for binding, parameter in network.parameters():
            parts = [tensors.read(name) for name in binding.tensors]
            wrong = [name for name, part in zip(binding.tensors, parts, strict=True) if part.dtype != parameter.dtype]
            if exact and wrong:
                raise InvalidInput(
                    str(folder), f"{wrong[0]} is not {parameter.dtype}", remedy="Save the model in bfloat16 first."
                )
            whole = network.family.join(binding.form, parts, network.shape)
            piece = network.family.narrow(binding.cut, whole, rank, size)
            if piece.shape != parameter.shape:
                raise InvalidInput(
                    str(folder), f"{binding.tensors[0]}: {tuple(piece.shape)} does not fit {tuple(parameter.shape)}"
                )
            with torch.no_grad():
                parameter.copy_(piece)
