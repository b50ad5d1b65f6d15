"""The fixed probe of the weight proof, and what the learner expects of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spade_trainer.randomness import Purpose, generator

PROBE_TOKENS = 64
NOISE_DRAWS = 3
NUDGED_SHARE = 1 / 6
"""Share of a norm's weights that are moved by one bf16 spacing: the variance of two roundings. One errs by up to half a
spacing either way, with a twelfth of its square as variance; a layer's input and what comes of it are each rounded."""
MINIMUM_NOISE = 0.004
"""Nats a token. A model may be insensitive to one rounding, but kernels round many times."""
CANARY_FACTOR = 0.5
"""The last norm times this halves every logit, exactly in bf16, and halves the noise of the kernels with it."""


def probe_tokens(run_seed: int, vocabulary: int) -> tuple[int, ...]:
    """The probe's token ids, the same all through a run."""
    return tuple(generator(run_seed, Purpose.PROBE).integers(0, vocabulary, PROBE_TOKENS).tolist())


@dataclass(frozen=True)
class Expected:
    """The learner's own log-probabilities of the probe: entry i belongs to token i + 1, at temperature 1."""

    policy_version: int
    new: tuple[float, ...]
    """Under this version."""
    old: tuple[float, ...] | None
    """Under the version before; None where there is none, or none is known."""
    canary: tuple[float, ...]
    """Under this version with the canary tensor scaled by CANARY_FACTOR."""
    noise: float
    """Nats a token by which equal weights may score differently: see measured_noise."""


def distance(left: Sequence[float], right: Sequence[float]) -> float:
    """Mean absolute difference, in nats a token; infinite if one is not finite or the lengths differ.

    The mean and not the median: a single wrong expert moves only the tokens that are routed to it.
    """
    if len(left) != len(right) or not left:
        return float("inf")
    gap = float(np.abs(np.asarray(left, np.float64) - np.asarray(right, np.float64)).mean())
    return gap if np.isfinite(gap) else float("inf")


def measured_noise(plain: Sequence[float], nudged: Sequence[Sequence[float]]) -> float:
    """How far apart two right computations of the probe can be, in nats a token.

    plain: the learner's scores. nudged: its scores with NUDGED_SHARE of every norm moved by one spacing, up or down at
    random, which does to each layer's input what the rounding of another kernel does. The figure belongs to this model
    and this probe: a trained model that is asked about random tokens is many times as sensitive as a random one.
    """
    return max(MINIMUM_NOISE, sum(distance(plain, scores) for scores in nudged) / len(nudged))
