"""Optimisation and layout (method.md §8, §9)."""

from pydantic import Field, model_validator

from spade_contracts.base import Document


class OptimizerConfig(Document):
    """Adam as Megatron runs it."""

    learning_rate: float = Field(gt=0, le=1)
    """Constant; no warm-up."""
    beta1: float = Field(ge=0, lt=1)
    """Decay of the first moment."""
    beta2: float = Field(ge=0, lt=1)
    """Decay of the second moment."""
    weight_decay: float = Field(ge=0, le=10)
    """Decoupled weight decay."""
    clip_gradient_norm: float = Field(gt=0, le=1000)
    """Gradients are scaled down to this global norm."""


class LossConfig(Document):
    """The policy loss (method.md §8.3, §8.4)."""

    clip_low: float = Field(ge=0, le=1)
    """PPO clip below 1."""
    clip_high: float = Field(ge=0, le=10)
    """PPO clip above 1."""
    importance_low: float = Field(ge=0, le=1)
    """Lower clip of the truncated importance weight."""
    importance_high: float = Field(ge=1, le=100)
    """Upper clip of the truncated importance weight."""
    kl_coefficient: float = Field(ge=0, le=10)
    """Weight of the k3 penalty against policy 0; 0 computes no reference."""
    temperature: float = Field(gt=0, le=2)
    """Divides the learner's logits with logProbTemperature: One; with Sampling each role's own does (D10)."""
    max_tokens_per_microbatch: int = Field(ge=64, le=1048576)
    """Samples are packed up to this many padded tokens; a larger one goes alone."""


class ParallelismConfig(Document):
    """How the model is spread over ranks. Sequence parallel follows from tensor parallel."""

    tensor: int = Field(default=1, ge=1, le=64)
    """Tensor parallel size; above 1 sequence parallel is on."""
    pipeline: int = Field(default=1, ge=1, le=64)
    """Pipeline parallel size."""
    context: int = Field(default=1, ge=1, le=64)
    """Context parallel size."""
    expert: int = Field(default=1, ge=1, le=256)
    """Expert parallel size."""

    @property
    def sequence(self) -> bool:
        """Whether sequence parallel is on: Megatron's MoE needs it whenever tensor parallel is above 1."""
        return self.tensor > 1


class LearnerConfig(Document):
    """What of the learner decides its numbers: part of run.json."""

    ranks: int = Field(ge=1, le=4096)
    """Processes of the learner over all nodes."""
    parallelism: ParallelismConfig
    """Layout."""
    optimizer: OptimizerConfig
    """Optimiser."""
    loss: LossConfig
    """Loss."""
    checkpoint_every: int = Field(ge=1, le=10000)
    """Rollouts between two checkpoints; a restart replays the rollouts since the last."""

    @model_validator(mode="after")
    def _layout_fits(self) -> "LearnerConfig":
        p = self.parallelism
        dense = p.tensor * p.pipeline * p.context
        if self.ranks % dense:
            raise ValueError(
                f"{self.ranks} learner ranks are not divisible by tensor x pipeline x context = {dense}; "
                "make nodes x ranksPerNode a multiple of it"
            )
        if self.ranks % (p.expert * p.pipeline):
            raise ValueError(
                f"{self.ranks} learner ranks are not divisible by expert x pipeline = {p.expert * p.pipeline}; "
                "make nodes x ranksPerNode a multiple of it"
            )
        return self
