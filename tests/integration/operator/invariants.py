"""What must hold after every single write of a run's life, whatever goes wrong. Pure: from a history to what broke."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.integration.operator.witness import Event

from spade_contracts import labels
from spade_operator.kube import Object
from spade_operator.records import Kind

DONE = ("Complete", "Failed")


@dataclass(frozen=True)
class Limits:
    """What the spec allows."""

    rollouts: int
    sandboxes: int
    engines: int
    group: dict[str, int]
    """Pods of a Job, by role."""
    budgets: dict[str, int]
    """Restarts by role."""


@dataclass
class Replay:
    """The world as the API server had it after each event."""

    limits: Limits
    alive: dict[str, Event] = field(default_factory=dict)
    """By UID."""
    jobs: dict[str, Object] = field(default_factory=dict)
    """All Jobs that there ever were, by UID."""
    units: dict[tuple[Kind, int], Object] = field(default_factory=dict)
    """Latest EnvBatch of each cycle and RolloutJob of each rollout, gone or not."""
    groups: int = 0
    """Learner Jobs since the run last made progress."""
    status: Object = field(default_factory=dict)
    """Of the run."""

    def broken(self, events: Iterable[Event]) -> Iterator[str]:
        """One line for each breach."""
        for event in events:
            new = event.uid not in self.alive and not event.gone
            breaches = [*(self._created(event) if new else ()), *self._changed(event)]
            if event.gone:
                self.alive.pop(event.uid, None)
            else:
                self.alive[event.uid] = event
            self._remember(event)
            for breach in (*breaches, *self._standing(event)):
                yield f"at version {event.version}, {event.kind} {event.object['metadata']['name']}: {breach}"

    def _created(self, event: Event) -> Iterator[str]:
        if event.kind in (Kind.BATCH, Kind.ROLLOUT):
            before = self.units.get(unit_of(event))
            if before is not None and not is_true(before, "Failed"):
                yield "the unit was made before"
        if event.kind is Kind.JOB:
            owner = owner_of(event.object)
            for unit in self.units.values():
                if unit["metadata"]["uid"] == owner and is_true(unit, "Complete"):
                    yield "finished work is begun again"
        if event.kind in (Kind.JOB, Kind.DEPLOYMENT):
            if is_true({"status": self.status}, "Failed"):
                yield "it is made for a run that has failed"
            if is_true({"status": self.status}, "Complete"):
                yield "it is made for a run that is complete"

    def _changed(self, event: Event) -> Iterator[str]:
        spec, role = event.object.get("spec", {}), role_of(event.object)
        if event.kind is Kind.DEPLOYMENT:
            most = {"sandbox": self.limits.sandboxes, "engine": self.limits.engines, "beacon": 1}[role]
            if not 1 <= spec["replicas"] <= most:
                yield f"{spec['replicas']} replicas, not 1 to {most}"
        if event.kind is Kind.JOB and spec["completions"] != self.limits.group.get(role, 1):
            yield f"{spec['completions']} pods"
        if event.kind is Kind.RUN and not event.gone:
            yield from self._status(event.object.get("status", {}))

    def _status(self, now: Object) -> Iterator[str]:
        before = self.status
        for name in ("rollout", "cycle", "policyVersion", "learnerAttempt", "handledRetry"):
            if now.get(name, 0) < before.get(name, 0):
                yield f"status.{name} went from {before[name]} to {now.get(name, 0)}"
        for role, counts in now.get("restarts", {}).items():
            if counts["total"] < before.get("restarts", {}).get(role, {}).get("total", 0):
                yield f"restarts of {role} were forgotten"
            lost, budget = counts["sinceProgress"], self.limits.budgets.get(role)
            if budget is not None and lost > budget + 1:
                yield f"{role} was restarted {lost} times with a budget of {budget}"
        whole = (now.get("rollout"), now.get("policyVersion")) == (self.limits.rollouts, self.limits.rollouts)
        if is_true({"status": now}, "Complete") and not whole:
            yield "it is complete without all rollouts"

    def _remember(self, event: Event) -> None:
        if event.kind is Kind.JOB:
            if event.uid not in self.jobs and role_of(event.object) == "learner":
                self.groups += 1
            self.jobs[event.uid] = event.object
        elif event.kind in (Kind.BATCH, Kind.ROLLOUT):
            self.units[unit_of(event)] = event.object
        elif event.kind is Kind.RUN:
            status = event.object.get("status", {})
            if any(status.get(n) != self.status.get(n) for n in ("policyVersion", "handledRetry")):
                self.groups = 0
            self.status = status

    def _standing(self, event: Event) -> Iterator[str]:
        """What the living objects must fulfil together."""
        if event.kind not in (Kind.JOB, Kind.POD):
            return
        jobs: defaultdict[str, set[str]] = defaultdict(set)
        for job in (e.object for e in self.alive.values() if e.kind is Kind.JOB):
            if not deleting(job) and not any(is_true(job, end) for end in DONE):
                jobs[work_of(job)].add(job["metadata"]["name"])
        pods: defaultdict[str, set[str]] = defaultdict(set)
        counted: Counter[str] = Counter()
        for pod in (e.object for e in self.alive.values() if e.kind is Kind.POD):
            if pod["status"].get("phase") not in ("Pending", "Running"):
                continue
            if not deleting(pod):
                counted[role_of(pod)] += 1
            if (job_or_none := self.jobs.get(owner_of(pod))) is not None:
                pods[work_of(job_or_none)].add(job_or_none["metadata"]["name"])
        for what, found in (("Jobs", jobs), ("Jobs with pods", pods)):
            for work, names in found.items():
                if len(names) > 1:
                    yield f"two {what} of one {work}: {', '.join(sorted(names))}"
        for role, most in (("sandbox", self.limits.sandboxes), ("engine", self.limits.engines)):
            if counted[role] > most:
                yield f"{counted[role]} pods of role {role}, more than {most}"
        if self.groups > self.limits.budgets["learner"] + 1:
            yield f"{self.groups} groups of learners without progress"


def is_true(item: Object, kind: str) -> bool:
    """Whether a condition of the object is True."""
    return any(c["type"] == kind and c["status"] == "True" for c in item.get("status", {}).get("conditions", []))


def deleting(item: Object) -> bool:
    """Whether the object is on its way out."""
    return "deletionTimestamp" in item["metadata"]


def role_of(item: Object) -> str:
    """Role label, or ''."""
    return str(item["metadata"].get("labels", {}).get(labels.ROLE, ""))


def owner_of(item: Object) -> str:
    """UID of the first owner, or ''."""
    return str(next((owner["uid"] for owner in item["metadata"].get("ownerReferences", [])), ""))


def unit_of(event: Event) -> tuple[Kind, int]:
    """Kind, and the cycle or rollout that it is about."""
    return event.kind, event.object["spec"]["cycle" if event.kind is Kind.BATCH else "rollout"]


def work_of(job: Object) -> str:
    """The unit of work that a Job is an attempt at."""
    role = role_of(job)
    return f"{role} of {owner_of(job)}" if role == "worker" else role
