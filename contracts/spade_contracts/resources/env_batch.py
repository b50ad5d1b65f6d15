"""EnvBatch: the environments of one cycle of a run."""

from pydantic import Field

from spade_contracts.base import Document
from spade_contracts.resources.columns import AGE, Column, condition_path
from spade_contracts.resources.conditions import Condition
from spade_contracts.resources.pods import Figure, Moment, Uri
from spade_contracts.resources.reasons import BatchCondition

COLUMNS = (
    Column("Run", ".spec.run"),
    Column("Cycle", ".spec.cycle", "integer"),
    Column("Requested", ".status.requested", "integer", "Slots"),
    Column("Attempts", ".status.attempts", "integer", "Designer answers judged"),
    Column("Accepted", ".status.accepted", "integer", "Programs accepted"),
    Column("Valid", ".status.validPerAttempt", description="Accepted per attempt"),
    Column("Seconds", ".status.seconds", description="Seconds of work"),
    Column("Complete", condition_path(BatchCondition.COMPLETE)),
    Column("Failed", condition_path(BatchCondition.FAILED), wide=True),
    Column("Rejected", ".status.rejected", description="By stage and reason", wide=True),
    Column("Storage", ".status.storageUri", wide=True),
    AGE,
)


class EnvBatchSpec(Document):
    """What is wanted. Immutable."""

    run: str = Field(min_length=1, max_length=253)
    """The SpadeRun in this namespace."""
    cycle: int = Field(ge=0, le=1_000_000)
    """Which cycle."""
    policy_version: int = Field(ge=0, le=1_000_000)
    """The designer's version."""
    workers: int = Field(default=1, ge=1, le=256)
    """Pods of the Job."""


class EnvBatchStatus(Document):
    """What is."""

    observed_generation: int = 0
    """Generation of the spec this status is of."""
    requested: int | None = None
    """Slots."""
    attempts: int | None = None
    """Designer answers judged."""
    accepted: int | None = None
    """Programs accepted."""
    rejected: dict[str, int] = Field(default={}, max_length=64)
    """By `stage/reason`."""
    valid_per_attempt: Figure | None = None
    """accepted / attempts; decimal, three digits."""
    seconds: Figure | None = None
    """Seconds of work."""
    tokens: int | None = None
    """Tokens generated."""
    storage_uri: Uri | None = None
    """Where the programs lie."""
    job_attempt: int = 0
    """Number in the Job's name."""
    started_at: Moment | None = None
    """RFC 3339."""
    finished_at: Moment | None = None
    """RFC 3339."""
    conditions: tuple[Condition, ...] = Field(default=(), max_length=8)
    """The truth."""
