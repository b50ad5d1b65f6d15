"""A network's weights as Hugging Face tensors on rank 0, one at a time, whatever the layout."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state

from spade_trainer.learner.build import Network
from spade_trainer.learner.exchange import broadcast_text
from spade_trainer.models import hf_io


def export(network: Network, companions: Path, folder: Path, control: Any) -> None:
    """Write a policy's files (no manifest) into a folder. Called on all ranks; only rank 0 writes.

    companions: folder of the policy whose configuration and tokenizer are copied, and whose tensors have the names that
    are written. control: a gloo group of all ranks.
    """
    copies = _copies(network, companions, control)
    if dist.get_rank() == 0:
        hf_io.copy_companions(companions, folder)
        hf_io.write_tensors(folder, _on_rank_zero(network, copies, control), total_bytes=_total_bytes(network, copies))
    else:
        for _ in _on_rank_zero(network, copies, control):
            pass


def _copies(network: Network, companions: Path, control: Any) -> dict[str, str]:
    """Copies of other tensors that the companions' files hold, as rank 0 sees them: name → the original's name.

    Exports repeat them, because an engine refuses a policy with other tensors than the one it booted with.
    """
    found: dict[str, str] = {}
    if dist.get_rank() == 0:
        with hf_io.open_tensors(companions) as tensors:
            known = network.family.copies(network.shape)
            found = {name: original for name, original in known.items() if name in tensors.names}
    agreed: dict[str, str] = json.loads(broadcast_text(json.dumps(found), control))
    return agreed


def _on_rank_zero(network: Network, copies: Mapping[str, str], control: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """(Hugging Face name, tensor) in sorted order on rank 0; other ranks send what they hold and get nothing.

    Every tensor has one sender for each tensor-parallel part: the ranks that share rank 0's tensor-parallel group for
    dense parameters, and the rank of rank 0's expert-parallel group that holds the expert. All walk the same sorted
    names, so sends and receives pair up.
    """
    mine = {name: (b, p) for b, p in network.parameters() for name in b.tensors}
    catalogue = _catalogue(network)
    senders = _senders(control)
    rank = dist.get_rank()
    for name in sorted((*network.family.tensor_names(network.shape), *copies)):
        source = copies.get(name, name)
        binding, index = catalogue[source]
        if binding.expert is None:
            holders = senders["tensor"] if binding.cut.value != "whole" else senders["tensor"][:1]
        else:
            local = network.shape.num_experts // network.parallelism.expert
            holders = [senders["expert"][binding.expert // local]]
        if rank == 0:
            tensor = _receive(network, (binding, index), holders, mine)
            yield name, tensor if source == name else tensor.clone()  # files must not share memory
        elif rank in holders:
            dist.send(mine[source][1].detach().contiguous(), dst=0)


def _receive(network: Network, wanted: tuple[Any, int], holders: list[int], mine: dict[str, Any]) -> torch.Tensor:
    """One Hugging Face tensor, `wanted` = (binding, index in it), from the ranks that hold its parameter."""
    binding, index = wanted
    like = mine[_similar(binding)][1]
    pieces = []
    for holder in holders:
        if holder == 0:
            pieces.append(mine[binding.tensors[0]][1].detach())
        else:
            piece = torch.empty_like(like)
            dist.recv(piece, src=holder)
            pieces.append(piece)
    whole = network.family.widen(binding.cut, pieces)
    return network.family.split(binding.form, whole, network.shape)[index].contiguous().cpu()


def _similar(binding: Any) -> str:
    """A Hugging Face tensor of rank 0 whose parameter has the same shape: its own part, or its first expert's."""
    name = str(binding.tensors[0])
    if binding.expert is None:
        return name
    layer, _, rest = name.partition(".experts.")
    return f"{layer}.experts.0.{rest.partition('.')[2]}"


def _catalogue(network: Network) -> dict[str, tuple[Any, int]]:
    """Every Hugging Face name → (binding, index in it), over all expert-parallel ranks."""
    found: dict[str, tuple[Any, int]] = {}
    for rank in range(network.parallelism.expert):
        for binding in network.family.bindings(network.shape, network.parallelism, rank, fused=network.fused):
            found.update({name: (binding, index) for index, name in enumerate(binding.tensors)})
    return found


def _senders(control: Any) -> dict[str, list[int]]:
    """Global ranks of rank 0's tensor-parallel and expert-parallel groups, known to every rank."""
    groups = {
        "tensor": dist.get_process_group_ranks(parallel_state.get_tensor_model_parallel_group()),
        "expert": dist.get_process_group_ranks(parallel_state.get_expert_model_parallel_group()),
    }
    known: dict[str, list[int]] = json.loads(broadcast_text(json.dumps(groups), control))
    return known


def _total_bytes(network: Network, copies: Mapping[str, str]) -> int:
    """Bytes of all tensors of the policy in bf16."""
    sizes = 0
    for binding, parameter in network.parameters():
        parts = 1 if binding.cut.value == "whole" else network.parallelism.tensor
        times = 1 + sum(original in binding.tensors for original in copies.values())
        sizes += parameter.numel() * parts * times * (network.parallelism.expert if binding.expert is not None else 1)
    return sizes * torch.bfloat16.itemsize
