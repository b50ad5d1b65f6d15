"""The parts of a SpadeRun's spec: model, learner, engines, sandboxes, workers, storage, what is kept.

Some of them a stand-alone EnvBatch has too.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, StringConstraints

from spade_contracts.base import Document
from spade_contracts.config import (
    EnvironmentsConfig,
    LossConfig,
    OptimizerConfig,
    ParallelismConfig,
    PlayConfig,
    RewardsConfig,
    SandboxLimits,
    Switches,
)
from spade_contracts.config.partial import partial
from spade_contracts.resources.pods import PodSettings, SandboxPodSettings, without_devices
from spade_contracts.resources.s3 import S3Storage
from spade_contracts.resources.scalars import NAMES_MESSAGE, Count, ObjectName, Size

MAX_RUN_NAME = 40
"""Leaves room in 63 characters for the longest child: `-r100000-play-a10` and a pod's index."""

MAX_TTL_SECONDS = 10 * 365 * 86400

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
    """Whether and when a run, or stand-alone EnvBatch, gives its pods back."""

    NEVER = "Never"
    AT_BOUNDARY = "AtBoundary"
    NOW = "Now"


PACKAGES = ("package:tiny",)
"""Models that are shipped with us."""


class FromRun(Document):
    """A policy version of another run of the same namespace."""

    name: Annotated[str, StringConstraints(max_length=MAX_RUN_NAME, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")]
    """The SpadeRun. It may be at work, or gone if its storage is still there."""
    policy_version: int | None = Field(default=None, ge=0, le=1_000_000)
    """Which version. Left out, the newest that its engines were proven at; of a run that is gone, the newest in its
    storage. run.json records which it was."""
    claim_name: ObjectName | None = None
    """The claim that holds its storage, for a run that is gone and had named one itself."""


class Model(Document):
    """The policy that a run starts from: a model, or a policy of another run."""

    uri: Annotated[str, StringConstraints(min_length=1, max_length=1024)] | None = None
    """`package:tiny` (shipped with us); a Hugging Face folder: `file:///path`, inside the pods, where run storage is at
    /storage and volumes of `workers.pod` are below /mnt; or a model of the hub: `hf:ORGANISATION/NAME`, with
    `revision`."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$", max_length=40)] | None = None
    """Commit of a model of the hub, 40 hexadecimal digits; a branch would mean another model tomorrow. Only, and
    always, with `hf:`."""
    from_run: FromRun | None = None
    """A policy version of another run of this namespace, in place of `uri`."""


class Placement(StrEnum):
    """Where engines run."""

    DISAGGREGATED = "Disaggregated"
    """In pods of their own, with devices of their own."""
    COLOCATED = "Colocated"
    """One in each learner pod, on the same devices: it sleeps while the learner computes, which moves off while it
    plays."""


class Fabric(StrEnum):
    """The network between the nodes of a learner."""

    POD_NETWORK = "PodNetwork"
    """The cluster's pod network."""
    RDMA = "Rdma"
    """RDMA devices, which spec.learner.pod.resources asks for by a name that the installation allows."""
    HOST_RDMA = "HostRdma"
    """The same in the node's own network, where the installation allows it; no NetworkPolicy closes such pods."""


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
    fabric: Fabric = Fabric.POD_NETWORK
    """Network between its nodes; may change while suspended or failed. Rdma and HostRdma want the installation's
    consent."""
    device_claim_template: ObjectName | None = None
    """ResourceClaimTemplate of the namespace; all containers of a learner pod share the devices that it claims. May
    change while suspended or failed."""
    pod: PodSettings = PodSettings()
    """Pod settings; may change while suspended or failed."""
    restarts: int = Field(default=3, ge=0, le=100)
    """Restarts without progress before the run fails."""


ENGINE_ARGS = (
    "async-scheduling",
    "attention-backend",
    "block-size",
    "disable-custom-all-reduce",
    "disable-log-stats",
    "dtype",
    "enable-expert-parallel",
    "enable-prefix-caching",
    "enforce-eager",
    "gpu-memory-utilization",
    "kv-cache-dtype",
    "kv-cache-memory-bytes",
    "max-model-len",
    "max-num-batched-tokens",
    "max-num-seqs",
    "pipeline-parallel-size",
    "seed",
    "tensor-parallel-size",
)
"""Arguments of vLLM that change speed, memory and layout only. API server and engine refuse all others: these open
ports, load code, read other weights or change what log-probabilities mean, and vLLM grows new ones.
"""
ARG_MESSAGE = "write vLLM's argument in lower case and without dashes in front, such as max-num-seqs"
ArgName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9-]*$")]
ArgValue = Annotated[str, StringConstraints(max_length=256)]


class EngineSpec(Document):
    """vLLM engines."""

    replicas: int = Field(default=1, ge=1, le=256)
    """Engine pods. May change any time. With placement Colocated one for each of spec.learner.nodes."""
    args: dict[ArgName, ArgValue] = Field(default={}, max_length=32, json_schema_extra={NAMES_MESSAGE: ARG_MESSAGE})
    """Extra vLLM arguments without dashes, such as `max-num-seqs: "64"`."""
    pod: PodSettings = PodSettings()
    """Pod settings; may change while suspended or failed. With placement Colocated only resources, environment and
    secretEnvironment: all else is the learner pod's."""
    restarts: int = Field(default=3, ge=0, le=100)
    """Restarts without progress before the run fails. With placement Colocated learner.restarts counts instead."""


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
    spare_pods: int = Field(default=0, ge=0, le=1000)
    """Pods kept ready beyond what open and waiting sessions need, within maxPods. May change any time."""
    sessions_per_pod: int = Field(default=32, ge=1, le=512)
    """Live programs one pod may hold."""
    quiet_seconds: int = Field(default=120, ge=0, le=86400)
    """How long demand must stay low before pods go."""
    autoscaling: Autoscaling = Autoscaling.OPERATOR
    """External leaves the Deployment's replicas to others, such as a HorizontalPodAutoscaler (docs/autoscaling.md)."""
    limits: LimitsPatch | None = None
    """What one program may use. Immutable."""
    pod: Annotated[SandboxPodSettings, AfterValidator(without_devices)] = SandboxPodSettings()
    """Pod settings; may change while suspended or failed."""
    restarts: int = Field(default=10, ge=0, le=1000)
    """Lost pods without progress before the run fails."""


class AccessMode(StrEnum):
    """Which nodes may mount run storage at once."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_WRITE_MANY = "ReadWriteMany"


class OnDelete(StrEnum):
    """What becomes of a run's folder in run storage when the run is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class StorageSpec(Document):
    """Where run storage is: an existing claim, one that the operator makes and keeps, or a bucket.

    A stand-alone EnvBatch's is never deleted.
    """

    claim_name: ObjectName | None = None
    """An existing PersistentVolumeClaim of the namespace; left out, one is made and kept."""
    size: Size = "10Gi"
    """Size of the claim that is made."""
    storage_class_name: ObjectName | None = None
    """Its class; left out, the cluster's default."""
    access_mode: AccessMode = AccessMode.READ_WRITE_ONCE
    """ReadWriteMany lets a run's pods spread over nodes; ReadWriteOnce keeps them on one, and any class offers it."""
    s3: S3Storage | None = None
    """A bucket in place of a claim; size, class and access mode then mean nothing."""
    staging_size: Size = "20Gi"
    """With s3, room in each pod for copies of policies and checkpoints, as ephemeral storage: a learner's must hold
    policy 0, one more policy and one checkpoint, an engine's two policies. May change while suspended or failed."""
    on_delete: OnDelete = OnDelete.RETAIN
    """Delete empties the run's folder when the run is deleted; the claim stays. May change any time, also while the
    run is being deleted."""


class WorkersSpec(Document):
    """Worker Jobs."""

    design: int = Field(default=1, ge=1, le=256)
    """Pods of a design Job. May change any time."""
    play: int = Field(default=1, ge=1, le=256)
    """Pods of a play Job. May change any time."""
    episodes: int = Field(default=128, ge=1, le=512)
    """Episodes that one play worker has under way at once. Each holds a sandbox session and asks for at most one
    generation at a time, so play pods times this is what sandboxes and engines are asked for together. May change any
    time; a play Job that runs keeps what it began with."""
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
    """What run storage keeps. A change takes hold when the learner starts next."""

    policies: int = Field(default=3, ge=2, le=1000)
    """Newest exported policies kept, policy 0 always."""
    checkpoints: int = Field(default=2, ge=1, le=1000)
    """Newest checkpoints kept."""
    episodes: int | None = Field(default=None, ge=1, le=100000)
    """Newest rollouts whose episodes are kept, with tokens and transcripts; left out, all. Those that a replay from the
    oldest kept checkpoint needs are always kept, and so are returns and outcomes of every rollout."""


ImageName = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Images(Document):
    """Image references of the roles."""

    sandbox: ImageName
    """Sandbox pods."""
    worker: ImageName
    """Workers and the beacon."""
    trainer: ImageName
    """Learner, engine and the preparation Job."""


BootId = Annotated[str, StringConstraints(max_length=64)]


Word = Annotated[str, StringConstraints(max_length=32)]


class Restarts(Document):
    """Restarts of one role: since progress (what the budget counts) and ever."""

    since_progress: Count = 0
    """Since the last rollout was completed, or the batch was taken up by a retry."""
    total: Count = 0
    """Ever, with those that no budget pays for: preempted, drained, of a lost node."""
    last_cause: Word | None = None
    """Cause of the learner's latest loss since progress; see docs/failures.md."""
    memory_limit: Word | None = None
    """Memory limit that it ran out of, if that was the cause."""
