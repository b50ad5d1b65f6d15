"""Conditions carry the truth about an object; phases are for people (Kubernetes API conventions)."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Document


class ConditionStatus(StrEnum):
    """Value of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Document):
    """One aspect of an object's state, as metav1.Condition."""

    type: str = Field(min_length=1, max_length=64)
    """Which aspect."""
    status: ConditionStatus
    """Whether it holds."""
    reason: str = Field(min_length=1, max_length=64)
    """A constant of spade_contracts.resources.reasons."""
    message: str = Field(default="", max_length=2048)
    """One sentence for people: what, where, what to do."""
    last_transition_time: datetime
    """When the status changed last."""
    observed_generation: int = Field(ge=0)
    """Generation of the spec that this was decided for."""
