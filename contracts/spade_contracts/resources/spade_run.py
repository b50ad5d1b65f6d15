"""SpadeRun: one run of the method, from a model to trained policies."""

from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from spade_contracts.base import Document
from spade_contracts.canaries import MAX_KEYS
from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import given
from spade_contracts.resources import colocation
from spade_contracts.resources.columns import AGE, Column
from spade_contracts.resources.conditions import Condition
from spade_contracts.resources.run_parts import (
    MAX_TTL_SECONDS,
    BootId,
    EngineSpec,
    EnvironmentsPatch,
    HistorySpec,
    Images,
    LearnerSpec,
    Model,
    Placement,
    PlayPatch,
    Restarts,
    RetentionSpec,
    RewardsPatch,
    SandboxSpec,
    StorageSpec,
    Suspend,
    SwitchesPatch,
    WorkersSpec,
)
from spade_contracts.resources.scalars import Count, Figure, Moment, Position, QueueName, Uri

COLUMNS = (
    Column("Phase", ".status.phase", description="What the run is at; conditions carry the truth"),
    Column("Rollout", ".status.rollout", "integer", "Rollout in work; at least Of when complete"),
    Column("Of", ".spec.rollouts", "integer", "Rollouts wanted"),
    Column("Policy", ".status.policyVersion", "integer", "Version that all engines are proven at"),
    Column("Learnable", ".status.learnableFraction", description="Share of environments of middling difficulty"),
    Column("Return", ".status.meanReturn", description="Mean unhinted return of the latest rollout"),
    Column("Doing", ".status.doing", description="What is happening now"),
    Column("Cycle", ".status.cycle", "integer", "Cycle in work", wide=True),
    Column("Failures", ".status.verifierFailures", description="Verifiers shown wrong in play, by reason", wide=True),
    Column("Cost", ".status.endpointCost", description="Of endpoints that design or write hints", wide=True),
    Column("Storage", ".status.storageUri", description="Where the results lie", wide=True),
    AGE,
)


class Phase(StrEnum):
    """For people; conditions carry the truth."""

    PENDING = "Pending"
    PREPARING = "Preparing"
    STARTING = "Starting"
    DESIGNING = "Designing"
    PLAYING = "Playing"
    TRAINING = "Training"
    PROVING = "Proving"
    SUSPENDED = "Suspended"
    COMPLETE = "Complete"
    FAILED = "Failed"


class SpadeRunSpec(Document):
    """What is wanted. The method's part is immutable; suspend, rollouts, replicas, history may change any time."""

    profile: Profile = Profile.CORRECTED
    """Defaults of every method setting. Immutable."""
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Root of every random draw. Immutable."""
    model: Model
    """Policy 0. Immutable."""
    rollouts: int = Field(ge=1, le=100000)
    """Rollouts to train; may grow."""
    environments: EnvironmentsPatch | None = None
    """Environments of a cycle. Immutable."""
    play: PlayPatch | None = None
    """Plays of a rollout. Immutable."""
    rewards: RewardsPatch | None = None
    """Returns and credit. Immutable."""
    switches: SwitchesPatch | None = None
    """Named differences between the profiles. Immutable."""
    placement: Placement = Placement.DISAGGREGATED
    """Where engines run; may change while suspended or failed."""
    learner: LearnerSpec = LearnerSpec()
    """The learner."""
    engine: EngineSpec = EngineSpec()
    """The engines."""
    sandbox: SandboxSpec = SandboxSpec()
    """The sandbox pool."""
    workers: WorkersSpec = WorkersSpec()
    """Worker Jobs."""
    storage: StorageSpec = StorageSpec()
    """Run storage. Immutable, except onDelete and stagingSize."""
    suspend: Suspend = Suspend.NEVER
    """AtBoundary gives the pods back after the rollout in work, Now at once."""
    queue_name: QueueName | None = None
    """LocalQueue of Kueue in the run's namespace: no pod is made before Kueue admits the run, as a whole. May change
    while suspended or failed."""
    retry: int = Field(default=0, ge=0, le=1000)
    """Raise it to try a failed run again."""
    history: HistorySpec = HistorySpec()
    """Objects kept."""
    ttl_seconds_after_finished: int | None = Field(default=None, ge=0, le=MAX_TTL_SECONDS)
    """Delete the run so long after it is Complete or Failed; left out, never. Its storage stays, unless
    storage.onDelete says otherwise. May change any time."""
    retention: RetentionSpec = RetentionSpec()
    """Storage kept; a change takes hold when the learner starts next."""

    @model_validator(mode="after")
    def _fits_into_its_pods(self) -> "SpadeRunSpec":
        colocation.check(self.placement, self.learner, self.engine)
        return self

    def method(self) -> MethodConfig:
        """The resolved settings. Raises InvalidInput that names the field and what to write."""
        patch: dict[str, Any] = {
            "environments": given(self.environments),
            "play": given(self.play),
            "rewards": given(self.rewards),
            "switches": given(self.switches),
            "limits": given(self.sandbox.limits),
            "learner": {
                "ranks": self.learner.nodes * self.learner.ranks_per_node,
                "parallelism": self.learner.parallelism.model_dump(by_alias=False),
                "optimizer": given(self.learner.optimizer),
                "loss": given(self.learner.loss),
            },
        }
        if self.seed is not None:
            patch["seed"] = self.seed
        if self.learner.checkpoint_every is not None:
            patch["learner"]["checkpoint_every"] = self.learner.checkpoint_every
        return resolve(self.profile, patch)


class RolloutFigures(Document):
    """What one rollout came to; the latest few are kept in status."""

    rollout: Position
    """Which."""
    cycle: Position
    """Its cycle."""
    environments: Count
    """Environments that its cycle has had by then, those that are played no more too."""
    outcomes: dict[str, Count] = Field(max_length=8)
    """Episodes by outcome."""
    learnable_fraction: Figure | None = None
    """Decimal, three digits."""
    mean_return: Figure | None = None
    """Decimal, three digits."""
    loss: Figure | None = None
    """Decimal."""
    gradient_norm: Figure | None = None
    """Decimal."""
    stage_seconds: dict[str, Figure] = Field(default={}, max_length=12)
    """Seconds by stage: design, play, train, prove, and the gaps between."""
    proof: Figure | None = None
    """Worst result of the weight proofs of the policy it made."""


class LearnableBaseline(Document):
    """What the learnable fraction usually is where the same skills are trained."""

    mean: Figure
    """Decimal, three digits; later rollouts weigh more once there are many."""
    rollouts: Count
    """How many it is of."""


class SpadeRunStatus(Document):
    """What is."""

    phase: Phase = Phase.PENDING
    """For people."""
    observed_generation: Count = 0
    """Generation of the spec this status is of."""
    rollout: Position = 0
    """Rollout in work; spec.rollouts when complete, or more if kept storage held more."""
    cycle: Position = 0
    """Cycle in work."""
    policy_version: Position | None = None
    """Version that all engines were proven at last."""
    learnable_fraction: Figure | None = None
    """Of the latest rollout; decimal, three digits."""
    learnable_baseline: Figure | None = None
    """Of the rollouts before it that trained the same skills; absent until there are four of them."""
    learnable_baselines: dict[str, LearnableBaseline] = Field(default={}, max_length=64)
    """Set of skills, by the number of its first one → what is known of its rollouts."""
    mean_return: Figure | None = None
    """Of the latest rollout; decimal, three digits."""
    hint_regret: str | None = None
    """Of the latest rollout with hinted plays; decimal, three digits."""
    hint_regret_standard_error: Figure | None = None
    """Of that mean over environments; decimal, three digits. Absent where it is not known."""
    doing: str = Field(default="", max_length=256)
    """What is happening now, in words."""
    verifier_failures: dict[str, Count] = Field(default={}, max_length=32)
    """Counts by reason, over the run."""
    episodes: dict[str, Count] = Field(default={}, max_length=16)
    """Counts by `outcome` and `outcome/hinted`, over the run."""
    prefix_checks: dict[str, Count] = Field(default={}, max_length=8)
    """Episodes by how the chat template's rendering compares with the tokens that are trained, over the run."""
    environments: dict[str, Count] = Field(default={}, max_length=256)
    """Designer attempts by `accepted` or `stage/reason`, over the run."""
    canaries: dict[str, Count] = Field(default={}, max_length=MAX_KEYS)
    """Known programs that the gate was tried on, and its errors, over the run: `good`, `bad`, `false_accepts/STAGE`,
    `false_rejects/STAGE`."""
    kept_cycles: Count = 0
    """Cycles that played the environments of an earlier one again, because no program was accepted."""
    endpoint_requests: Count = 0
    """Requests of finished cycles to endpoints that design or write hints, failed tries included."""
    endpoint_cost: Figure | None = None
    """Cost of them by the prices of the settings, in their currency; decimal, six digits. Absent before any."""
    corpus: dict[str, Count] = Field(default={}, max_length=16)
    """Rows of the corpus: `documents`, and those left out by reason."""
    proofs: dict[str, Count] = Field(default={}, max_length=8)
    """Weight proofs by result, over the run."""
    rollouts: tuple[RolloutFigures, ...] = Field(default=(), max_length=8)
    """The latest rollouts."""
    stage_started: dict[str, Moment] = Field(default={}, max_length=12)
    """Stage of the rollout in work → RFC 3339 time it started or ended."""
    restarts: dict[str, Restarts] = Field(default={}, max_length=8)
    """By role."""
    learner_attempt: Position = 0
    """Number in the learner Job's name."""
    admitted: dict[str, BootId] = Field(default={}, max_length=1000)
    """Sandbox pods that passed the probe, of a large pool the first twelve by name: pod name → boot id."""
    engine_restarts_seen: dict[str, Count] = Field(default={}, max_length=1000)
    """Engine pods that were counted, of many the twelve that were restarted most: pod name → restarts of its container
    that the budget has seen."""
    quiet_since: Moment | None = None
    """RFC 3339 time since which the pool is larger than its demand."""
    handled_retry: Position = 0
    """spec.retry that was acted on."""
    images: Images | None = None
    """Images that its pods were started with last. The run keeps them until its pods are given back, whatever images
    the installation has by then."""
    storage_uri: Uri | None = None
    """Where the results lie, as the pods see it."""
    started_at: Moment | None = None
    """RFC 3339."""
    finished_at: Moment | None = None
    """RFC 3339."""
    conditions: tuple[Condition, ...] = Field(default=(), max_length=16)
    """The truth."""
