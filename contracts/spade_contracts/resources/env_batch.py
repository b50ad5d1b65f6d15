"""EnvBatch: the environments of one cycle of a run."""

from pydantic import Field

from spade_contracts.base import Document
from spade_contracts.resources.conditions import Condition


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
    valid_per_attempt: str | None = None
    """accepted / attempts; decimal, three digits."""
    seconds: str | None = None
    """Seconds of work."""
    tokens: int | None = None
    """Tokens generated."""
    storage_uri: str | None = None
    """Where the programs lie."""
    job_attempt: int = 0
    """Number in the Job's name."""
    started_at: str | None = None
    """RFC 3339."""
    finished_at: str | None = None
    """RFC 3339."""
    conditions: tuple[Condition, ...] = Field(default=(), max_length=8)
    """The truth."""
