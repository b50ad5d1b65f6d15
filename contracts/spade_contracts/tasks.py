"""What the operator asks of a Job's pod.

A task is the value of the pod's `spade.dev/task` annotation, mounted as a file.
Tasks are small: the method's settings are in run.json. Re-running a finished task changes nothing.
"""

from typing import Annotated, Literal

from pydantic import Field

from spade_contracts.base import Contract
from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import VerificationSettings

TASK_PATH = "/etc/spade/task/task.json"
JUDGE_KEY = "SPADE_JUDGE_API_KEY"
"""Variable with the key of the model judge's endpoint."""
DESIGNER_KEY = "SPADE_DESIGNER_API_KEY"
"""Variable with the key of the endpoint that designs (environments.designer.endpoint)."""
HINTS_KEY = "SPADE_HINTS_API_KEY"
"""Variable with the key of the endpoint that writes hints (environments.hints.endpoint)."""
ENDPOINT_KEYS = (JUDGE_KEY, DESIGNER_KEY, HINTS_KEY)
"""Variables of ours that a run fills from its own Secrets."""
TOKENS_PATH = "/etc/spade/tokens"
STAGING = "SPADE_STAGING"
"""Variable with the folder for copies of what lies in S3; unset: one below TMPDIR."""


class RunRef(Contract):
    """Which run, or stand-alone EnvBatch, a process works for, and where its storage is."""

    namespace: str
    name: str
    """Of the family: a stand-alone EnvBatch `pool` is `pool-batch`."""
    uid: str
    storage_uri: str
    """fsspec URI of the run's folder, such as `file:///storage/default/mini`."""


class OriginTask(Contract):
    """The run whose policy a run starts from."""

    run: str
    storage_uri: str
    """Its folder, as this pod sees it."""
    policy_version: int | None = None
    """The version that the spec names; None: the newest."""
    newest: int | None = None
    """The newest version that its engines were proven at; None: not known, the newest in its storage counts."""


class PrepareTask(Contract):
    """Check storage, resolve the model into policies/0000, check the corpus, write run.json."""

    kind: Literal["prepare"] = "prepare"
    run: RunRef
    model_uri: str
    """Empty when the model is a policy of another run."""
    revision: str | None = None
    """Commit of a model of the hub."""
    origin: OriginTask | None = None
    method: MethodConfig


class CleanupTask(Contract):
    """Delete the run's folder in run storage."""

    kind: Literal["cleanup"] = "cleanup"
    run: RunRef


class DesignTask(Contract):
    """Design, verify and hint the environments of one cycle, or top it up."""

    kind: Literal["design"] = "design"
    run: RunRef
    cycle: int
    rollout: int | None = None
    """The rollout that the cycle is topped up for; None: all of the cycle is designed."""
    policy_version: int
    attempt: int
    """Attempt of the Job; part files carry it."""
    workers: int
    engine_host: str
    """DNS name whose A records are the ready engines."""
    sandbox_host: str
    """DNS name whose A records are the ready sandbox pods."""


class PlayTask(Contract):
    """Play all environments of a rollout."""

    kind: Literal["play"] = "play"
    run: RunRef
    rollout: int
    cycle: int
    policy_version: int
    attempt: int
    workers: int
    episodes: int = Field(default=128, ge=1)
    """Episodes that one worker has under way at once."""
    engine_host: str
    sandbox_host: str


class VerifyTask(Contract):
    """Verify existing programs. There is no run.json here, so settings and limits are in the task."""

    kind: Literal["verify"] = "verify"
    run: RunRef
    programs_uri: str
    """Folder of `*.py`, one such file, or a JSONL or Parquet file with a column `program`."""
    domain: Domain
    settings: VerificationSettings
    limits: SandboxLimits
    attempt: int
    """Attempt of the Job; part files carry it."""
    workers: int
    sandbox_host: str
    """DNS name whose A records are the ready sandbox pods."""


Task = Annotated[PrepareTask | CleanupTask | DesignTask | PlayTask | VerifyTask, Field(discriminator="kind")]


class LearnerTask(Contract):
    """What a learner pod is started with; all else is in run.json."""

    run: RunRef
    attempt: int
    nodes: int
    ranks_per_node: int
    rdma: bool = False
    """Whether its nodes talk through RDMA devices, which need memory that stays in place."""
    colocated: bool = False
    """Whether each pod has an engine too, which sleeps while the learner computes."""
    keep_policies: int = Field(default=3, ge=2)
    """Newest exported policies that pruning leaves, policy 0 always."""
    keep_checkpoints: int = Field(default=2, ge=1)
    """Newest checkpoints that pruning leaves."""
    keep_episodes: int | None = Field(default=None, ge=1)
    """Newest rollouts whose episodes pruning leaves; None: all."""


class EngineTask(Contract):
    """What an engine pod is started with."""

    run: RunRef
    args: dict[str, str] = {}
    """Extra vLLM arguments, `name: value`, from the run's spec."""
    colocated: bool = False
    """Whether it shares its devices with the learner, and must be able to sleep."""
