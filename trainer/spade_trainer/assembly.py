"""The batch of one optimiser step, assembled from run storage and settings alone.

`assemble(store, run, rollout, last_rollout=...)` is a pure function of what is in run storage: the same manifests
give the same samples in the same order, byte for byte, in any process and after any restart (design §8). The learner
calls it once per rollout, in training and in replay alike, and records `samples_sha256` and `designer_cycles` in the
step manifest.

Order of samples: designer samples first (by cycle, slot), then player samples (by slot, play), as in method.md §1.2.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class SampleRole(StrEnum):
    """Which of its two roles the policy played when it wrote a sample."""

    PLAYER = "player"
    DESIGNER = "designer"


@dataclass(frozen=True)
class Sample:
    """One trained token sequence. All arrays have the shape (tokens,) and must not be written to."""

    id: str
    """Unique in the batch: `c0004-s003/r0017-p002` for a play, `c0004-s003/design` for a program."""
    role: SampleRole
    group: str
    """Environment id, `c0004-s003`: player advantages are z-scores within it."""
    token_ids: NDArray[np.int32]
    """Prompt and everything after it."""
    loss_mask: NDArray[np.bool_]
    """True on trained tokens: those that the policy drew, end-of-turn tokens included; index 0 is always False."""
    log_probs: NDArray[np.float32]
    """log_probs[i]: log-probability of token_ids[i] as the engine drew it; 0 where loss_mask is False."""
    prompt_tokens: int
    """Tokens before the first drawn one."""
    advantage: float
    """Applied to every trained token (method.md §5.2, §5.5)."""
    temperature: float
    """The learner divides logits by this (switch logProbTemperature)."""
    denominator_tokens: int
    """What the sample's summed token loss is divided by: trained tokens of its episode, at least 1 (method.md §8.3)."""
    policy_version: int
    """Version that drew the tokens; with several, the oldest."""

    @property
    def tokens(self) -> int:
        """Length of the sequence."""
        return int(self.token_ids.shape[0])


@dataclass(frozen=True)
class Batch:
    """Everything that one optimiser step consumes."""

    rollout: int
    policy_version: int
    """Version before the step; the step makes the next one."""
    samples: tuple[Sample, ...]
    """May be empty when every episode was masked: then the step changes nothing."""
    denominator: float
    """The sum over samples of (summed token loss / denominator_tokens) is divided by this (switch batchDenominator)."""
    designer_cycles: tuple[int, ...]
    """Cycles whose designer samples are in this batch; goes into the step manifest."""
    designer_reward_mean: float | None
    """Mean reward of those designer samples; None without any."""
    samples_sha256: str
    """Digest of all the above that shapes the step (`samples_digest`)."""

    @property
    def player_samples(self) -> int:
        """Number of player samples."""
        return sum(sample.role is SampleRole.PLAYER for sample in self.samples)

    @property
    def designer_samples(self) -> int:
        """Number of designer samples."""
        return sum(sample.role is SampleRole.DESIGNER for sample in self.samples)

    @property
    def tokens(self) -> int:
        """Tokens of all samples, prompts included."""
        return sum(sample.tokens for sample in self.samples)


def samples_digest(samples: Iterable[Sample], denominator: float) -> str:
    """SHA-256 over the samples in their order and the batch denominator; floats enter by their bits."""
    digest = hashlib.sha256(np.float64(denominator).tobytes())
    for sample in samples:
        head = [sample.id, sample.role, sample.group, sample.tokens, sample.prompt_tokens]
        head += [sample.denominator_tokens, sample.policy_version]
        digest.update(json.dumps(head).encode())
        digest.update(np.array([sample.advantage, sample.temperature], dtype="<f8").tobytes())
        digest.update(sample.token_ids.astype("<i4").tobytes())
        digest.update(sample.loss_mask.astype("u1").tobytes())
        digest.update(sample.log_probs.astype("<f4").tobytes())
    return digest.hexdigest()
