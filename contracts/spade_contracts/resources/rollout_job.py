"""RolloutJob: the plays of one rollout of a run."""

from pydantic import Field

from spade_contracts.base import Document
from spade_contracts.resources.columns import AGE, Column, condition_path
from spade_contracts.resources.conditions import Condition
from spade_contracts.resources.reasons import RolloutCondition
from spade_contracts.resources.scalars import Count, Figure, Moment, ObjectName, Position, Uri

COLUMNS = (
    Column("Run", ".spec.run"),
    Column("Rollout", ".spec.rollout", "integer"),
    Column("Policy", ".spec.policyVersion", "integer", "The player's version"),
    Column("Episodes", ".status.planned", "integer", "Episodes planned"),
    Column("Scored", ".status.outcomes.scored", "integer", "Episodes scored"),
    Column("Learnable", ".status.learnableFraction", description="Share of environments of middling difficulty"),
    Column("Return", ".status.meanReturn", description="Mean unhinted return"),
    Column("Seconds", ".status.seconds", description="Seconds of work"),
    Column("Complete", condition_path(RolloutCondition.COMPLETE)),
    Column("Failed", condition_path(RolloutCondition.FAILED), wide=True),
    Column("Outcomes", ".status.outcomes", description="Episodes by outcome", wide=True),
    Column("Storage", ".status.storageUri", wide=True),
    AGE,
)


class RolloutJobSpec(Document):
    """What is wanted. Immutable."""

    run: ObjectName
    """The SpadeRun in this namespace."""
    rollout: int = Field(ge=0, le=1_000_000)
    """Which rollout."""
    cycle: int = Field(ge=0, le=1_000_000)
    """Whose environments are played."""
    policy_version: int = Field(ge=0, le=1_000_000)
    """The player's version."""
    workers: int = Field(default=1, ge=1, le=256)
    """Pods of the Job."""
    episodes: int = Field(default=128, ge=1, le=512)
    """Episodes that one pod has under way at once."""


class RolloutJobStatus(Document):
    """What is."""

    observed_generation: Count = 0
    """Generation of the spec this status is of."""
    planned: Count | None = None
    """Episodes."""
    outcomes: dict[str, Count] = Field(default={}, max_length=8)
    """Episodes by outcome."""
    hinted: Count | None = None
    """Hinted episodes among them."""
    hinted_outcomes: dict[str, Count] = Field(default={}, max_length=8)
    """Those by outcome."""
    learnable_fraction: Figure | None = None
    """Decimal, three digits."""
    mean_return: Figure | None = None
    """Decimal, three digits."""
    hint_regret: str | None = None
    """Mean hint regret, when hinted plays were among them; decimal, three digits."""
    hint_regret_standard_error: Figure | None = None
    """Of that mean over environments; decimal, three digits."""
    verifier_failures: dict[str, Count] = Field(default={}, max_length=32)
    """By reason."""
    prefix_checks: dict[str, Count] = Field(default={}, max_length=8)
    """Episodes by how the chat template's rendering compares with the tokens that are trained."""
    tokens: Count | None = None
    """Tokens generated."""
    seconds: Figure | None = None
    """Seconds of work."""
    storage_uri: Uri | None = None
    """Where the episodes lie."""
    job_attempt: Position = 0
    """Number in the Job's name."""
    started_at: Moment | None = None
    """RFC 3339."""
    finished_at: Moment | None = None
    """RFC 3339."""
    conditions: tuple[Condition, ...] = Field(default=(), max_length=8)
    """The truth."""
