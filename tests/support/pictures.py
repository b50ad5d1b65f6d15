"""Pictures of runs for tests of policies: what the operator knows at one moment, in few words."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel
from tests.support.children import UID, make_site, make_target, pool_spec

from spade_contracts.isolation import TargetKind
from spade_contracts.labels import Role
from spade_contracts.resources import (
    BatchCondition,
    Condition,
    ConditionStatus,
    EnvBatchSpec,
    EnvBatchStatus,
    Reason,
    RolloutJobSpec,
    RolloutJobStatus,
    RunCondition,
    SpadeRunSpec,
    SpadeRunStatus,
)
from spade_contracts.statuses import (
    BeaconStatus,
    EngineProof,
    EngineState,
    EngineStatus,
    LearnerState,
    LearnerStatus,
    LearnerTarget,
    ProbeAttempt,
    ProbeResult,
    ProofResult,
    SandboxStatus,
    WorkerStatus,
)
from spade_operator.children.names import env_batch_name, learner_job_name, rollout_job_name
from spade_operator.containers import ContainerRecord
from spade_operator.facts import LogKey, Poll, Told
from spade_operator.reconcile.observe import Observed, ObservedPool, Picture
from spade_operator.reconcile.steps import Step
from spade_operator.records import (
    BatchRecord,
    ChildRecord,
    DeploymentRecord,
    JobRecord,
    Kind,
    Meta,
    PodRecord,
    Record,
    RolloutRecord,
    RunRecord,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN = "mini"
POOL = "pool"
POOL_FAMILY = "pool-batch"
KINDS = (TargetKind.API_SERVER, TargetKind.DNS, TargetKind.OUTSIDE)
SITE = make_site().model_copy(update={"probe_targets": tuple(make_target(kind) for kind in KINDS)})


def ago(seconds: float) -> datetime:
    """A moment before NOW."""
    return NOW - timedelta(seconds=seconds)


def meta(kind: Kind, name: str, **changes: Any) -> Meta:
    """Who an object of the run is."""
    known: dict[str, Any] = {
        "kind": kind, "namespace": "default", "name": name, "uid": f"uid-of-{name}", "resource_version": "7",
        "generation": 1, "run": RUN, "run_uid": UID, "owner_uid": UID, "deleting": False, "grace_seconds": None,
        "created_at": ago(600), "hash": "",
    }  # fmt: skip
    return Meta(**known | changes)


def run_record(status: SpadeRunStatus | None = None, problem: str = "", **spec: Any) -> RunRecord:
    """The run, with fields of its spec in camelCase."""
    whole = {"model": {"uri": "package:tiny"}, "rollouts": 4, "environments": {"cycleLength": 2, "perCycle": 6}, **spec}
    parsed = SpadeRunSpec.model_validate(whole)
    who = meta(Kind.RUN, RUN, uid=UID)
    if problem:
        return RunRecord(who, None, None, problem, status or SpadeRunStatus())
    return RunRecord(who, parsed, parsed.method(), "", status or SpadeRunStatus())


def holding(*kinds: RunCondition, **status: Any) -> SpadeRunStatus:
    """A status with these conditions True."""
    return SpadeRunStatus(conditions=tuple(condition(kind, True) for kind in kinds), **status)


def condition(kind: str, holds: bool, reason: Reason = Reason.READY, message: str = "") -> Condition:
    """A condition written a minute ago."""
    return Condition(
        type=kind, status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE, reason=reason, message=message,
        last_transition_time=ago(60), observed_generation=1,
    )  # fmt: skip


def pod(role: Role, name: str = "", *, ip: str = "10.0.0.1", phase: str = "Running", **changes: Any) -> PodRecord:
    """A pod of a role; fields of Meta go there."""
    own = {
        key: changes.pop(key)
        for key in ("uid", "deleting", "grace_seconds", "created_at", "rollout", "cycle", "topup")
        if key in changes
    }
    name = name or f"{RUN}-{role}-x"
    return PodRecord(meta(Kind.POD, name, role=role, **own), phase=phase, ip=ip, **changes)


def ended(code: int, message: str = "", *, restarts: int = 0, reason: str = "") -> ContainerRecord:
    """A container that ended."""
    return ContainerRecord(
        "main", restarts, exit_code=code, ended_message=message, ended_reason=reason, started_at=ago(20),
        finished_at=ago(10),
    )  # fmt: skip


def learner_pod(attempt: int = 0, **changes: Any) -> PodRecord:
    """Rank 0's pod of an attempt."""
    name = learner_job_name(RUN, attempt)
    return pod(Role.LEARNER, f"{name}-0", job=name, index=0, **changes)


def job(name: str, role: Role, **changes: Any) -> JobRecord:
    """A Job; fields of Meta go there."""
    own = {
        key: changes.pop(key)
        for key in ("owner_uid", "deleting", "rollout", "cycle", "topup", "created_at")
        if key in changes
    }
    return JobRecord(meta(Kind.JOB, name, role=role, **own), **changes)


def deployment(role: Role, replicas: int = 1, **changes: Any) -> DeploymentRecord:
    """A Deployment."""
    return DeploymentRecord(meta(Kind.DEPLOYMENT, f"{RUN}-{role}", role=role, **changes), replicas, replicas)


def batch(
    cycle: int,
    *marks: str,
    topup: int | None = None,
    reason: Reason = Reason.FINISHED,
    message: str = "",
    **status: Any,
) -> BatchRecord:
    """An EnvBatch with these conditions True; `topup`: the rollout that it tops its cycle up for."""
    spec = EnvBatchSpec(run=RUN, cycle=cycle, rollout=topup, policy_version=cycle * 2 if topup is None else topup)
    conditions = tuple(condition(mark, True, reason, message) for mark in marks)
    return BatchRecord(
        meta(Kind.BATCH, env_batch_name(RUN, cycle, topup)), spec, EnvBatchStatus(conditions=conditions, **status)
    )


def plays(
    rollout: int, *marks: str, reason: Reason = Reason.FINISHED, message: str = "", **status: Any
) -> RolloutRecord:
    """A RolloutJob with these conditions True."""
    spec = RolloutJobSpec(run=RUN, rollout=rollout, cycle=rollout // 2, policy_version=rollout)
    conditions = tuple(condition(mark, True, reason, message) for mark in marks)
    who = meta(Kind.ROLLOUT, rollout_job_name(RUN, rollout))
    return RolloutRecord(who, spec, RolloutJobStatus(conditions=conditions, **status))


def beacon_service() -> ChildRecord:
    """The beacon's Service with its address."""
    return ChildRecord(meta(Kind.SERVICE, f"{RUN}-beacon"), "10.96.0.77")


def seen(
    run: RunRecord | None = None,
    *,
    pods: Mapping[PodRecord, BaseModel | None] | Sequence[PodRecord] = (),
    jobs: Sequence[JobRecord] = (),
    deployments: Sequence[DeploymentRecord] = (),
    batches: Sequence[BatchRecord] = (),
    rollouts: Sequence[RolloutRecord] = (),
    others: Sequence[Record] = (),
    leftovers: Sequence[Record] = (),
    logs: Mapping[LogKey, str] | None = None,
    told: Told | None = None,
    applied: Mapping[str, str] | None = None,
) -> Observed:
    """A picture; `pods` maps each pod to what its status port says. Nobody else changed what was applied."""
    answers = pods if isinstance(pods, Mapping) else dict.fromkeys(pods)
    return Picture(
        site=SITE,
        head=run or run_record(),
        batches={b.spec.cycle: b for b in batches if b.spec.rollout is None},
        topups={b.spec.rollout: b for b in batches if b.spec.rollout is not None},
        rollouts={r.spec.rollout: r for r in rollouts},
        pods=tuple(answers),
        jobs={j.meta.name: j for j in jobs},
        deployments={d.meta.role: d for d in deployments if d.meta.role},
        others={(r.meta.kind, r.meta.name): r for r in (beacon_service(), *others)},
        leftovers=tuple(leftovers),
        polls={p.meta.uid: Poll(status, "", NOW) for p, status in answers.items() if status is not None},
        logs=logs or {},
        told=told,
        applied={r.meta.uid: "1" for r in (*deployments, *others)} if applied is None else applied,
    )


def pool_record(status: EnvBatchStatus | None = None, **spec: Any) -> BatchRecord:
    """A stand-alone EnvBatch, with fields of its spec in camelCase."""
    who = meta(Kind.BATCH, POOL, uid=UID, run=POOL_FAMILY, owner_uid="")
    return BatchRecord(who, pool_spec(**spec), status or EnvBatchStatus())


def pool_holding(*kinds: BatchCondition, **status: Any) -> EnvBatchStatus:
    """A stand-alone EnvBatch's status with these conditions True."""
    return EnvBatchStatus(conditions=tuple(condition(kind, True) for kind in kinds), **status)


def pool_seen(
    batch: BatchRecord | None = None,
    *,
    pods: Mapping[PodRecord, BaseModel | None] | Sequence[PodRecord] = (),
    jobs: Sequence[JobRecord] = (),
    deployments: Sequence[DeploymentRecord] = (),
    leftovers: Sequence[Record] = (),
    logs: Mapping[LogKey, str] | None = None,
) -> ObservedPool:
    """A picture of a stand-alone EnvBatch whose beacon has its address."""
    answers = pods if isinstance(pods, Mapping) else dict.fromkeys(pods)
    address = ChildRecord(meta(Kind.SERVICE, f"{POOL_FAMILY}-beacon", run=POOL_FAMILY), "10.96.0.77")
    return Picture(
        site=SITE,
        head=batch or pool_record(),
        batches={},
        rollouts={},
        pods=tuple(answers),
        jobs={j.meta.name: j for j in jobs},
        deployments={d.meta.role: d for d in deployments if d.meta.role},
        others={(address.meta.kind, address.meta.name): address},
        leftovers=tuple(leftovers),
        polls={p.meta.uid: Poll(status, "", NOW) for p, status in answers.items() if status is not None},
        logs=logs or {},
        told=None,
        applied={},
    )


def attempt(kind: str = "dns", *, reached: bool = False, host: str = "192.0.2.1") -> ProbeAttempt:
    """One attempt of a probe."""
    return ProbeAttempt(name=f"{kind}-target", kind=kind, host=host, port=53, protocol="tcp", reached=reached)


def sandbox_says(boot_id: str = "boot-0001", **changes: Any) -> SandboxStatus:
    """A pod in gVisor with all walls and a closed network that ran nothing yet."""
    probe = ProbeResult(gvisor=True, kernel="4.4.0", attempts=tuple(attempt(k) for k in (*KINDS, "beacon")), seconds=1)
    known: dict[str, Any] = {
        "boot_id": boot_id, "protocol": 1, "walls": {"seccomp": True}, "probe": probe, "sessions": 0, "capacity": 32,
        "draining": False, "served": False,
    }  # fmt: skip
    return SandboxStatus(**known | changes)


def beacon_says(*, reached: bool = True) -> BeaconStatus:
    """A beacon that reached every kind, or none."""
    return BeaconStatus(boot_id="beacon-1", attempts=tuple(attempt(kind, reached=reached) for kind in KINDS))


def engine_says(version: int | None = 0, boot_id: str = "engine-boot", **changes: Any) -> EngineStatus:
    """An engine that serves a version, or none."""
    known: dict[str, Any] = {
        "boot_id": boot_id, "state": EngineState.UNVERIFIED if version is None else EngineState.SERVING,
        "loaded_policy_version": version, "verified_policy_version": version, "canary_passed": version is not None,
        "requests_in_flight": 0, "generated_tokens": 0,
    }  # fmt: skip
    return EngineStatus(**known | changes)


def proof(
    name: str, version: int, boot_id: str = "engine-boot", result: ProofResult = ProofResult.VERIFIED
) -> EngineProof:
    """The learner's proof of an engine."""
    return EngineProof(name=name, boot_id=boot_id, policy_version=version, result=result)


def learner_says(version: int | None = 0, *proofs: EngineProof, **changes: Any) -> LearnerStatus:
    """A learner that waits at a version."""
    known: dict[str, Any] = {
        "boot_id": "learner-boot", "state": LearnerState.IDLE, "policy_version": version, "target": version,
        "proofs": proofs,
    }  # fmt: skip
    return LearnerStatus(**known | changes)


def worker_says(open_: int = 0, wanted: int = 0, **changes: Any) -> WorkerStatus:
    """A worker with sessions."""
    known: dict[str, Any] = {
        "boot_id": "worker-boot", "stage": "play", "planned": 12, "done": 3, "sessions_open": open_,
        "sessions_wanted": wanted,
    }  # fmt: skip
    return WorkerStatus(**known | changes)


def told(version: int, *, at: datetime = NOW, boots: tuple[str, ...] = ("engine-boot",), last: int = 4) -> Told:
    """The learner acknowledged this version for the one engine of `at_work`."""
    from spade_contracts.statuses import EngineTarget

    target = LearnerTarget(
        policy_version=version,
        engines=(EngineTarget(name=f"{RUN}-engine-x", host="10.0.0.1"),),
        last_policy_version=last,
    )
    return Told("learner-boot", target, boots, at)


ENGINE = pod(Role.ENGINE)
LEARNER = learner_pod()
SANDBOX = pod(Role.SANDBOX, admitted_boot="boot-0001", ready=True)
BEACON = pod(Role.BEACON)
AT_WORK = (
    RunCondition.ACCEPTED, RunCondition.ISOLATED, RunCondition.SANDBOXES_READY, RunCondition.ENGINES_READY,
    RunCondition.LEARNER_READY, RunCondition.WEIGHTS_VERIFIED,
)  # fmt: skip


def at_work(version: int = 0, *, run: RunRecord | None = None, **parts: Any) -> Observed:
    """All parts of a run are up, and its one engine is proven at a version. `pods` adds to, or replaces, its pods."""
    pods: dict[PodRecord, BaseModel | None] = {
        SANDBOX: sandbox_says(),
        BEACON: beacon_says(),
        ENGINE: engine_says(version),
        LEARNER: learner_says(version, proof(ENGINE.meta.name, version)),
    }
    pods |= dict(parts.pop("pods", {}))
    status = holding(*AT_WORK, rollout=version, cycle=version // 2, policy_version=version)
    known: dict[str, Any] = {
        "jobs": [job(learner_job_name(RUN, 0), Role.LEARNER)],
        "deployments": [deployment(role) for role in (Role.SANDBOX, Role.ENGINE, Role.BEACON)],
        "told": told(version),
    }
    return seen(run or run_record(status), pods=pods, **known | parts)


def actions_of(step: Step, kind: type) -> list[Any]:
    """The actions of one kind in a step."""
    return [action for action in step.actions if isinstance(action, kind)]


def wanted(step: Step, kind: RunCondition) -> tuple[str, str, str]:
    """Status, reason and message of a wanted condition."""
    found = next(c for c in step.conditions if c.type == kind)
    return str(found.status), str(found.reason), found.message
