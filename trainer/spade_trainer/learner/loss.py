"""The policy loss: GRPO with truncated importance sampling, token by token (method.md §8.3, §8.4).

All tensors are fp32 of one shape, (..., tokens), unless said otherwise. Nothing here knows of ranks or packing.
"""

import torch
from torch import Tensor

from spade_contracts.config import LossConfig

KL_CLAMP = 10.0
"""method.md §8.3: the penalty of one token is clamped to ±10."""
DIFFERENCE_CLAMP = 20.0
"""Beyond it the penalty is past its clamp; the exponential must not overflow, or its gradient is no number."""


def policy_loss(ratio: Tensor, advantage: Tensor, clip_low: float, clip_high: float) -> tuple[Tensor, Tensor]:
    """PPO's clipped loss of each token, and whether the clip took hold.

    ratio: new over old probability. Source: method.md §8.3; reproduces vector V21.
    """
    plain = -ratio * advantage
    clipped = -ratio.clamp(1.0 - clip_low, 1.0 + clip_high) * advantage
    return torch.maximum(plain, clipped), clipped > plain


def truncated_importance(
    log_probs: Tensor, rollout_log_probs: Tensor, low: float, high: float
) -> tuple[Tensor, Tensor]:
    """Weight of each token for having been drawn by the engine's numbers, and whether it was cut.

    Detached: the weight is a constant of the step. Source: method.md §8.4; reproduces vector V20.
    """
    ratio = torch.exp(log_probs - rollout_log_probs).detach()
    weight = ratio.clamp(low, high)
    return weight, weight != ratio


def kl_penalty(log_probs: Tensor, reference_log_probs: Tensor) -> Tensor:
    """The k3 estimate of the divergence from the reference, by token: exp(-d) - 1 + d with d = new - reference.

    Source: method.md §8.3; reproduces vector V22.
    """
    difference = (log_probs - reference_log_probs).clamp(-DIFFERENCE_CLAMP, DIFFERENCE_CLAMP)
    return (torch.exp(-difference) - 1.0 + difference).clamp(-KL_CLAMP, KL_CLAMP)


def summed_sample_means(values: Tensor, mask: Tensor, denominators: Tensor) -> Tensor:
    """Sum over samples of (sum of a sample's trained tokens / its denominator).

    values, mask: (samples, tokens). denominators: (samples,), at least 1. Masked values do not count, whatever they
    are. Returns a scalar. Source: method.md §8.3; reproduces vector V23.
    """
    return (torch.where(mask, values, torch.zeros_like(values)).sum(-1) / denominators).sum()


def token_losses(
    log_probs: Tensor, rollout_log_probs: Tensor, advantage: Tensor, config: LossConfig
) -> tuple[Tensor, Tensor, Tensor]:
    """The policy loss of each token with its importance weight applied.

    The old probability is the present one, detached, because a rollout is used for one step: the ratio is 1 and
    carries the gradient. Returns (loss, importance weight, whether the weight was cut).
    """
    ratio = torch.exp(log_probs - log_probs.detach())
    loss, _ = policy_loss(ratio, advantage, config.clip_low, config.clip_high)
    weight, cut = truncated_importance(
        log_probs.detach(), rollout_log_probs, config.importance_low, config.importance_high
    )
    return loss * weight, weight, cut
