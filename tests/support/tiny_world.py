"""A cluster of records alone, for properties of decisions: what is true, and what the operator has heard of it.

Controllers, kubelet and the processes of a run move one step at a time, when they are told to. What happens is put in
a queue for each kind; the operator knows of it when it is heard.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tests.support import pictures as p
from tests.support.tiny_processes import Process, result, says
from tests.support.watched import WATCHED

from spade_contracts.labels import Role
from spade_contracts.resources import EnvBatchStatus, RolloutJobStatus, SpadeRunStatus
from spade_contracts.statuses import PrepareResult
from spade_operator.children.manifests import Manifest
from spade_operator.children.site import Site
from spade_operator.facts import Facts, Poll, Told
from spade_operator.queueing import standing_of
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.env_batch import decide_batch
from spade_operator.reconcile.marks import marked
from spade_operator.reconcile.observe import Observed, observe
from spade_operator.reconcile.position import condition_true
from spade_operator.reconcile.rollout_job import decide_rollout
from spade_operator.reconcile.steps import (
    Action,
    Admit,
    Apply,
    Create,
    FetchLog,
    MarkWorkload,
    Remove,
    SetDeletionCost,
    SetTarget,
    WorkloadMark,
)
from spade_operator.records import (
    BatchRecord,
    ContainerRecord,
    DeploymentRecord,
    JobRecord,
    Kind,
    PodRecord,
    Record,
    RolloutRecord,
    RunRecord,
    WorkloadRecord,
    record_of,
)

Name = tuple[Kind, str]
NAMESPACE = "default"
GROUP_ROLES = (Role.LEARNER, Role.WORKER, Role.PREPARE)
"""Roles whose pods end; those of others are started again in place."""
Head = RunRecord | BatchRecord | RolloutRecord
Status = SpadeRunStatus | EnvBatchStatus | RolloutJobStatus


@dataclass(frozen=True)
class Pass:
    """What one pass wants to do: actions, and then the status of an object as it was decided on."""

    record: Head
    actions: tuple[Action, ...]
    status: Status


class TinyWorld:
    """One run in it."""

    def __init__(self, site: Site = p.SITE, **spec: Any) -> None:
        self.site = site
        self.now: datetime = p.NOW
        self.truth: dict[Name, Record] = {}
        self.manifests: dict[str, Manifest] = {}
        """What each workload was made of, by UID."""
        self.processes: dict[str, Process] = {}
        """By pod UID."""
        self.news: defaultdict[Kind, list[tuple[bool, Record]]] = defaultdict(list)
        """Not heard yet: whether the object went, and how it was."""
        self.done: Counter[tuple[str, int]] = Counter()
        """Units whose work was finished."""
        self.trained, self.targets = 0, [0]
        self.died: Counter[Role] = Counter()
        self.demand = 0  # sessions that each worker waits for
        self.accepted = 6  # programs of each cycle
        self._version = 100
        self._put(p.run_record(**spec))
        self.facts = self.started()

    # The operator

    def started(self) -> Facts:
        """The memory of an operator that has just listed everything."""
        self.facts = Facts()
        self.news.clear()
        for kind in Kind:
            listed = [record for record in self.truth.values() if record.meta.kind is kind]
            self.facts.relist(kind, listed if kind is not Kind.SECRET else [], str(self._version))
        self.poll()
        return self.facts

    @property
    def run(self) -> RunRecord:
        """The run as it is."""
        found = self.truth[Kind.RUN, p.RUN]
        assert isinstance(found, RunRecord)
        return found

    def seen(self) -> Observed:
        """What the operator knows."""
        found = observe(self.facts, self.site, NAMESPACE, p.RUN)
        assert found is not None
        return found

    def wants_passes(self) -> list[Head]:
        """The run and its units, as the operator knows them."""
        seen = self.seen()
        return [seen.run, *seen.units]

    def decided(self, record: Head) -> Pass:
        """A pass for one of them."""
        seen = self.seen()
        if isinstance(record, BatchRecord):
            return Pass(record, *decide_batch(seen, record, self.now)[:2])
        if isinstance(record, RolloutRecord):
            return Pass(record, *decide_rollout(seen, record, self.now)[:2])
        decision = decide(seen, self.now)
        return Pass(seen.run, decision.actions, decision.status)

    def do(self, action: Action) -> None:
        """One call of the operator."""
        match action:
            case Create(manifest):
                known = self.truth.get((Kind(manifest["kind"]), manifest["metadata"]["name"]))
                self.facts.put(known or self._make(manifest))
            case Apply(manifest):
                record = self._make(manifest)
                self.facts.put(record)
                stamp = self.now.isoformat(timespec="seconds")
                self.facts.set_applied(record, record.meta.hash, stamp)
            case Remove(record, grace_seconds):
                self._remove(record)
                self.facts.mark_deleting(record, grace_seconds)
            case Admit(pod, boot_id):
                self._patch(pod, admitted_boot=boot_id, admitted_restarts=pod.restarts, ready=True)
            case SetDeletionCost(pod, cost):
                self._patch(pod, deletion_cost=str(cost))
            case SetTarget(pod, boot_id, target, engine_boots):
                process = self.processes.get(pod.meta.uid)
                if process is not None:
                    process.target = target
                    self.targets.append(target.policy_version)
                    self.facts.set_told(pod.meta.run_uid, Told(boot_id, target, engine_boots, self.now))
            case FetchLog(pod, container, restarts, _):
                self.facts.set_log((pod.meta.uid, container, restarts), "its last words")
            case MarkWorkload(workload, marks, gives_back):
                self.facts.put(self.mark_workload(workload, marks, **({"admission": None} if gives_back else {})))

    def write(self, wanted: Pass) -> bool:
        """The status write that ends a pass; False when the object has changed since."""
        record = wanted.record
        present = self.truth.get((record.meta.kind, record.meta.name))
        if present is None or present.meta.resource_version != record.meta.resource_version:
            if present is not None:
                self.facts.put(present)
            return False
        if wanted.status != record.status:
            self.facts.put(self._put(replace(record, status=wanted.status)))  # type: ignore[arg-type]
        return True

    def hear(self, kind: Kind, *, again: bool = False) -> None:
        """The oldest news of a kind reach the operator; `again` leaves them to come once more."""
        if not self.news[kind]:
            return
        gone, record = self.news[kind][0] if again else self.news[kind].pop(0)
        if gone:
            self.facts.forget(record)
        else:
            self.facts.put(record)

    def wait(self, seconds: float) -> None:
        """Time passes; nothing is so late that it comes after it."""
        for kind in WATCHED:
            while self.news[kind]:
                self.hear(kind)
        self.now += timedelta(seconds=seconds)

    def poll(self) -> None:
        """Every pod that runs is asked how it is."""
        for pod in self.pods():
            if pod.phase == "Running" and (status := self._says(pod)) is not None:
                self.facts.set_poll(pod, Poll(status, "", self.now))

    # Truth

    def pods(self, *roles: Role) -> list[PodRecord]:
        """Pods that are there, by name."""
        found = [r for r in self.truth.values() if isinstance(r, PodRecord)]
        return sorted((pod for pod in found if not roles or pod.meta.role in roles), key=lambda pod: pod.meta.name)

    def holds(self, kind: str) -> bool:
        """Whether a condition of the run is True."""
        return condition_true(self.run.status.conditions, kind)

    def jobs(self) -> list[JobRecord]:
        """Jobs that are there."""
        return [r for r in self.truth.values() if isinstance(r, JobRecord)]

    def change(self, **spec: Any) -> None:
        """The user writes fields of the spec."""
        whole = p.run_record(**spec)
        meta = replace(self.run.meta, generation=self.run.meta.generation + 1)
        self._put(replace(whole, meta=meta, status=self.run.status))

    def _put(self, record: Record) -> Record:
        self._version += 1
        record = replace(record, meta=replace(record.meta, resource_version=str(self._version)))
        self.truth[record.meta.kind, record.meta.name] = record
        if record.meta.kind in WATCHED:
            self.news[record.meta.kind].append((False, record))
        return record

    def _gone(self, record: Record) -> None:
        del self.truth[record.meta.kind, record.meta.name]
        self.processes.pop(record.meta.uid, None)
        self.news[record.meta.kind].append((True, record))

    def _make(self, manifest: Manifest) -> Record:
        kind, name = Kind(manifest["kind"]), manifest["metadata"]["name"]
        known = self.truth.get((kind, name))
        generation = 1
        if known is not None:
            same = known.meta.hash == manifest["metadata"]["annotations"]["spade.dev/hash"]
            generation = known.meta.generation + (0 if same else 1)
        uid = known.meta.uid if known is not None else f"{name}-{self._version}"
        meta = manifest["metadata"] | {"uid": uid, "generation": generation, "resourceVersion": "0"}
        spec = manifest.get("spec", {}) | ({"clusterIP": "10.96.0.77"} if kind is Kind.SERVICE else {})
        self.manifests[uid] = manifest
        record = record_of(kind, manifest | {"metadata": meta} | ({"spec": spec} if spec else {}))
        created_at = known.meta.created_at if known is not None else self.now
        return self._put(replace(record, meta=replace(record.meta, created_at=created_at)))

    def _remove(self, record: Record) -> None:
        present = self.truth.get((record.meta.kind, record.meta.name))
        if present is None or present.meta.uid != record.meta.uid:
            return
        if isinstance(present, PodRecord):
            self._put(replace(present, meta=replace(present.meta, deleting=True, grace_seconds=5)))
        else:
            self._gone(present)

    def _patch(self, pod: PodRecord, **changes: Any) -> None:
        present = self.truth.get((Kind.POD, pod.meta.name))
        if isinstance(present, PodRecord) and present.meta.uid == pod.meta.uid:
            self.facts.put(self._put(replace(present, **changes)))

    def mark_workload(self, workload: WorkloadRecord, marks: tuple[WorkloadMark, ...], **status: Any) -> Record:
        """Somebody writes the status of a Workload."""
        raw = self.manifests[workload.meta.uid]
        before = raw.get("status", {})
        conditions = marked(before.get("conditions", []), marks, 1, self.now)
        raw = raw | {"status": before | {"conditions": conditions} | status}
        self.manifests[workload.meta.uid] = raw
        return self._put(replace(workload, standing=standing_of(raw)))

    # Everybody else

    def controllers(self) -> None:
        """Owners without an object lose their children; Deployments and Jobs get their pods, and Jobs end."""
        uids = {record.meta.uid for record in self.truth.values()}
        for record in list(self.truth.values()):
            orphan = record.meta.kind in (Kind.JOB, Kind.POD) and record.meta.owner_uid not in uids
            if orphan and not record.meta.deleting:
                self._remove(record)
        for owner in list(self.truth.values()):
            own = [pod for pod in self.pods() if pod.meta.owner_uid == owner.meta.uid]
            if isinstance(owner, DeploymentRecord):
                live = [pod for pod in own if not pod.meta.deleting]
                for _ in range(owner.replicas - len(live)):
                    self._make_pod(owner, index=None)
                for pod in live[owner.replicas :]:
                    self._remove(pod)
            elif isinstance(owner, JobRecord) and not (owner.complete or owner.failed):
                self._job(owner, own)

    def _job(self, job: JobRecord, own: list[PodRecord]) -> None:
        spec = self.manifests[job.meta.uid]["spec"]
        dead = sum(1 for pod in own if pod.phase == "Failed")
        if sum(1 for pod in own if pod.phase == "Succeeded") == spec["completions"]:
            self._put(replace(job, complete=True, failed_pods=dead, ended_at=self.now))
        elif dead > spec["backoffLimit"]:
            self._put(replace(job, failed=True, failed_pods=dead, failure="BackoffLimitExceeded", ended_at=self.now))
        else:
            for index in range(spec["completions"]):
                if all(pod.phase == "Failed" for pod in own if pod.index == index):
                    self._put(replace(job, failed_pods=dead))
                    self._make_pod(job, index)

    def _make_pod(self, owner: DeploymentRecord | JobRecord, index: int | None) -> None:
        template = self.manifests[owner.meta.uid]["spec"]["template"]
        labels = template["metadata"]["labels"]
        name = f"{owner.meta.name}-{self._version}"
        raw = {
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"{name}-uid", "labels": labels,
                         "annotations": template["metadata"].get("annotations", {}),
                         "ownerReferences": [{"uid": owner.meta.uid, "kind": owner.meta.kind, "controller": True}]},
            "status": {"phase": "Pending"},
        }  # fmt: skip
        pod = record_of(Kind.POD, raw)
        assert isinstance(pod, PodRecord)
        self.manifests[pod.meta.uid] = raw
        job = owner.meta.name if index is not None else ""
        self._put(replace(pod, job=job, index=index, meta=replace(pod.meta, created_at=self.now)))

    def kubelet(self) -> None:
        """Pods that are being deleted go, and new ones run."""
        for pod in self.pods():
            if pod.meta.deleting:
                self._gone(pod)
            elif pod.phase == "Pending":
                self.processes[pod.meta.uid] = Process(f"boot-{self._version:08d}")
                ip = f"10.0.{self._version // 250 % 250}.{self._version % 250 + 1}"
                self._put(replace(pod, phase="Running", ip=ip, containers=(ContainerRecord("main"),)))

    def work(self) -> None:
        """Preparation and workers finish; learners go to their target and prove it in the engines."""
        for pod in self.pods():
            if pod.phase != "Running":
                continue
            if pod.meta.role in (Role.PREPARE, Role.WORKER):
                end = p.ended(0, self._result(pod))
                self._put(replace(pod, phase="Succeeded", containers=(end,)))
            elif pod.meta.role is Role.LEARNER:
                self._train(self.processes[pod.meta.uid])

    def _result(self, pod: PodRecord) -> str:
        if pod.meta.role is Role.PREPARE:
            return PrepareResult(accepted=True).model_dump_json()
        task = json.loads(self.manifests[pod.meta.uid]["metadata"]["annotations"]["spade.dev/task"])
        topped_up = task["kind"] == "design" and "rollout" in task
        kind = "topup" if topped_up else task["kind"]
        self.done[kind, task["cycle" if kind == "design" else "rollout"]] += 1
        return result(task, self.accepted)

    def _train(self, learner: Process) -> None:
        if learner.target is None:
            return
        version = learner.target.policy_version
        self.trained = max(self.trained, version)
        learner.version = version
        engines = {pod.ip: pod for pod in self.pods(Role.ENGINE) if pod.phase == "Running"}
        for target in learner.target.engines:
            if (pod := engines.get(target.host)) is not None:
                engine = self.processes[pod.meta.uid]
                engine.version = version
                learner.proofs[target.name] = p.proof(target.name, version, engine.boot_id)

    def die(self, pod: PodRecord, *, evicted: bool) -> None:
        """A pod that runs dies, or goes with its object."""
        self.died[pod.meta.role or Role.BEACON] += 1
        if evicted and pod.meta.role not in GROUP_ROLES:
            self._gone(pod)
        elif pod.meta.role in GROUP_ROLES:
            self._put(replace(pod, phase="Failed", containers=(p.ended(137),)))
        else:
            again = ContainerRecord("main", pod.restarts + 1, last_exit_code=137)
            self.processes[pod.meta.uid] = Process(f"boot-{self._version:08d}")
            self._put(replace(pod, containers=(again,)))

    def _says(self, pod: PodRecord) -> Any:
        return says(pod.meta.role, self.processes[pod.meta.uid], self.demand)

    def settle(self, rounds: int = 120) -> None:
        """Nothing goes wrong any more: everybody does what there is to do, until nothing changes for the run."""
        for _ in range(rounds):
            if self.holds("Complete") and not self.pods():
                return
            self.wait(5)
            self.poll()
            for record in self.wants_passes():
                wanted = self.decided(record)
                for action in wanted.actions:
                    self.do(action)
                self.write(wanted)
            self.controllers()
            self.kubelet()
            self.work()
