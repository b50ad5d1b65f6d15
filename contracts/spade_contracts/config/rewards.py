"""Returns and credit (method.md §5)."""

from enum import StrEnum

from pydantic import Field, model_validator

from spade_contracts.base import Document


class RewardVariant(StrEnum):
    """What the designer is paid for."""

    BLEND = "Blend"


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


class RewardsConfig(Document):
    """The designer's reward and its credit."""

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
    designer_scale_cap: float = Field(gt=0, le=1000)
    """Cap of the designer's advantage scale (method.md §5.5)."""
