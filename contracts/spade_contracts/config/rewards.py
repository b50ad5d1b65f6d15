"""Returns and credit (method.md §5)."""

from enum import StrEnum

from pydantic import Field, model_validator

from spade_contracts.base import Document


class RewardVariant(StrEnum):
    """What the designer is paid for (method.md §5.4)."""

    BLEND = "Blend"
    """Weighted sum of plateau, hint regret, micro learning potential and frontier."""
    REGRET = "Regret"
    """Hinted mean return minus the mean of all unhinted returns of the window, never below 0."""
    LEARNING_POTENTIAL = "LearningPotential"
    """Distance of the mean return from the slow average of its skill."""
    MICRO_LP = "MicroLp"
    """Gain from the early to the late half of the window, never below 0."""
    SOLVE_RATE = "SolveRate"
    """The blend with plateauWeight 1 and regretWeight 0."""


WINDOW_VARIANTS = frozenset({RewardVariant.BLEND, RewardVariant.MICRO_LP, RewardVariant.SOLVE_RATE})
"""Variants that say nothing before a window is complete."""


class MicroLpEstimator(StrEnum):
    """How the gain within a window is measured."""

    SLOPE = "Slope"
    """End minus start of a straight line through the means of the rollouts, weighted by their plays."""
    HALVES = "Halves"
    """Mean of the late half minus mean of the early half; an odd window's middle rollout is late."""


class Centring(StrEnum):
    """Whose mean is taken off a designer's reward."""

    SKILL = "Skill"
    """That of the environments of the same skill and cycle."""
    BATCH = "Batch"
    """That of all environments of the cycle."""


class NegativeBlends(StrEnum):
    """What happens to designs whose blend is below 0."""

    MASKED = "Masked"
    """They are not trained, and their blend enters no mean."""
    TRAINED = "Trained"
    """They are trained like others."""


class PlayerNormalisation(StrEnum):
    """How returns become a player's advantages (method.md §5.2)."""

    Z_SCORE = "ZScore"
    """Over the plays of an environment in one rollout: minus the mean, divided by the deviation."""
    EMA_BASELINE = "EmaBaseline"
    """Minus a moving average of the environment's earlier means; not divided."""


class PlateauConfig(Document):
    """1 between low and high, falling to 0 over ramp on both sides (method.md §5.4)."""

    low: float = Field(ge=-1, le=1)
    """Lower edge of the plateau."""
    high: float = Field(ge=-1, le=1)
    """Upper edge of the plateau."""
    ramp: float = Field(gt=0, le=2)
    """Width of each slope."""

    @model_validator(mode="after")
    def _ordered(self) -> "PlateauConfig":
        if self.low > self.high:
            raise ValueError(f"low ({self.low}) is above high ({self.high}); write the smaller value as low")
        return self


class MicroLpConfig(Document):
    """Micro learning potential: what players gain within a window (method.md §5.4)."""

    weight: float = Field(ge=0, le=10)
    """Weight in the blend."""
    scale: float = Field(gt=0, le=10)
    """Gain that counts as full."""
    signed: bool
    """Whether a loss counts as negative; else it counts as 0. The variant MicroLp counts it as 0 in any case."""
    estimator: MicroLpEstimator
    """How the gain is measured in the blend; the variant MicroLp always takes halves."""


class FrontierConfig(Document):
    """Squared distance of the win rate from one half, taken off the blend (method.md §5.4)."""

    weight: float = Field(ge=0, le=10)
    """Weight in the blend."""
    scale: float = Field(gt=0, le=10)
    """Squared distance that counts as full."""


class LearningPotentialConfig(Document):
    """Moving averages of a skill's mean return. Only the variant LearningPotential reads this (method.md §5.4)."""

    fast: float = Field(gt=0, le=1)
    """Weight of the newest window in the fast average."""
    slow: float = Field(gt=0, le=1)
    """Weight of the newest window in the slow average, whose distance is paid (D15: 0.85 is hardly slow)."""
    variance_bonus: bool
    """Whether the spread of an environment's returns is paid too, most at a variance of 0.25. Other variants do not
    look at it; the Corrected profile refuses it there (D14)."""

    @model_validator(mode="after")
    def _ordered(self) -> "LearningPotentialConfig":
        if self.slow >= self.fast:
            raise ValueError(f"slow ({self.slow}) is not below fast ({self.fast}); write the smaller value as slow")
        return self


class RewardsConfig(Document):
    """The designer's reward, and the credit of both roles."""

    variant: RewardVariant
    """Which reward."""
    plateau: PlateauConfig
    """Band of wanted win rates."""
    plateau_weight: float = Field(ge=0, le=10)
    """Weight of the plateau."""
    regret_weight: float = Field(ge=0, le=10)
    """Weight of the hint regret."""
    regret_scale: float = Field(gt=0, le=10)
    """Regret that counts as full."""
    regret_floor: bool
    """Whether the regret in the blend is held between 0 and full; else it counts as it is, negative too."""
    micro_lp: MicroLpConfig
    """Gain within the window."""
    frontier: FrontierConfig
    """Distance from a win rate of one half."""
    learning_potential: LearningPotentialConfig
    """Moving averages of the skills."""
    fault_penalty: float = Field(ge=0, le=10)
    """What a program that failed in play is charged: its reward is minus this (switches stepTimeouts,
    environmentFaultCredit)."""
    negative_blends: NegativeBlends
    """What happens to designs whose blend is below 0."""
    centring: Centring
    """Whose mean is taken off a reward."""
    auto_scale: bool
    """Whether designer advantages are scaled by plays per design times cycleLength; else by 1 (method.md §5.5)."""
    designer_scale_cap: float = Field(gt=0, le=1000)
    """Cap of the designer's advantage scale (method.md §5.5)."""
    train_designer: bool
    """Whether designer samples are trained; else environments are still designed, played and scored."""
    delay_cycles: int = Field(ge=0, le=16)
    """Cycles after which designer samples are trained. 1: at the start of the next cycle, when their windows are
    complete. 0: in the rollout that designed them, by what that one says; Blend, SolveRate and MicroLp refuse it."""
    player_normalisation: PlayerNormalisation
    """How returns become a player's advantages."""
    baseline_decay: float = Field(gt=0, lt=1)
    """Weight of the old value in the moving average of EmaBaseline."""

    @model_validator(mode="after")
    def _has_a_window(self) -> "RewardsConfig":
        if self.delay_cycles == 0 and self.variant in WINDOW_VARIANTS:
            raise ValueError(
                f"variant {self.variant.value} needs a whole window of returns; write delayCycles 1 or more, or the "
                "variant Regret or LearningPotential"
            )
        return self
