"""The terms of the policy loss in numpy: what learner/loss.py computes in torch, for people who have no torch.

All arrays are float64, shape (tokens,), unless said otherwise. Source: method.md §8.3, §8.4.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

KL_CLAMP = 10.0
DIFFERENCE_CLAMP = 20.0
"""Both as in learner/loss.py."""
EXPONENT_CLAMP = 700.0
"""A ratio stays a finite number, so that it can be printed; no policy is ever so far from another."""


def ratio(new: Array, old: Array) -> Array:
    """New over old probability, from log-probabilities."""
    return np.exp(np.clip(new - old, -EXPONENT_CLAMP, EXPONENT_CLAMP))


def policy_loss(ratios: Array, advantage: Array, clip_low: float, clip_high: float) -> tuple[Array, Flags]:
    """PPO's clipped loss of each token, and whether the clip took hold. Vector V21."""
    plain = -ratios * advantage
    clipped = -np.clip(ratios, 1.0 - clip_low, 1.0 + clip_high) * advantage
    return np.maximum(plain, clipped), clipped > plain


def truncated_importance(train: Array, rollout: Array, low: float, high: float) -> tuple[Array, Array, Flags]:
    """Raw importance ratio, the weight that it is cut to, and whether it was cut. Vector V20."""
    raw = ratio(train, rollout)
    weight = np.clip(raw, low, high)
    return raw, weight, weight != raw


def kl_penalty(train: Array, reference: Array) -> Array:
    """The k3 estimate of the divergence from the reference, by token, clamped to ±10. Vector V22."""
    difference = np.clip(train - reference, -DIFFERENCE_CLAMP, DIFFERENCE_CLAMP)
    return np.clip(np.exp(-difference) - 1.0 + difference, -KL_CLAMP, KL_CLAMP)


def sample_mean(values: Array, mask: Flags, denominator: float) -> float:
    """Sum of the trained tokens' values over the denominator; masked values do not count, whatever they are. V23."""
    return float(np.where(mask, values, 0.0).sum() / denominator)
