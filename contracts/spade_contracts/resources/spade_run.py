"""SpadeRun: one run of the method, from a model to trained policies."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints

from spade_contracts.base import Document
from spade_contracts.config import (
    EnvironmentsConfig,
    LossConfig,
    MethodConfig,
    OptimizerConfig,
    ParallelismConfig,
    PlayConfig,
    RewardsConfig,
    SandboxLimits,
    Switches,
    resolve,
)
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import given, partial
from spade_contracts.resources.conditions import Condition
from spade_contracts.resources.pods import PodSettings, Quantity

if TYPE_CHECKING:

    class EnvironmentsPatch(Document):
        """All optional fields of EnvironmentsConfig."""

    class PlayPatch(Document):
        """All optional fields of PlayConfig."""

    class RewardsPatch(Document):
        """All optional fields of RewardsConfig."""

    class OptimizerPatch(Document):
        """All optional fields of OptimizerConfig."""

    class LossPatch(Document):
        """All optional fields of LossConfig."""

    class LimitsPatch(Document):
        """All optional fields of SandboxLimits."""

    class SwitchesPatch(Document):
        """All optional fields of Switches."""

else:
    EnvironmentsPatch = partial(EnvironmentsConfig)
    PlayPatch = partial(PlayConfig)
    RewardsPatch = partial(RewardsConfig)
    OptimizerPatch = partial(OptimizerConfig)
    LossPatch = partial(LossConfig)
    LimitsPatch = partial(SandboxLimits)
    SwitchesPatch = partial(Switches)


class Suspend(StrEnum):
    """Whether and when a run gives its pods back."""

    NEVER = "Never"
    AT_BOUNDARY = "AtBoundary"
    NOW = "Now"


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


class Model(Document):
    """The policy that a run starts from."""

    uri: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    """`package:tiny` (shipped with us) or `file:///path` of a Hugging Face folder in run storage."""


class LearnerSpec(Document):
    """The Megatron-core process group."""

    nodes: int = Field(default=1, ge=1, le=512)
    """Learner pods. Immutable."""
    ranks_per_node: int = Field(default=1, ge=1, le=16)
    """Processes in each pod; nodes x ranksPerNode must be divisible by the layout. Immutable."""
    parallelism: ParallelismConfig = ParallelismConfig()
    """Layout; sequence parallel follows from tensor parallel. Immutable."""
    optimizer: OptimizerPatch | None = None
    """Optimiser; the profile fills what is left out. Immutable."""
    loss: LossPatch | None = None
    """Loss; the profile fills what is left out. Immutable."""
    checkpoint_every: int | None = Field(default=None, ge=1, le=10000)
    """Rollouts between two checkpoints. Immutable."""
    pod: PodSettings = PodSettings()
    """Pod settings; may change while suspended or failed."""
    restarts: int = Field(default=3, ge=0, le=100)
    """Restarts without progress before the run fails."""


ArgName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9-]*$")]
ArgValue = Annotated[str, StringConstraints(max_length=256)]


class EngineSpec(Document):
    """vLLM engines."""

    replicas: int = Field(default=1, ge=1, le=256)
    """Engine pods. May change any time."""
    args: dict[ArgName, ArgValue] = Field(default={}, max_length=32)
    """Extra vLLM arguments without dashes, such as `max-num-seqs: "64"`."""
    pod: PodSettings = PodSettings()
    """Pod settings; may change while suspended or failed."""
    restarts: int = Field(default=3, ge=0, le=100)
    """Restarts without progress before the run fails."""


class Autoscaling(StrEnum):
    """Who sizes the sandbox pool."""

    OPERATOR = "Operator"
    EXTERNAL = "External"


class SandboxSpec(Document):
    """The gVisor pods that hold environment programs."""

    min_pods: int = Field(default=1, ge=1, le=1000)
    """Pods kept while the run has work. May change any time."""
    max_pods: int = Field(default=4, ge=1, le=1000)
    """Pods at most. May change any time."""
    sessions_per_pod: int = Field(default=32, ge=1, le=512)
    """Live programs one pod may hold."""
    quiet_seconds: int = Field(default=120, ge=0, le=86400)
    """How long demand must stay low before pods go."""
    autoscaling: Autoscaling = Autoscaling.OPERATOR
    """External leaves the Deployment's replicas alone."""
    limits: LimitsPatch | None = None
    """What one program may use. Immutable."""
    pod: PodSettings = PodSettings()
    """Pod settings; may change while suspended or failed."""
    restarts: int = Field(default=10, ge=0, le=1000)
    """Lost pods without progress before the run fails."""


class AccessMode(StrEnum):
    """Which nodes may mount run storage at once."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_WRITE_MANY = "ReadWriteMany"


class StorageSpec(Document):
    """Where run storage is: an existing claim, or one that the operator makes and keeps."""

    claim_name: str | None = Field(default=None, min_length=1, max_length=253)
    """An existing PersistentVolumeClaim of the namespace; left out, one is made and kept."""
    size: Quantity = "10Gi"
    """Size of the claim that is made."""
    storage_class_name: str | None = Field(default=None, min_length=1, max_length=253)
    """Its class; left out, the cluster's default."""
    access_mode: AccessMode = AccessMode.READ_WRITE_ONCE
    """ReadWriteMany lets a run's pods spread over nodes; ReadWriteOnce keeps them on one, and any class offers it."""


class WorkersSpec(Document):
    """Worker Jobs."""

    design: int = Field(default=1, ge=1, le=256)
    """Pods of a design Job. May change any time."""
    play: int = Field(default=1, ge=1, le=256)
    """Pods of a play Job. May change any time."""
    pod: PodSettings = PodSettings()
    """Pod settings; may change while suspended or failed."""
    restarts: int = Field(default=5, ge=0, le=100)
    """Lost worker pods in one Job before it fails."""


class HistorySpec(Document):
    """Finished children kept for reading; their results stay in storage."""

    env_batches: int = Field(default=2, ge=0, le=100)
    """EnvBatch objects kept."""
    rollout_jobs: int = Field(default=4, ge=0, le=100)
    """RolloutJob objects kept."""


class RetentionSpec(Document):
    """What run storage keeps."""

    policies: int = Field(default=3, ge=2, le=1000)
    """Newest exported policies kept, policy 0 always."""
    checkpoints: int = Field(default=2, ge=1, le=1000)
    """Newest checkpoints kept."""


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
    learner: LearnerSpec = LearnerSpec()
    """The learner."""
    engine: EngineSpec = EngineSpec()
    """The engines."""
    sandbox: SandboxSpec = SandboxSpec()
    """The sandbox pool."""
    workers: WorkersSpec = WorkersSpec()
    """Worker Jobs."""
    storage: StorageSpec = StorageSpec()
    """Run storage. Immutable."""
    suspend: Suspend = Suspend.NEVER
    """AtBoundary gives the pods back after the rollout in work, Now at once."""
    retry: int = Field(default=0, ge=0, le=1000)
    """Raise it to try a failed run again."""
    history: HistorySpec = HistorySpec()
    """Objects kept."""
    retention: RetentionSpec = RetentionSpec()
    """Storage kept."""

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

    rollout: int
    """Which."""
    cycle: int
    """Its cycle."""
    environments: int
    """Environments played."""
    outcomes: dict[str, int] = Field(max_length=8)
    """Episodes by outcome."""
    learnable_fraction: str | None = None
    """Decimal, three digits."""
    mean_return: str | None = None
    """Decimal, three digits."""
    loss: str | None = None
    """Decimal."""
    gradient_norm: str | None = None
    """Decimal."""
    stage_seconds: dict[str, str] = Field(default={}, max_length=12)
    """Seconds by stage: design, play, train, prove, and the gaps between."""
    proof: str | None = None
    """Worst result of the weight proofs of the policy it made."""


class Restarts(Document):
    """Restarts of one role: since progress (what the budget counts) and ever."""

    since_progress: int = 0
    """Since the last rollout was completed."""
    total: int = 0
    """Ever."""


class SpadeRunStatus(Document):
    """What is."""

    phase: Phase = Phase.PENDING
    """For people."""
    observed_generation: int = 0
    """Generation of the spec this status is of."""
    rollout: int = 0
    """Rollout in work; equals spec.rollouts when complete."""
    cycle: int = 0
    """Cycle in work."""
    policy_version: int | None = None
    """Version that all engines were proven at last."""
    learnable_fraction: str | None = None
    """Of the latest rollout; decimal, three digits."""
    mean_return: str | None = None
    """Of the latest rollout; decimal, three digits."""
    hint_regret: str | None = None
    """Of the latest rollout with hinted plays; decimal, three digits."""
    doing: str = Field(default="", max_length=256)
    """What is happening now, in words."""
    verifier_failures: dict[str, int] = Field(default={}, max_length=32)
    """Counts by reason, over the run."""
    episodes: dict[str, int] = Field(default={}, max_length=16)
    """Counts by `outcome` and `outcome/hinted`, over the run."""
    environments: dict[str, int] = Field(default={}, max_length=64)
    """Designer attempts by `accepted` or `stage/reason`, over the run."""
    proofs: dict[str, int] = Field(default={}, max_length=8)
    """Weight proofs by result, over the run."""
    rollouts: tuple[RolloutFigures, ...] = Field(default=(), max_length=8)
    """The latest rollouts."""
    stage_started: dict[str, str] = Field(default={}, max_length=12)
    """Stage of the rollout in work → RFC 3339 time it started or ended."""
    restarts: dict[str, Restarts] = Field(default={}, max_length=8)
    """By role."""
    learner_attempt: int = 0
    """Number in the learner Job's name."""
    admitted: dict[str, str] = Field(default={}, max_length=1000)
    """Sandbox pods that passed the probe: pod name → boot id."""
    engine_restarts_seen: dict[str, int] = Field(default={}, max_length=1000)
    """Engine pods that were counted: pod name → restarts of its container that the budget has seen."""
    quiet_since: str | None = None
    """RFC 3339 time since which the pool is larger than its demand."""
    handled_retry: int = 0
    """spec.retry that was acted on."""
    storage_uri: str | None = None
    """Where the results lie, as the pods see it."""
    started_at: str | None = None
    """RFC 3339."""
    finished_at: str | None = None
    """RFC 3339."""
    conditions: tuple[Condition, ...] = Field(default=(), max_length=16)
    """The truth."""
