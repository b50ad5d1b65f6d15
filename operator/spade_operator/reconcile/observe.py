"""From the store of facts to one frozen picture of a run, or of an EnvBatch without one.

It is the only input of its decision besides the clock.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Generic, ParamSpec, TypeAlias, TypeVar

from pydantic import BaseModel

from spade_contracts.config import MethodConfig
from spade_contracts.labels import ASKED_ANNOTATION, TEMPLATE_ANNOTATION, Role
from spade_contracts.resources import BatchCondition, Condition, Phase, RunCondition, SpadeRunSpec, SpadeRunStatus
from spade_contracts.statuses import LearnerStatus
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import claim_name
from spade_operator.children.owner import Owner, Run, pool_owner
from spade_operator.children.renderings import Mark, Renderings, mark_of
from spade_operator.children.site import Site
from spade_operator.facts import Facts, LogKey, Poll, Told
from spade_operator.openings import Opening
from spade_operator.parts import engine_part, engine_uid
from spade_operator.preflight.surroundings import Surroundings
from spade_operator.queueing import NOTHING_READ, Place, Queueing, places
from spade_operator.reconcile.demand import SILENT_AFTER_FAILURES
from spade_operator.reconcile.steps import Action, Apply, Scale
from spade_operator.records import (
    ADOPTED,
    BatchRecord,
    DeploymentRecord,
    JobRecord,
    Kind,
    PodRecord,
    Record,
    RolloutRecord,
    RunRecord,
    WorkloadRecord,
)

Status = TypeVar("Status", bound=BaseModel)
Head = TypeVar("Head", bound=RunRecord | BatchRecord)
Head_co = TypeVar("Head_co", bound=RunRecord | BatchRecord, covariant=True)
Inputs = ParamSpec("Inputs")
RESTING = frozenset({Phase.SUSPENDED, Phase.COMPLETE, Phase.FAILED})
"""Phases in which the run has no pods to wait for."""


@dataclass(frozen=True)
class Picture(Generic[Head_co]):
    """The head of a family (a run, or a stand-alone EnvBatch) and all that is known of its children.

    They carry its UID; what else has its label is not ours to touch.
    Pods, Jobs and Deployments of a deleted namesake, and its units, are in `leftovers`.
    Secrets, Services, policies and the like are simply applied again: they get the new head as their owner.
    """

    site: Site
    head: Head_co
    batches: Mapping[int, BatchRecord]
    """Those of a run that begin a cycle, by cycle."""
    rollouts: Mapping[int, RolloutRecord]
    """By rollout."""
    pods: tuple[PodRecord, ...]
    jobs: Mapping[str, JobRecord]
    """By name."""
    deployments: Mapping[Role, DeploymentRecord]
    others: Mapping[tuple[Kind, str], Record]
    """Services, Secrets and the like, by kind and name."""
    leftovers: tuple[Record, ...]
    polls: Mapping[str, Poll]
    """By pod UID."""
    logs: Mapping[LogKey, str]
    told: Told | None
    applied: Mapping[str, str]
    """By UID of a child: its edition when we applied it last."""
    breached_at: datetime | None = None
    """Until when somebody else had opened what closes the sandboxes' network."""
    topups: Mapping[int, BatchRecord] = field(default_factory=dict)
    """EnvBatches of a run that top a cycle up, by the rollout that they are for."""
    taken: tuple[PodRecord, ...] = ()
    """Pods that are gone, and were marked as disrupted when they went."""
    openings: tuple[Opening, ...] = ()
    """NetworkPolicies of the namespace that let pods out, ours among them."""
    sandboxes_beside: int = 0
    """Sandbox pods of other pools in the namespace; 0 where the installation sets no limit."""
    source: RunRecord | None = None
    """The run that `model.fromRun` names, if it is there."""
    source_claim: bool = False
    """Whether the claim that the operator makes for a run of that name is there."""
    around: Surroundings | None = None
    """The cluster, while the run waits for what only it can tell, and has been looked at for it."""
    look_is_due: bool = False
    """Such a look is on its way."""
    workload: WorkloadRecord | None = None
    """What Kueue admits of a run that has a queue."""
    queueing: Queueing = NOTHING_READ
    """What Workloads refer to."""
    renderings: Renderings = field(default_factory=Renderings, compare=False)
    """What was rendered before. It spares work and changes no decision."""

    @cached_property
    def owner(self) -> Owner:
        """The head as builders of children know it."""
        meta = self.head.meta
        if isinstance(self.head, BatchRecord):
            return pool_owner(meta.namespace, meta.name, meta.uid, self.head.spec)
        assert self.head.spec is not None
        return Run(meta.namespace, meta.name, meta.uid, self.head.spec, self._places()).owner

    @property
    def run(self: "Observed") -> RunRecord:
        """The run."""
        return self.head

    @property
    def spec(self: "Observed") -> SpadeRunSpec:
        """The accepted spec; only for policies that come after acceptance."""
        assert self.run.spec is not None
        return self.run.spec

    @property
    def method(self: "Observed") -> MethodConfig:
        """The resolved settings; only for policies that come after acceptance."""
        assert self.run.method is not None
        return self.run.method

    @property
    def status(self: "Observed") -> SpadeRunStatus:
        """The status written last."""
        return self.run.status

    @property
    def units(self: "Observed") -> tuple[BatchRecord | RolloutRecord, ...]:
        """All EnvBatches and RolloutJobs of the run."""
        return (*self.batches.values(), *self.topups.values(), *self.rollouts.values())

    @property
    def parent(self: "Observed") -> Run:
        """The run as builders of its own roles know it."""
        meta = self.run.meta
        return Run(meta.namespace, meta.name, meta.uid, self.spec, self._places())

    def _places(self) -> Mapping[Role, Place]:
        return {} if self.workload is None else (places(self.workload.standing, self.queueing) or {})

    def pods_of(self, role: Role) -> tuple[PodRecord, ...]:
        """Live pods of a role, by name. An engine in a learner's pod is one of its own (parts.py)."""
        return self._live.get(role, ())

    @cached_property
    def _live(self) -> Mapping[Role | None, tuple[PodRecord, ...]]:
        live = [pod for pod in self.pods if pod.live]
        found: dict[Role | None, list[PodRecord]] = {}
        for pod in (*live, *(part for pod in live if (part := engine_part(pod)) is not None)):
            found.setdefault(pod.meta.role, []).append(pod)
        return {role: tuple(pods) for role, pods in found.items()}

    def present_and_taken(self, role: Role) -> tuple[PodRecord, ...]:
        """All pods of a role whose end may have to be explained."""
        return tuple(pod for pod in (*self.pods, *self.taken) if pod.meta.role is role)

    def condition(self, kind: RunCondition | BatchCondition) -> Condition | None:
        """A condition as it was written last."""
        return next((c for c in self.head.status.conditions if c.type == kind), None)

    def holds(self, kind: RunCondition | BatchCondition) -> bool:
        """Whether a condition was True at the last write."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    def answer(self, pod: PodRecord, model: type[Status]) -> Status | None:
        """What a pod says of itself, unless it has fallen silent."""
        poll = self.polls.get(pod.meta.uid)
        if poll is None or poll.failures >= SILENT_AFTER_FAILURES:
            return None
        return poll.status if isinstance(poll.status, model) else None

    def learner(self) -> tuple[PodRecord, LearnerStatus] | None:
        """Rank 0's pod and what it says."""
        for pod in self.pods_of(Role.LEARNER):
            status = self.answer(pod, LearnerStatus)
            if status is not None:
                return pod, status
        return None

    def rendered(
        self, builder: Callable[Inputs, list[Manifest]], *inputs: Inputs.args, **named: Inputs.kwargs
    ) -> tuple[Action, ...]:
        """What is to be done for what a pure builder makes of these inputs; it is made only where that may be much."""
        marks = self.renderings.marks(self.head.meta.uid, builder, *inputs, **named)
        return () if all(map(self._is_applied, marks)) else self.changed(builder(*inputs, **named))

    def changed(self, manifests: list[Manifest]) -> tuple[Action, ...]:
        """What is to be done for those manifests whose content is not what was applied last, or was changed since."""
        due = (self._due(manifest) for manifest in manifests if not self._is_applied(mark_of(manifest)))
        return tuple(action for action in due if action is not None)

    def _due(self, manifest: Manifest) -> Action | None:
        """An apply, unless it would put another template under pods at work that nobody asked to change."""
        known = next((d for d in self.deployments.values() if d.meta.name == manifest["metadata"]["name"]), None)
        if manifest["kind"] != Kind.DEPLOYMENT or known is None or known.meta.deleting or known.meta.foreign:
            return Apply(manifest)
        marks = manifest["metadata"]["annotations"]
        if known.asked != marks.get(ASKED_ANNOTATION) or known.template == marks.get(TEMPLATE_ANNOTATION):
            return Apply(manifest)
        wanted = manifest["spec"].get("replicas")
        return None if wanted in (None, known.replicas) else Scale(known, wanted)

    def _is_applied(self, mark: Mark) -> bool:
        known: Record | None = self.others.get((Kind(mark.kind), mark.name))
        if mark.kind == Kind.DEPLOYMENT:
            known = next((d for d in self.deployments.values() if d.meta.name == mark.name), None)
        if known is None or known.meta.deleting:
            return False
        return known.meta.hash == mark.digest and self.applied.get(known.meta.uid) == known.meta.edition


Observed: TypeAlias = Picture[RunRecord]
ObservedPool: TypeAlias = Picture[BatchRecord]
AnyPicture: TypeAlias = Picture[RunRecord | BatchRecord]


def observe(
    facts: Facts, site: Site, namespace: str, name: str, renderings: Renderings | None = None
) -> Observed | None:
    """The picture of a run, or None when there is no such run (any more)."""
    run = facts.run(namespace, name)
    if run is None:
        return None
    seen, wanted = _picture(facts, site, run, renderings), run.spec.model.from_run if run.spec is not None else None
    if wanted is None:
        return seen
    claim = facts.child(namespace, wanted.name, (Kind.CLAIM, claim_name(wanted.name)))
    return replace(seen, source=facts.run(namespace, wanted.name), source_claim=claim is not None)


def observe_pool(
    facts: Facts, site: Site, namespace: str, name: str, renderings: Renderings | None = None
) -> ObservedPool | None:
    """The picture of a stand-alone EnvBatch, or None when there is none of that name (any more)."""
    batch = facts.pool(namespace, name)
    return _picture(facts, site, batch, renderings) if batch is not None else None


def _with_images(site: Site, head: RunRecord | BatchRecord) -> Site:
    """A head at work goes on with the images that it was started with, whatever the installation has by now."""
    resting = isinstance(head, RunRecord) and head.status.phase in RESTING
    images = head.status.images
    return site if images is None or resting else site.model_copy(update={"images": images})


def _picture(facts: Facts, site: Site, head: Head, renderings: Renderings | None) -> Picture[Head]:
    uid, namespace, name = head.meta.uid, head.meta.namespace, head.meta.run
    family = sorted((r for r in facts.family(namespace, name)), key=lambda r: (r.meta.kind, r.meta.name))
    children = [r for r in family if r.meta.uid != uid]
    own = [r for r in children if r.meta.run_uid == uid or (r.meta.kind is Kind.CLAIM and not r.meta.run_uid)]
    pods = tuple(r for r in own if isinstance(r, PodRecord))
    batches = [r for r in own if isinstance(r, BatchRecord)]
    asked = [pod.meta.uid for pod in pods]
    asked += [engine_uid(pod.meta.uid) for pod in pods if pod.meta.role is Role.LEARNER]
    polls = {uid: poll for uid in asked if (poll := facts.poll(uid)) is not None}
    keys = [(pod.meta.uid, c.name, n) for pod in pods for c in pod.containers for n in (c.restarts, c.restarts - 1)]
    return Picture(
        site=_with_images(site, head),
        head=head,
        batches={r.spec.cycle: r for r in batches if r.spec.cycle is not None and r.spec.rollout is None},
        topups={r.spec.rollout: r for r in batches if r.spec.rollout is not None},
        rollouts={r.spec.rollout: r for r in own if isinstance(r, RolloutRecord)},
        pods=pods,
        jobs={r.meta.name: r for r in own if isinstance(r, JobRecord)},
        deployments={r.meta.role: r for r in own if isinstance(r, DeploymentRecord) and r.meta.role is not None},
        others={(r.meta.kind, r.meta.name): r for r in own if r.meta.kind in ADOPTED},
        leftovers=tuple(r for r in children if r.meta.kind not in ADOPTED and r.meta.run_uid not in ("", uid)),
        polls=polls,
        logs={key: text for key in keys if (text := facts.log(key)) is not None},
        told=facts.told(uid),
        applied={a.uid: a.edition for r in own if (a := facts.applied(namespace, name, (r.meta.kind, r.meta.name)))},
        breached_at=facts.breach(uid),
        taken=tuple(pod for pod in facts.taken(namespace, name) if pod.meta.run_uid == uid),
        openings=facts.openings(namespace),
        sandboxes_beside=facts.sandboxes_beside(namespace, name) if site.sandbox_pods_per_namespace else 0,
        around=facts.around(namespace, uid),
        look_is_due=facts.look_is_due(namespace, uid),
        workload=next((r for r in own if isinstance(r, WorkloadRecord)), None),
        queueing=facts.queueing,
        renderings=renderings or Renderings(),
    )
