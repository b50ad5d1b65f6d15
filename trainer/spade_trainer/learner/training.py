"""One optimiser step on one batch, over all ranks."""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.optimizer import OptimizerConfig as MegatronOptimizerConfig
from megatron.core.optimizer import get_megatron_optimizer

from spade_contracts.config import LossConfig, OptimizerConfig
from spade_contracts.errors import SpadeError
from spade_trainer.assembly import Batch
from spade_trainer.learner import loss as losses
from spade_trainer.learner.backend import Backend
from spade_trainer.learner.build import Network
from spade_trainer.learner.cpu_remedies import optimizer_section
from spade_trainer.learner.forward import log_probs, rectangle
from spade_trainer.learner.packing import pack


class StepNotFinite(SpadeError):
    """Loss or gradients are infinite or not a number; no step was taken and the weights are as before."""

    def __init__(self, rollout: int, what: str) -> None:
        self.rollout = rollout
        super().__init__(
            f"the {what} of the step on rollout {rollout} is not finite; the step was not taken.",
            remedy="Look at the rollout's log-probabilities and at spec.learner (learning rate, importanceHigh).",
        )


@dataclass(frozen=True)
class StepResult:
    """Figures of one step, equal on all ranks."""

    loss: float
    gradient_norm: float
    """Before clipping."""
    kl: float
    importance_mean: float
    importance_clipped_fraction: float


NO_STEP = StepResult(loss=0.0, gradient_norm=0.0, kl=0.0, importance_mean=1.0, importance_clipped_fraction=0.0)


@dataclass(frozen=True)
class Trainee:
    """A network with its optimiser: bf16 weights, and fp32 masters and moments divided over the data-parallel ranks."""

    network: Network
    wrapped: Any
    """Megatron's DistributedDataParallel around the module; owns the gradient buffers."""
    optimizer: Any
    backend: Backend


def trainee(network: Network, config: OptimizerConfig, backend: Backend) -> Trainee:
    """Give a network its optimiser. Weights must be loaded before: the fp32 masters are copied from them here."""
    wrapped = DistributedDataParallel(
        config=network.module.config,
        ddp_config=DistributedDataParallelConfig(
            grad_reduce_in_fp32=True, overlap_grad_reduce=False, use_distributed_optimizer=True
        ),
        module=network.module,
    )
    settings = MegatronOptimizerConfig(
        optimizer="adam",
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        adam_beta1=config.beta1,
        adam_beta2=config.beta2,
        clip_grad=config.clip_gradient_norm,
        bf16=True,
        params_dtype=torch.bfloat16,
        use_distributed_optimizer=True,
    )
    with optimizer_section():
        optimizer = get_megatron_optimizer(settings, [wrapped])
    return Trainee(network, wrapped, optimizer, backend)


def step(trained: Trainee, batch: Batch, config: LossConfig, reference: Network | None) -> StepResult:
    """Forward, backward and one optimiser step on a whole batch. Called on all ranks with the same batch.

    reference: policy 0, needed when the penalty's coefficient is above 0. Raises StepNotFinite on every rank, before
    anything was changed. A batch without a token to train changes nothing, momentum and weights alike.
    """
    if not any(sample.loss_mask.any() for sample in batch.samples):
        return NO_STEP
    if config.kl_coefficient > 0 and reference is None:
        raise ValueError("a KL penalty needs the reference network")
    with optimizer_section():
        trained.wrapped.zero_grad_buffer()
        trained.optimizer.zero_grad()
    sums = _accumulate(trained, batch, config, reference if config.kl_coefficient > 0 else None)
    loss = (sums["policy"] + config.kl_coefficient * sums["kl"]) / batch.denominator
    if not math.isfinite(loss):
        raise StepNotFinite(batch.rollout, "loss")
    with optimizer_section():
        finalize_model_grads([trained.wrapped])
        _require_finite_gradients(trained, batch.rollout)
        _, norm, _ = trained.optimizer.step()
    tokens = max(1.0, sums["tokens"])
    return StepResult(
        loss=loss,
        gradient_norm=float(norm),
        kl=sums["kl"] / batch.denominator,
        importance_mean=sums["weight"] / tokens,
        importance_clipped_fraction=sums["cut"] / tokens,
    )


STATISTICS = ("policy", "kl", "weight", "cut", "tokens")


def _accumulate(trained: Trainee, batch: Batch, config: LossConfig, reference: Network | None) -> dict[str, float]:
    """Add this rank's gradients of all its microbatches; returns the batch's sums over all ranks."""
    device = trained.backend.device
    mine = pack(
        [sample.tokens for sample in batch.samples],
        config.max_tokens_per_microbatch,
        ranks=parallel_state.get_data_parallel_world_size(),
        multiple=trained.network.parallelism.tensor,
    )[parallel_state.get_data_parallel_rank()]
    totals = torch.zeros(len(STATISTICS), dtype=torch.float64, device=device)
    for microbatch in mine:
        part = rectangle(batch.samples, microbatch, device)
        present = log_probs(trained.wrapped, part.token_ids, part.temperature)
        by_token, weight, cut = losses.token_losses(present, part.rollout_log_probs, part.advantage, config)
        policy = losses.summed_sample_means(by_token, part.mask, part.denominators)
        kl = torch.zeros((), device=device)
        if reference is not None:
            with torch.no_grad():
                past = log_probs(reference.module, part.token_ids, part.temperature)
            kl = losses.summed_sample_means(losses.kl_penalty(present, past), part.mask, part.denominators)
        ((policy + config.kl_coefficient * kl) / batch.denominator).backward()
        kept = [policy.detach(), kl.detach(), weight[part.mask].sum(), cut[part.mask].sum(), part.mask.sum()]
        totals += torch.stack([value.double() for value in kept])
    dist.all_reduce(totals, group=parallel_state.get_data_parallel_group())
    return dict(zip(STATISTICS, totals.tolist(), strict=True))


def _require_finite_gradients(trained: Trainee, rollout: int) -> None:
    """Raise StepNotFinite on every rank if any rank holds a gradient that is not finite."""
    buffers = [*trained.wrapped.buffers, *trained.wrapped.expert_parallel_buffers]
    finite = all(bool(torch.isfinite(buffer.grad_data).all()) for buffer in buffers)
    flag = torch.tensor([0.0 if finite else 1.0], device=trained.backend.device)
    dist.all_reduce(flag)
    if flag.item() > 0:
        raise StepNotFinite(rollout, "gradient")


def score(network: Network, token_ids: tuple[int, ...], device: torch.device) -> tuple[float, ...]:
    """Log-probabilities of given tokens at temperature 1; entry i belongs to token i + 1. Called on all ranks."""
    multiple = network.parallelism.tensor
    padding = -len(token_ids) % multiple
    ids = torch.tensor([[*token_ids, *([0] * padding)]], device=device)
    with torch.no_grad():
        result = log_probs(network.module, ids, torch.ones((1, 1), device=device))
    return tuple(result[0, : len(token_ids) - 1].tolist())
