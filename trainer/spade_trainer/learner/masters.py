"""The fp32 masters: whole again from their shards, and digested.

The distributed optimiser cuts the masters of all parameters into one range per data-parallel rank. Their digest is
what a replay is compared by, so it must not depend on the layout: it is taken over Hugging Face's tensors.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state

from spade_contracts.errors import SpadeError
from spade_trainer.learner.exchange import gather_texts
from spade_trainer.learner.training import Trainee


class MastersDiffer(SpadeError):
    """The fp32 masters are not the bf16 weights before rounding: a load went wrong (field-rl.md C5)."""

    def __init__(self, parameter: str, where: str) -> None:
        super().__init__(
            f"after loading {where}, the fp32 master of {parameter} does not round to its bf16 weight.",
            remedy="The files are damaged or were read wrongly; remove them, and an older checkpoint is used.",
        )


def parameter_sha256(trained: Trainee) -> str:
    """SHA-256 over the fp32 masters by sorted Hugging Face names. Called on all ranks; equal on all of them.

    One line a tensor: name, dtype, shape, SHA-256 of its bytes. Two levels, so that every rank digests what it holds
    and only digests travel.
    """
    lines: dict[str, str] = {}
    network = trained.network
    for binding, whole in _whole_masters(trained):
        if whole is None:
            continue
        for name, tensor in zip(binding.tensors, network.family.split(binding.form, whole, network.shape), strict=True):
            data = tensor.contiguous().cpu().numpy()
            shape = ",".join(str(size) for size in data.shape)
            lines[name] = f"{name}\tF32\t{shape}\t{hashlib.sha256(data.data).hexdigest()}\n"
    merged: dict[str, str] = {}
    for part in gather_texts(json.dumps(lines), trained.backend.control):
        merged.update(json.loads(part))
    return hashlib.sha256("".join(merged[name] for name in sorted(merged)).encode()).hexdigest()


def _whole_masters(trained: Trainee) -> Iterator[tuple[Any, torch.Tensor | None]]:
    """(binding, whole fp32 master) of this rank's parameters; None on ranks where another one digests it."""
    network = trained.network
    tensor_rank = parallel_state.get_tensor_model_parallel_rank()
    tensor_group = parallel_state.get_tensor_model_parallel_group()
    shards = {id(parameter): shard for parameter, shard in _shards(trained)}
    for binding, parameter in network.parameters():
        expert = binding.expert is not None
        group = parallel_state.get_expert_data_parallel_group() if expert else parallel_state.get_data_parallel_group()
        local = _join_shards(parameter, shards.get(id(parameter)), group)
        if not expert and network.parallelism.tensor > 1:
            pieces = [torch.empty_like(local) for _ in range(network.parallelism.tensor)]
            dist.all_gather(pieces, local, group=tensor_group)
            local = network.family.widen(binding.cut, pieces)
        speaks = dist.get_rank(group) == 0 and (expert or tensor_rank == 0)
        yield binding, local if speaks else None


def _join_shards(parameter: torch.Tensor, shard: "_Shard | None", group: Any) -> torch.Tensor:
    """One parameter's master from all ranks of its data-parallel group; added as bits, so that even -0.0 survives."""
    whole = torch.zeros(parameter.numel(), dtype=torch.float32, device=parameter.device)
    if shard is not None:
        whole[shard.start : shard.end] = shard.master
    dist.all_reduce(whole.view(torch.int32), group=group)
    return whole.view(parameter.shape)


@dataclass(frozen=True)
class _Shard:
    """This rank's range of one parameter's master."""

    start: int
    end: int
    master: torch.Tensor


def _shards(trained: Trainee) -> Iterator[tuple[torch.nn.Parameter, _Shard]]:
    """(parameter, this rank's range of its fp32 master) from Megatron's distributed optimisers."""
    for part in getattr(trained.optimizer, "chained_optimizers", [trained.optimizer]):
        for models, masters in zip(part.model_float16_groups, part.shard_fp32_from_float16_groups, strict=True):
            for parameter, master in zip(models, masters, strict=True):
                span = part._get_model_param_range_map(parameter)["param"]
                yield parameter, _Shard(span.start, span.end, master)


def require_masters_match(trained: Trainee, where: str) -> None:
    """Raise MastersDiffer unless every master rounds to its bf16 weight. `where` names what was loaded."""
    names = {id(parameter): binding.tensors[0] for binding, parameter in trained.network.parameters()}
    for parameter, shard in _shards(trained):
        weight = parameter.detach().reshape(-1)[shard.start : shard.end]
        if not torch.equal(shard.master.detach().to(weight.dtype), weight):
            raise MastersDiffer(names[id(parameter)], where)
