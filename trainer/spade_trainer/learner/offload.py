"""A network in training, moved off its devices and back, so that an engine on the same devices can play meanwhile.

Storages are emptied in place: Megatron keeps views of its buffers in many places (parameters, gradients, shards of the
distributed optimiser), and all of them find their bytes again afterwards. What libraries hold for themselves stays on
the device: CUDA's context, NCCL's buffers, kernels' workspaces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from spade_trainer.learner.build import Network
from spade_trainer.learner.training import Trainee


@dataclass(frozen=True)
class Moved:
    """One storage that was emptied, and its bytes on the host; None for gradients, which no step reads."""

    storage: torch.UntypedStorage
    size: int
    kept: torch.Tensor | None


def move_off(trained: Trainee, reference: Network | None) -> tuple[Moved, ...]:
    """Empty every storage of weights, masters, moments and gradients on this rank's device; what `move_on` needs."""
    found = tuple(_storages(trained, reference))
    moved = tuple(_emptied(storage, keep=keep) for storage, keep in found)
    if trained.backend.device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    return moved


def move_on(moved: tuple[Moved, ...]) -> None:
    """Fill the storages again, bit for bit; gradients with zeros."""
    for one in moved:
        one.storage.resize_(one.size)
        view = _bytes(one.storage)
        if one.kept is None:
            view.zero_()
        else:
            view.copy_(one.kept)


def _emptied(storage: torch.UntypedStorage, *, keep: bool) -> Moved:
    size = storage.nbytes()
    kept = None
    if keep:
        kept = torch.empty(size, dtype=torch.uint8, pin_memory=storage.device.type == "cuda")
        kept.copy_(_bytes(storage))
    storage.resize_(0)
    return Moved(storage, size, kept)


def _bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _storages(trained: Trainee, reference: Network | None) -> Iterator[tuple[torch.UntypedStorage, bool]]:
    """Each storage once, and whether its bytes matter; those of gradients come first and so are known as such."""
    seen: set[int] = set()
    for tensors, keep in ((_gradients(trained), False), (_state(trained, reference), True)):
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.nbytes() and storage.device == trained.backend.device and storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                yield storage, keep


def _gradients(trained: Trainee) -> Iterator[torch.Tensor]:
    for buffer in (*trained.wrapped.buffers, *trained.wrapped.expert_parallel_buffers):
        yield buffer.grad_data


def _state(trained: Trainee, reference: Network | None) -> Iterator[torch.Tensor]:
    for network in (trained.network, *((reference,) if reference is not None else ())):
        yield from network.module.parameters()
        yield from network.module.buffers()
    for buffer in (*trained.wrapped.buffers, *trained.wrapped.expert_parallel_buffers):
        if buffer.param_data is not None:
            yield buffer.param_data
    for part in getattr(trained.optimizer, "chained_optimizers", [trained.optimizer]):
        for group in part.shard_fp32_from_float16_groups:
            yield from group
        yield from _tensors(part.optimizer.state.values())


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for state in values:
        yield from (value for value in state.values() if isinstance(value, torch.Tensor))
