"""EnvBatch: the environments of one cycle of a run, or a pool of existing programs that is only verified."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints

from spade_contracts.base import Document
from spade_contracts.canaries import MAX_KEYS
from spade_contracts.config.environments import Domain
from spade_contracts.config.partial import given, partial
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import VerificationSettings
from spade_contracts.resources.columns import AGE, Column, condition_path
from spade_contracts.resources.conditions import Condition
from spade_contracts.resources.pods import PodSettings
from spade_contracts.resources.reasons import BatchCondition
from spade_contracts.resources.run_parts import MAX_TTL_SECONDS, BootId, Images, Restarts, SandboxSpec, Suspend
from spade_contracts.resources.scalars import Count, Figure, Moment, ObjectName, Position, Uri

if TYPE_CHECKING:

    class VerificationPatch(Document):
        """All optional fields of VerificationSettings."""

else:
    VerificationPatch = partial(VerificationSettings)

COLUMNS = (
    Column("Run", ".spec.run", description="Empty: stand-alone"),
    Column("Cycle", ".spec.cycle", "integer"),
    Column("Rollout", ".spec.rollout", "integer", "That a top-up is for", wide=True),
    Column("Requested", ".status.requested", "integer", "Slots, or programs found"),
    Column("Attempts", ".status.attempts", "integer", "Answers or programs judged"),
    Column("Accepted", ".status.accepted", "integer", "Programs accepted"),
    Column("Valid", ".status.validPerAttempt", description="Accepted per attempt"),
    Column("Seconds", ".status.seconds", description="Seconds of work"),
    Column("Complete", condition_path(BatchCondition.COMPLETE)),
    Column("Doing", ".status.doing", description="What a stand-alone batch is at"),
    Column("Failed", condition_path(BatchCondition.FAILED), wide=True),
    Column("Isolated", condition_path(BatchCondition.ISOLATED), description="Of a stand-alone batch", wide=True),
    Column("Mutation", ".status.mutationScores.median", description="Median mutation score", wide=True),
    Column("Diversity", ".status.diversity", description="Of the accepted programs", wide=True),
    Column("Rejected", ".status.rejected", description="By stage and reason", wide=True),
    Column("Canaries", ".status.canaries", description="Known programs judged, and the gate's errors", wide=True),
    Column("Cost", ".status.endpointCost", description="Of endpoints that design or write hints", wide=True),
    Column("Storage", ".status.storageUri", wide=True),
    AGE,
)


class ProgramSource(Document):
    """Existing programs, and what they are."""

    programs: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """`file:///storage/PATH`, as the pods see the claim: a folder of `*.py`, one such file, or a JSONL or Parquet file
    with a column `program`."""
    domain: Domain = Domain.GAMES
    """Kind of programs."""


class BatchStorage(Document):
    """Where a stand-alone batch finds its programs and leaves its verdicts."""

    claim_name: ObjectName
    """An existing PersistentVolumeClaim of the namespace. It is mounted at /storage and never deleted."""


class EnvBatchSpec(Document):
    """What is wanted: one cycle of a run (`run`; the operator makes it), or verdicts on existing programs (`source`).

    Only suspend, retry, restarts, ttlSecondsAfterFinished, pods and the size of the sandbox pool may change.
    """

    run: ObjectName | None = None
    """The SpadeRun in this namespace. Immutable."""
    cycle: int | None = Field(default=None, ge=0, le=1_000_000)
    """Which cycle of the run. Immutable."""
    rollout: int | None = Field(default=None, ge=1, le=1_000_000)
    """The rollout before which the cycle's empty slots are designed again. Left out, the cycle itself is designed.
    Immutable."""
    policy_version: int | None = Field(default=None, ge=0, le=1_000_000)
    """The designer's version. Immutable."""
    workers: int = Field(default=1, ge=1, le=256)
    """Pods of the Job. Immutable."""
    source: ProgramSource | None = None
    """Programs to verify without a run. Immutable."""
    verification: VerificationPatch | None = None
    """The gate; its defaults fill what is left out. Only with source. Immutable."""
    storage: BatchStorage | None = None
    """The claim that holds the programs. Only with source, which needs it. Immutable."""
    sandbox: SandboxSpec | None = None
    """The sandbox pool. Only with source; limits are immutable, the rest may change any time."""
    pod: PodSettings | None = None
    """Settings of the worker pods. Only with source; a change takes hold with the Job's next attempt."""
    restarts: int | None = Field(default=None, ge=0, le=100)
    """Lost worker pods in one Job before it fails; 5 when left out. Only with source."""
    suspend: Suspend | None = None
    """AtBoundary lets work that has begun end and begins none, Now gives the pods back at once. Only with source."""
    retry: int | None = Field(default=None, ge=0, le=1000)
    """Raise it to try a failed batch again. Only with source."""
    ttl_seconds_after_finished: int | None = Field(default=None, ge=0, le=MAX_TTL_SECONDS)
    """Delete the batch so long after it is Complete or Failed; left out, never. Its verdicts stay in the claim. Only
    with source."""

    def settings(self) -> VerificationSettings:
        """The gate's settings for the programs of `source`."""
        return VerificationSettings.model_validate(given(self.verification))

    def limits(self) -> SandboxLimits:
        """What one program may use."""
        return SandboxLimits.model_validate(given(self.sandbox.limits) if self.sandbox is not None else {})


class MutationScores(Document):
    """Distribution of the mutation scores of the programs that have one; decimals, three digits."""

    programs: Count
    """Programs with a score."""
    mean: Figure
    """Mean."""
    minimum: Figure
    """Lowest."""
    lower_quartile: Figure
    """A quarter of the programs has at most this."""
    median: Figure
    """Median."""
    upper_quartile: Figure
    """A quarter of the programs has at least this."""
    maximum: Figure
    """Highest."""


class EnvBatchStatus(Document):
    """What is."""

    observed_generation: Count = 0
    """Generation of the spec this status is of."""
    doing: str = Field(default="", max_length=256)
    """What a stand-alone batch is at, in words."""
    requested: Count | None = None
    """Slots, of a top-up those that were empty; of a stand-alone batch, programs found."""
    attempts: Count | None = None
    """Designer answers, or programs, judged."""
    accepted: Count | None = None
    """Programs accepted."""
    rejected: dict[str, Count] = Field(default={}, max_length=256)
    """By `stage/reason`."""
    without_solution: Count = 0
    """Accepted programs whose own solution cannot be replayed; they were judged without it."""
    kept: Count = 0
    """Environments of an earlier cycle that are played again, because no program was accepted."""
    kept_from: Position | None = None
    """That cycle."""
    canaries: dict[str, Count] = Field(default={}, max_length=MAX_KEYS)
    """Known programs that the gate was tried on, and its errors: `good`, `bad`, `false_accepts/STAGE`,
    `false_rejects/STAGE`."""
    valid_per_attempt: Figure | None = None
    """accepted / attempts; decimal, three digits."""
    mutation_scores: MutationScores | None = None
    """How well the programs' verifiers tell mutants from the original."""
    diversity: Figure | None = None
    """Vendi score of the accepted programs over their number; decimal, three digits."""
    seconds: Figure | None = None
    """Seconds of work."""
    tokens: Count | None = None
    """Tokens generated."""
    endpoint_requests: Count | None = None
    """Requests to OpenAI-compatible endpoints, failed tries included."""
    endpoint_cost: Figure | None = None
    """Cost of them by the prices of the settings, in their currency; decimal, six digits."""
    storage_uri: Uri | None = None
    """Where programs and verdicts lie, as the pods see it."""
    job_attempt: Position = 0
    """Number in the Job's name."""
    admitted: dict[str, BootId] = Field(default={}, max_length=1000)
    """Sandbox pods of a stand-alone batch that passed the probe, of a large pool the first twelve by name: pod name →
    boot id."""
    restarts: dict[str, Restarts] = Field(default={}, max_length=8)
    """Of a stand-alone batch, by role."""
    quiet_since: Moment | None = None
    """RFC 3339 time since which the stand-alone batch's pool is larger than its demand."""
    images: Images | None = None
    """Images that the pods of a stand-alone batch were started with; it keeps them until they are given back."""
    handled_retry: Position = 0
    """spec.retry that was acted on."""
    started_at: Moment | None = None
    """RFC 3339."""
    finished_at: Moment | None = None
    """RFC 3339."""
    conditions: tuple[Condition, ...] = Field(default=(), max_length=8)
    """The truth."""
