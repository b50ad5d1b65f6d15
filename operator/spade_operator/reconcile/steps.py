"""What a policy may want: actions, conditions, status fields, counted restarts, and when to be asked again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spade_contracts.labels import Role
from spade_contracts.resources import BatchCondition, ConditionStatus, Phase, Reason, RunCondition
from spade_contracts.statuses import LearnerTarget
from spade_operator.children.manifests import Manifest
from spade_operator.records import DeploymentRecord, PodRecord, Record, RunRecord, WorkloadRecord


@dataclass(frozen=True)
class Create:
    """Create an object that is never changed afterwards; one of that name that exists is left as it is."""

    manifest: Manifest


@dataclass(frozen=True)
class Apply:
    """Server-side apply to the family's child of that name, made if there is none; never to an object of others."""

    manifest: Manifest


@dataclass(frozen=True)
class Remove:
    """Delete exactly this object; pods with an explicit grace."""

    record: Record
    grace_seconds: int | None = None
    unchanged: bool = False
    """Only if it is still the version that was decided on."""


@dataclass(frozen=True)
class Scale:
    """Set the number of a Deployment's pods, and leave what they are alone."""

    deployment: DeploymentRecord
    replicas: int


@dataclass(frozen=True)
class HoldStorage:
    """Set, or take away, the finalizer that keeps a run until its folder in run storage is gone."""

    run: RunRecord
    holds: bool


@dataclass(frozen=True)
class Admit:
    """Set a sandbox pod's readiness gate for this boot."""

    pod: PodRecord
    boot_id: str


@dataclass(frozen=True)
class SetDeletionCost:
    """Let the ReplicaSet remove cheaper pods first."""

    pod: PodRecord
    cost: int


@dataclass(frozen=True)
class SetTarget:
    """Tell the learner which policy version to make and which engines to prove it in."""

    pod: PodRecord
    boot_id: str
    target: LearnerTarget
    engine_boots: tuple[str, ...]


@dataclass(frozen=True)
class FetchLog:
    """Read the last lines of a container that ended, before its pod goes."""

    pod: PodRecord
    container: str
    restarts: int
    previous: bool


@dataclass(frozen=True)
class WorkloadMark:
    """A condition of a Workload."""

    type: str
    holds: bool
    reason: str
    message: str


@dataclass(frozen=True)
class MarkWorkload:
    """Set conditions of a run's Workload, if it is still the version that was decided on."""

    workload: WorkloadRecord
    marks: tuple[WorkloadMark, ...]
    gives_back: bool = False
    """Its reservation of quota ends too."""


Action = Create | Apply | Scale | HoldStorage | Remove | Admit | SetDeletionCost | SetTarget | FetchLog | MarkWorkload


@dataclass(frozen=True)
class Wanted:
    """A condition as a policy wants it; its times are filled in when the steps are joined."""

    type: RunCondition | BatchCondition
    status: ConditionStatus
    reason: Reason
    message: str = ""


def is_true(kind: RunCondition | BatchCondition, reason: Reason, message: str = "") -> Wanted:
    """The condition holds."""
    return Wanted(kind, ConditionStatus.TRUE, reason, message)


def is_false(kind: RunCondition | BatchCondition, reason: Reason, message: str = "") -> Wanted:
    """The condition does not hold."""
    return Wanted(kind, ConditionStatus.FALSE, reason, message)


def known_reason(written: str, otherwise: Reason) -> Reason:
    """The reason of a condition that was written before; what a newer operator wrote may be none of ours."""
    return Reason(written) if written in set(Reason) else otherwise


@dataclass(frozen=True)
class Step:
    """What one policy wants of this pass."""

    actions: tuple[Action, ...] = ()
    """Done in this order, after those of earlier policies."""
    conditions: tuple[Wanted, ...] = ()
    """Its own only."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Fields of SpadeRunStatus, or of a stand-alone EnvBatchStatus, that get new values."""
    restarts: Mapping[Role, int] = field(default_factory=dict)
    """Pods or groups lost, to be counted with this pass's status write."""
    phase: Phase | None = None
    doing: str = ""
    blocks: bool = False
    """Later policies wait for this one."""
    wake_after_seconds: float | None = None
    """None: only an event brings the run back."""
    disruptions: Mapping[Role, int] = field(default_factory=dict)
    """Pods or groups lost by what no budget pays for: they are counted in the total only."""
