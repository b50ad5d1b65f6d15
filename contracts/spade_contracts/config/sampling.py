"""How tokens are drawn from the policy."""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Document


class Thinking(StrEnum):
    """Whether a role thinks before it speaks. Models whose chat template has no `enable_thinking` ignore it."""

    OFF = "Disabled"
    """`enable_thinking` is false."""
    ON = "Enabled"
    """`enable_thinking` is true."""


class SamplingConfig(Document):
    """Sampling of one kind of generation (method.md §1.5)."""

    temperature: float = Field(gt=0, le=2)
    """Divides the logits. The learner uses the same value, unless the profile reproduces D10."""
    top_p: float = Field(gt=0, le=1)
    """Nucleus mass. The Corrected profile needs 1, because the learner cannot renormalise a cut distribution."""
    top_k: int = Field(ge=-1, le=1000)
    """Number of likeliest tokens to draw from; -1 switches it off."""
    max_new_tokens: int = Field(ge=1, le=131072)
    """Upper bound of one generation, in tokens."""
