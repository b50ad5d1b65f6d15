"""Log-probabilities of token sequences under a Megatron model, padded into rectangles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from megatron.core.tensor_parallel import vocab_parallel_cross_entropy
from numpy.typing import NDArray

from spade_trainer.assembly import Sample
from spade_trainer.learner.packing import Microbatch

MINIMUM_WIDTH = 2
"""A sequence of one token predicts nothing."""


@dataclass(frozen=True)
class Rectangle:
    """A microbatch as tensors. The last axis of all but token_ids is one shorter: entry i concerns token i + 1."""

    token_ids: torch.Tensor
    """(samples, width), int64, right-padded with 0."""
    mask: torch.Tensor
    """(samples, width - 1), bool: trained tokens."""
    rollout_log_probs: torch.Tensor
    """(samples, width - 1), fp32."""
    advantage: torch.Tensor
    """(samples, 1), fp32."""
    temperature: torch.Tensor
    """(samples, 1), fp32."""
    denominators: torch.Tensor
    """(samples,), fp32."""


def rectangle(samples: Sequence[Sample], microbatch: Microbatch, device: torch.device) -> Rectangle:
    """The tensors of one microbatch. An empty one becomes a single masked row, so that the pass can be made."""
    chosen = [samples[index] for index in microbatch.samples]
    rows, width = max(1, len(chosen)), max(MINIMUM_WIDTH, microbatch.width)

    def filled(arrays: Sequence[NDArray[Any]], dtype: Any) -> torch.Tensor:
        whole = np.zeros((rows, width), dtype=dtype)
        for row, array in enumerate(arrays):
            whole[row, : len(array)] = array
        return torch.from_numpy(whole).to(device)

    def column(values: Sequence[float], empty: float) -> torch.Tensor:
        return torch.tensor(list(values) or [empty], dtype=torch.float32, device=device)

    return Rectangle(
        token_ids=filled([sample.token_ids for sample in chosen], np.int64),
        mask=filled([sample.loss_mask for sample in chosen], np.bool_)[:, 1:],
        rollout_log_probs=filled([sample.log_probs for sample in chosen], np.float32)[:, 1:],
        advantage=column([sample.advantage for sample in chosen], 0.0)[:, None],
        temperature=column([sample.temperature for sample in chosen], 1.0)[:, None],
        denominators=column([float(sample.denominator_tokens) for sample in chosen], 1.0),
    )


def log_probs(module: Any, token_ids: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """Log-probability of each token given those before it, at a temperature.

    module: Megatron's GPTModel, or its data-parallel wrapper. token_ids: (samples, width). temperature: (samples, 1).
    Returns (samples, width - 1), fp32, differentiable; entry i belongs to token i + 1. The softmax is taken in fp32
    over the whole vocabulary, also where tensor parallelism has cut it.
    """
    positions = torch.arange(token_ids.shape[1], device=token_ids.device)[None].expand_as(token_ids)
    logits = module(token_ids, positions, None)[:, :-1]
    scaled = logits.float() / temperature[:, :, None]
    losses = vocab_parallel_cross_entropy(scaled.transpose(0, 1).contiguous(), token_ids[:, 1:].t().contiguous())
    return -losses.t()
