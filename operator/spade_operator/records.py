"""What we keep of a Kubernetes object: small frozen records, never the object itself (design §6).

Whatever is missing in the API server's dictionary becomes an empty value. What of our status cannot be read is told.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from spade_contracts import labels
from spade_contracts.config import MethodConfig
from spade_contracts.errors import InvalidInput
from spade_contracts.labels import Role
from spade_contracts.resources import (
    EnvBatchSpec,
    EnvBatchStatus,
    RolloutJobSpec,
    RolloutJobStatus,
    SpadeRunSpec,
    SpadeRunStatus,
)
from spade_operator.children.names import pool_family
from spade_operator.containers import ContainerRecord, Raw, container_record, moment
from spade_operator.queueing import Standing, standing_of
from spade_operator.readings import Readings, run_spec, status_of

Model = TypeVar("Model", bound=BaseModel)
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
MAX_DIGITS = 18
JOB_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
BOOT_IN_MESSAGE = re.compile(r"\bboot ([0-9A-Za-z._-]{8,64})(?: after ([0-9]{1,6}) restarts)?$")


class Kind(StrEnum):
    """Kinds of objects that the operator reads or writes."""

    RUN = "SpadeRun"
    BATCH = "EnvBatch"
    ROLLOUT = "RolloutJob"
    POD = "Pod"
    JOB = "Job"
    DEPLOYMENT = "Deployment"
    CLAIM = "PersistentVolumeClaim"
    SECRET = "Secret"  # noqa: S105  # a kind of object, no password
    CONFIG_MAP = "ConfigMap"
    SERVICE = "Service"
    NETWORK_POLICY = "NetworkPolicy"
    WORKLOAD = "Workload"
    """Of Kueue."""


ADOPTED = (Kind.CLAIM, Kind.SECRET, Kind.CONFIG_MAP, Kind.SERVICE, Kind.NETWORK_POLICY)
"""Kinds of children that a namesake of a deleted head takes over; those of all other kinds are removed first."""


@dataclass(frozen=True)
class Meta:
    """Who an object is."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    run: str
    """The family that it belongs to: a SpadeRun's name, or that of a stand-alone EnvBatch's children."""
    run_uid: str
    """UID of the family's head."""
    owner_uid: str
    """UID of its controlling (else first) owner."""
    deleting: bool
    grace_seconds: int | None
    """Grace of its deletion, while it is being deleted."""
    created_at: datetime | None
    hash: str
    """What we last applied, by its digest."""
    foreign: bool = False
    """Whether somebody else wrote a field of its spec or data, as far as its managed fields tell."""
    role: Role | None = None
    rollout: int | None = None
    cycle: int | None = None
    topup: int | None = None
    """The rollout that an EnvBatch tops its cycle up for, on it and on what works for it."""
    holds_storage: bool = False
    """Whether our finalizer keeps it until its folder in run storage is gone."""

    @property
    def edition(self) -> str:
        """Differs when anybody changed what is wanted; status writes leave it, where the kind has generations."""
        return str(self.generation) if self.generation else self.resource_version


@dataclass(frozen=True)
class RunRecord:
    """A SpadeRun. `spec` and `method` are None exactly when `problem` says why."""

    meta: Meta
    spec: SpadeRunSpec | None
    method: MethodConfig | None
    problem: str
    status: SpadeRunStatus
    unreadable: str = ""
    """What in its status cannot be read; `status` has no more than the conditions then."""


@dataclass(frozen=True)
class BatchRecord:
    """An EnvBatch."""

    meta: Meta
    spec: EnvBatchSpec
    status: EnvBatchStatus
    unreadable: str = ""

    @property
    def alone(self) -> bool:
        """Whether it has no run: its pods, policies and tokens are its own."""
        return self.spec.source is not None


@dataclass(frozen=True)
class RolloutRecord:
    """A RolloutJob."""

    meta: Meta
    spec: RolloutJobSpec
    status: RolloutJobStatus
    unreadable: str = ""


@dataclass(frozen=True)
class PodRecord:
    """A pod of a run."""

    meta: Meta
    phase: str = ""
    ip: str = ""
    job: str = ""
    index: int | None = None
    ready: bool = False
    admitted_boot: str = ""
    """Boot id in our readiness condition, when that is True."""
    admitted_restarts: int = 0
    """Container restarts before that boot."""
    containers: tuple[ContainerRecord, ...] = ()
    reason: str = ""
    """Why the pod as a whole failed, such as Evicted."""
    message: str = ""
    unschedulable: str = ""
    disruption: str = ""
    """Reason of its condition DisruptionTarget, when that is True."""
    node: str = ""
    leaves_at: datetime | None = None
    """When it is to be gone, while it is being deleted."""
    deletion_cost: str = ""

    @property
    def live(self) -> bool:
        """Whether it runs or may still come to run."""
        return not self.meta.deleting and self.phase not in ("Succeeded", "Failed")

    @property
    def restarts(self) -> int:
        """Restarts of its containers in place."""
        return sum(container.restarts for container in self.containers)


@dataclass(frozen=True)
class JobRecord:
    """A Job of ours."""

    meta: Meta
    failed_pods: int = 0
    complete: bool = False
    failed: bool = False
    failure: str = ""
    """Reason and message of the Job controller."""
    ended_at: datetime | None = None


@dataclass(frozen=True)
class DeploymentRecord:
    """A Deployment of ours."""

    meta: Meta
    replicas: int = 0
    """Wanted pods."""
    ready: int = 0
    failure: str = ""
    """Why the API server refuses it pods, such as a quota; in its own words."""
    asked: str = ""
    """Digest of what its owner's spec asked of the pods when it was applied last."""
    template: str = ""
    """Digest of the pod template as it was applied last."""


@dataclass(frozen=True)
class ChildRecord:
    """Any other child: that it exists, and what we applied last."""

    meta: Meta
    cluster_ip: str = ""
    """Of a Service."""


@dataclass(frozen=True)
class WorkloadRecord:
    """A run's Workload."""

    meta: Meta
    asked: str
    """Digest of what the run asked for when it was made."""
    standing: Standing


Record = (
    RunRecord | BatchRecord | RolloutRecord | PodRecord | JobRecord | DeploymentRecord | ChildRecord | WorkloadRecord
)


def record_of(  # noqa: PLR0911  # one return for each kind
    kind: Kind, raw: Raw, readings: Readings | None = None, known: Callable[[Meta], Record | None] = lambda meta: None
) -> Record:
    """The record of an object. Raises InvalidInput when an EnvBatch or RolloutJob has a spec that cannot be read.

    `readings` spares validation of what is equal. `known`: the record of that object, for one that is as it was.
    """
    meta, readings = _meta(kind, raw), readings or Readings()
    before = known(meta) if meta.resource_version else None
    if before is not None and before.meta == meta:
        return before
    match kind:
        case Kind.RUN:
            return _run(meta, raw, readings)
        case Kind.BATCH:
            spec = _spec(meta, EnvBatchSpec, raw, readings)
            return BatchRecord(meta, spec, *_status(meta, EnvBatchStatus, raw, readings))
        case Kind.ROLLOUT:
            plays = _spec(meta, RolloutJobSpec, raw, readings)
            return RolloutRecord(meta, plays, *_status(meta, RolloutJobStatus, raw, readings))
        case Kind.POD:
            return _pod(meta, raw)
        case Kind.JOB:
            return _job(meta, raw)
        case Kind.DEPLOYMENT:
            return _deployment(meta, raw)
        case Kind.WORKLOAD:
            notes = (raw.get("metadata") or {}).get("annotations") or {}
            return WorkloadRecord(meta, notes.get(labels.ASKED_ANNOTATION, ""), standing_of(raw))
        case Kind.SERVICE:
            return ChildRecord(meta, (raw.get("spec") or {}).get("clusterIP", ""))
        case _:
            return ChildRecord(meta)


def _meta(kind: Kind, raw: Raw) -> Meta:
    meta: Raw = raw.get("metadata") or {}
    marks: Raw = meta.get("labels") or {}
    owners = sorted(meta.get("ownerReferences") or [], key=lambda owner: not owner.get("controller", False))
    spec: Raw = raw.get("spec") or {}
    run, run_uid = marks.get(labels.RUN) or spec.get("run", ""), marks.get(labels.RUN_UID, "")
    if kind is Kind.RUN:
        run, run_uid = meta["name"], meta.get("uid", "")
    elif kind is Kind.BATCH and "source" in spec:
        run, run_uid = pool_family(meta["name"]), meta.get("uid", "")
    return Meta(
        kind=kind,
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        resource_version=meta.get("resourceVersion", ""),
        generation=int(meta.get("generation", 0)),
        run=str(run),
        run_uid=run_uid,
        owner_uid=owners[0].get("uid", "") if owners else "",
        deleting="deletionTimestamp" in meta,
        grace_seconds=meta.get("deletionGracePeriodSeconds"),
        created_at=moment(meta.get("creationTimestamp")),
        hash=(meta.get("annotations") or {}).get(labels.HASH_ANNOTATION, ""),
        foreign=any(map(_is_foreign, meta.get("managedFields") or [])),
        role=_role(marks.get(labels.ROLE)),
        rollout=_number(marks.get(labels.ROLLOUT)),
        cycle=_number(marks.get(labels.CYCLE)),
        topup=_number(marks.get(labels.TOPUP)),
        holds_storage=labels.STORAGE_FINALIZER in (meta.get("finalizers") or []),
    )


def _is_foreign(entry: Raw) -> bool:
    """Whether an entry of managed fields is of somebody else, and about what is wanted."""
    ours = entry.get("manager") == labels.FIELD_MANAGER
    wanted = {"f:spec", "f:data"} & (entry.get("fieldsV1") or {}).keys()
    return bool(wanted) and not ours and not entry.get("subresource")


def _run(meta: Meta, raw: Raw, readings: Readings) -> RunRecord:
    found = readings.read(meta.uid, "spec", raw.get("spec") or {}, run_spec)
    return RunRecord(meta, found.spec, found.method, found.problem, *_status(meta, SpadeRunStatus, raw, readings))


def _status(meta: Meta, model: type[Model], raw: Raw, readings: Readings) -> tuple[Model, str]:
    return readings.read(meta.uid, "status", raw.get("status") or {}, partial(status_of, model))


def _spec(meta: Meta, model: type[Model], raw: Raw, readings: Readings) -> Model:
    try:
        return readings.read(meta.uid, "spec", raw.get("spec") or {}, model.model_validate)
    except ValidationError as error:
        raise InvalidInput(f"{meta.kind} {meta.namespace}/{meta.name}: spec", str(error.errors()[0]["msg"])) from error


def _pod(meta: Meta, raw: Raw) -> PodRecord:
    status: Raw = raw.get("status") or {}
    marks: Raw = (raw.get("metadata") or {}).get("labels") or {}
    notes: Raw = (raw.get("metadata") or {}).get("annotations") or {}
    conditions = {c.get("type"): c for c in status.get("conditions") or []}
    gate = conditions.get(labels.ISOLATED_GATE, {})
    boot = BOOT_IN_MESSAGE.search(gate.get("message", "")) if gate.get("status") == "True" else None
    scheduled, target = conditions.get("PodScheduled", {}), conditions.get("DisruptionTarget", {})
    spec: Raw = raw.get("spec") or {}
    wanted = {c.get("name"): c for c in spec.get("containers") or []}
    return PodRecord(
        meta=meta,
        phase=status.get("phase", ""),
        ip=status.get("podIP", ""),
        job=marks.get(JOB_NAME_LABEL, ""),
        index=_number(marks.get(JOB_INDEX_LABEL, notes.get(JOB_INDEX_LABEL))),
        ready=conditions.get("Ready", {}).get("status") == "True",
        admitted_boot=boot.group(1) if boot else "",
        admitted_restarts=int(boot.group(2) or 0) if boot else 0,
        containers=tuple(
            container_record(c, wanted.get(c.get("name"), {})) for c in status.get("containerStatuses") or []
        ),
        reason=status.get("reason", ""),
        message=status.get("message", "")[:500],
        unschedulable=scheduled.get("message", "")[:500] if scheduled.get("reason") == "Unschedulable" else "",
        disruption=sys.intern(target.get("reason", "")) if target.get("status") == "True" else "",
        node=sys.intern(spec.get("nodeName", "")),
        leaves_at=moment((raw.get("metadata") or {}).get("deletionTimestamp")),
        deletion_cost=notes.get(DELETION_COST, ""),
    )


def _deployment(meta: Meta, raw: Raw) -> DeploymentRecord:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    refusals = (
        c.get("message", "")[:500]
        for c in status.get("conditions") or []
        if c.get("type") == "ReplicaFailure" and c.get("status") == "True"
    )
    notes: Raw = (raw.get("metadata") or {}).get("annotations") or {}
    return DeploymentRecord(
        meta=meta,
        replicas=int(spec.get("replicas", 1)),
        ready=int(status.get("readyReplicas", 0)),
        failure=next(refusals, ""),
        asked=notes.get(labels.ASKED_ANNOTATION, ""),
        template=notes.get(labels.TEMPLATE_ANNOTATION, ""),
    )


@dataclass(frozen=True)
class _JobEnd:
    complete: bool = False
    failed: bool = False
    failure: str = ""
    at: datetime | None = None


def _job(meta: Meta, raw: Raw) -> JobRecord:
    status: Raw = raw.get("status") or {}
    end = _JobEnd()
    for condition in status.get("conditions") or []:
        if condition.get("status") != "True":
            continue
        at = moment(condition.get("lastTransitionTime"))
        if condition.get("type") == "Complete":
            end = _JobEnd(complete=True, at=at)
        elif condition.get("type") == "Failed":
            words = f"{condition.get('reason', '')}: {condition.get('message', '')}"[:500]
            end = _JobEnd(failed=True, failure=words, at=at)
    return JobRecord(meta, int(status.get("failed", 0)), end.complete, end.failed, end.failure, end.at)


def _number(text: str | None) -> int | None:
    """A number that we or a controller wrote. Anybody may write an annotation: what is no number of ours is none."""
    return int(text) if text and len(text) <= MAX_DIGITS and text.isascii() and text.isdigit() else None


def _role(text: str | None) -> Role | None:
    return Role(text) if text in set(Role) else None
