"""From the store of facts to one frozen picture of a run: the only input of its decision besides the clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from spade_contracts.config import MethodConfig
from spade_contracts.labels import HASH_ANNOTATION, Role
from spade_contracts.resources import Condition, RunCondition, SpadeRunSpec, SpadeRunStatus
from spade_contracts.statuses import LearnerStatus
from spade_operator.children.manifests import Manifest
from spade_operator.children.run import Run
from spade_operator.children.site import Site
from spade_operator.facts import Facts, LogKey, Poll, Told
from spade_operator.reconcile.steps import Action, Apply
from spade_operator.records import (
    WATCHED,
    BatchRecord,
    DeploymentRecord,
    JobRecord,
    Kind,
    PodRecord,
    Record,
    RolloutRecord,
    RunRecord,
)

Status = TypeVar("Status", bound=BaseModel)
SILENT_AFTER_FAILURES = 5
"""Polls in a row that must fail before a pod's last answer counts no longer."""


@dataclass(frozen=True)
class Observed:
    """A run and all that is known of its children, which carry its UID. What else has its label is not ours to touch.

    Watched children of a deleted namesake are in `leftovers`.
    Unwatched ones (Secrets, Services, policies) are simply applied again: they get the new run as their owner.
    """

    site: Site
    run: RunRecord
    batches: Mapping[int, BatchRecord]
    """By cycle."""
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

    @property
    def spec(self) -> SpadeRunSpec:
        """The accepted spec; only for policies that come after acceptance."""
        assert self.run.spec is not None
        return self.run.spec

    @property
    def method(self) -> MethodConfig:
        """The resolved settings; only for policies that come after acceptance."""
        assert self.run.method is not None
        return self.run.method

    @property
    def status(self) -> SpadeRunStatus:
        """The status written last."""
        return self.run.status

    @property
    def parent(self) -> Run:
        """The run as builders of children know it."""
        meta = self.run.meta
        return Run(meta.namespace, meta.name, meta.uid, self.spec)

    def pods_of(self, role: Role) -> tuple[PodRecord, ...]:
        """Live pods of a role, by name."""
        return tuple(p for p in self.pods if p.meta.role is role and p.live)

    def condition(self, kind: RunCondition) -> Condition | None:
        """A condition as it was written last."""
        return next((c for c in self.status.conditions if c.type == kind), None)

    def holds(self, kind: RunCondition) -> bool:
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

    def changed(self, manifests: list[Manifest]) -> tuple[Action, ...]:
        """Applies for those manifests whose content is not what was applied last, or was changed by others since."""
        return tuple(Apply(manifest) for manifest in manifests if not self._is_applied(manifest))

    def _is_applied(self, manifest: Manifest) -> bool:
        name, kind = manifest["metadata"]["name"], Kind(manifest["kind"])
        known: Record | None = self.others.get((kind, name))
        if kind is Kind.DEPLOYMENT:
            known = next((d for d in self.deployments.values() if d.meta.name == name), None)
        if known is None or known.meta.deleting:
            return False
        same = known.meta.hash == manifest["metadata"]["annotations"][HASH_ANNOTATION]
        return bool(same and self.applied.get(known.meta.uid) == known.meta.edition)


def observe(facts: Facts, site: Site, namespace: str, name: str) -> Observed | None:
    """The picture of a run, or None when there is no such run (any more)."""
    run = facts.run(namespace, name)
    if run is None:
        return None
    family = sorted((r for r in facts.family(namespace, name)), key=lambda r: (r.meta.kind, r.meta.name))
    children = [r for r in family if r.meta.kind is not Kind.RUN]
    own = [r for r in children if r.meta.run_uid == run.meta.uid or (r.meta.kind is Kind.CLAIM and not r.meta.run_uid)]
    pods = tuple(r for r in own if isinstance(r, PodRecord))
    polls = {pod.meta.uid: poll for pod in pods if (poll := facts.poll(pod.meta.uid)) is not None}
    keys = [(pod.meta.uid, c.name, n) for pod in pods for c in pod.containers for n in (c.restarts, c.restarts - 1)]
    return Observed(
        site=site,
        run=run,
        batches={r.spec.cycle: r for r in own if isinstance(r, BatchRecord)},
        rollouts={r.spec.rollout: r for r in own if isinstance(r, RolloutRecord)},
        pods=pods,
        jobs={r.meta.name: r for r in own if isinstance(r, JobRecord)},
        deployments={r.meta.role: r for r in own if isinstance(r, DeploymentRecord) and r.meta.role is not None},
        others={(r.meta.kind, r.meta.name): r for r in own if r.meta.kind not in WATCHED},
        leftovers=tuple(r for r in children if r.meta.kind in WATCHED and r.meta.run_uid not in ("", run.meta.uid)),
        polls=polls,
        logs={key: text for key in keys if (text := facts.log(key)) is not None},
        told=facts.told(run.meta.uid),
        applied={r.meta.uid: edition for r in own if (edition := facts.applied(r.meta.uid)) is not None},
    )
