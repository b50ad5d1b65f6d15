"""The store of facts: the only memory between events and passes, and it can be thrown away at any time.

Watches, lists, the answers to our own writes and the poller all put facts here. An older version of an object never
replaces a newer one, and an object that was seen deleted does not come back.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import BaseModel

from spade_contracts.labels import Role
from spade_contracts.statuses import LearnerTarget
from spade_operator.children.names import batch_of, pool_family
from spade_operator.containers import Raw
from spade_operator.openings import Opening
from spade_operator.parts import engine_uid
from spade_operator.preflight.surroundings import Look, Surroundings
from spade_operator.queueing import NOTHING_READ, Queueing
from spade_operator.readings import Readings
from spade_operator.records import (
    ADOPTED,
    BatchRecord,
    DeploymentRecord,
    Kind,
    Meta,
    PodRecord,
    Record,
    RunRecord,
    record_of,
)

REMEMBERED_DELETIONS = 8192
REMEMBERED_TAKEN = 256


@dataclass(frozen=True)
class Poll:
    """The latest answer of a pod's status port, and when it came."""

    status: BaseModel | None
    """None: never answered, or the pod answers no longer."""
    error: str
    at: datetime
    failures: int = 0
    """Failed polls since the last answer."""


@dataclass(frozen=True)
class Told:
    """The target that the learner acknowledged, at which of its boots, and the engine boots it was for."""

    boot_id: str
    target: LearnerTarget
    engine_boots: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Applied:
    """A child as our last apply left it."""

    uid: str
    run_uid: str
    """Of the head that it was applied for."""
    edition: str
    digest: str
    """Of what was applied."""
    stamp: str
    """When the API server last changed anything at our word, RFC 3339."""


@dataclass(frozen=True, slots=True)
class Repairs:
    """How often a child was applied again because somebody else changed or deleted it."""

    count: int
    """Without a longer rest between two of them."""
    at: datetime
    """The latest."""
    told_at: datetime
    """When an Event told of one."""


RunName = tuple[str, str]
"""Namespace and name of a family: of a SpadeRun, or of a stand-alone EnvBatch."""
LogKey = tuple[str, str, int]
"""Pod UID, container, and its restarts when it ended."""
ChildName = tuple[Kind, str]
"""Kind and name, in a family."""


@dataclass
class Facts:
    """All facts. Only the event loop's thread touches it."""

    strange_definitions: str = ""
    """How the API server's definitions of our kinds are not the operator's; empty when they are."""
    _objects: dict[RunName, dict[ChildName, Record]] = field(default_factory=dict)
    _deleted: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _polls: dict[str, Poll] = field(default_factory=dict)
    _applied: dict[RunName, dict[ChildName, Applied]] = field(default_factory=dict)
    _repairs: dict[RunName, dict[ChildName, Repairs]] = field(default_factory=dict)
    _breaches: dict[str, datetime] = field(default_factory=dict)
    _ending: set[str] = field(default_factory=set)
    _told: dict[str, Told] = field(default_factory=dict)
    _logs: OrderedDict[LogKey, str] = field(default_factory=OrderedDict)
    _taken: OrderedDict[str, PodRecord] = field(default_factory=OrderedDict)
    queueing: Queueing = NOTHING_READ
    """What Workloads refer to, as far as it was read."""
    _look: Look | None = None
    _looks_come: bool = False
    _openings: dict[str, dict[str, Opening]] = field(default_factory=dict)
    _claims: dict[RunName, int] = field(default_factory=dict)
    _readings: Readings = field(default_factory=Readings)
    editions: Counter[Kind] = field(default_factory=Counter)
    """By kind: another number after every change of what is known of any object of it."""

    def read(self, kind: Kind, raw: Raw) -> Record:
        """The record of an object, kept or not; what of it is known is not validated again.

        Raises InvalidInput as `record_of` does.
        """
        return record_of(kind, raw, self._readings, self._namesake)

    def learn(self, kind: Kind, raw: Raw) -> Record:
        """Keep an object that the API server answered with; its record. Raises InvalidInput as `record_of` does."""
        record = self.read(kind, raw)
        self.put(record)
        return record

    def _namesake(self, meta: Meta) -> Record | None:
        return self.child(meta.namespace, meta.run, (meta.kind, meta.name))

    def put(self, record: Record) -> bool:
        """Keep a record unless a newer one, or its deletion, is known. Whether anything changed."""
        meta = record.meta
        if not meta.run or meta.uid in self._deleted:
            return False
        family = self._objects.setdefault((meta.namespace, meta.run), {})
        known = family.get((meta.kind, meta.name))
        if known == record:
            return False
        if known is not None and known.meta.uid == meta.uid and _version(record) < _version(known):
            return False
        family[meta.kind, meta.name] = record
        self.editions[meta.kind] += 1
        return True

    def forget(self, record: Record) -> None:
        """The object was deleted."""
        meta = record.meta
        self.editions[meta.kind] += 1
        self._readings.forget(meta.uid)
        self._deleted[meta.uid] = None
        while len(self._deleted) > REMEMBERED_DELETIONS:
            self._deleted.popitem(last=False)
        family = self._objects.get((meta.namespace, meta.run), {})
        known = family.get((meta.kind, meta.name))
        if known is not None and known.meta.uid == meta.uid:
            del family[meta.kind, meta.name]
            if not family:
                del self._objects[meta.namespace, meta.run]
        if isinstance(record, PodRecord) and record.disruption:
            # A pod of a deleted node goes in one stroke: no pass would see why, and it would be counted as a loss.
            self._taken[meta.uid] = record
            if len(self._taken) > REMEMBERED_TAKEN:
                self._taken.popitem(last=False)
        if meta.kind is Kind.POD:
            self._polls.pop(meta.uid, None)
            self._polls.pop(engine_uid(meta.uid), None)
            for key in [key for key in self._logs if key[0] == meta.uid]:
                del self._logs[key]
        if meta.kind in (Kind.RUN, Kind.BATCH):
            self._told.pop(meta.uid, None)
            self._breaches.pop(meta.uid, None)
            self._ending.discard(meta.uid)

    def relist(self, kind: Kind, records: Iterable[Record], resource_version: str) -> None:
        """A complete list of one kind: what it lacks is gone, unless it is newer than the list."""
        listed = list(records)
        uids = {record.meta.uid for record in listed}
        known = [r for family in self._objects.values() for r in family.values() if r.meta.kind is kind]
        version = int(resource_version) if resource_version.isdigit() else 0
        for record in known:
            if record.meta.uid not in uids and _version(record) <= version:
                self.forget(record)
        for record in listed:
            self.put(record)

    def run(self, namespace: str, name: str) -> RunRecord | None:
        """The SpadeRun of that name."""
        found = self._objects.get((namespace, name), {}).get((Kind.RUN, name))
        return found if isinstance(found, RunRecord) else None

    def pool(self, namespace: str, name: str) -> BatchRecord | None:
        """The stand-alone EnvBatch of that name."""
        found = self._objects.get((namespace, pool_family(name)), {}).get((Kind.BATCH, name))
        return found if isinstance(found, BatchRecord) and found.alone else None

    def pools(self) -> Iterator[BatchRecord]:
        """All stand-alone EnvBatches."""
        for record in self.of_kind(Kind.BATCH):
            if isinstance(record, BatchRecord) and record.alone:
                yield record

    def mark_deleting(self, record: Record, grace_seconds: int | None) -> None:
        """Our delete was accepted; the watch tells later when the object is gone."""
        family = self._objects.get((record.meta.namespace, record.meta.run), {})
        self._applied.get((record.meta.namespace, record.meta.run), {}).pop((record.meta.kind, record.meta.name), None)
        known = family.get((record.meta.kind, record.meta.name))
        if known is not None and known.meta.uid == record.meta.uid:
            meta = replace(known.meta, deleting=True, grace_seconds=grace_seconds)
            family[record.meta.kind, record.meta.name] = replace(known, meta=meta)
            self.editions[meta.kind] += 1

    def drop_adopted(self, namespace: str, run: str) -> None:
        """Nobody will tell when the adopted children of a deleted run go; owner references see to it."""
        family = self._objects.get((namespace, run), {})
        for name in [name for name, record in family.items() if record.meta.kind in ADOPTED]:
            del family[name]
        self._applied.pop((namespace, run), None)
        self._repairs.pop((namespace, run), None)
        if not family:
            self._objects.pop((namespace, run), None)

    def drop_secrets(self, only: RunName | None = None) -> None:
        """Forget what is known of Secrets from our own applies: they cannot be listed, so only applying shows them."""
        for family in self._objects.values() if only is None else (self._objects.get(only, {}),):
            for name in [name for name in family if name[0] is Kind.SECRET]:
                del family[name]

    def family(self, namespace: str, run: str) -> tuple[Record, ...]:
        """Everything that belongs to a run of that name, itself included."""
        return tuple(self._objects.get((namespace, run), {}).values())

    def taken(self, namespace: str, run: str) -> tuple[PodRecord, ...]:
        """Pods that scheduler, node or an eviction took from a run lately, as they were last."""
        return tuple(pod for pod in self._taken.values() if (pod.meta.namespace, pod.meta.run) == (namespace, run))

    @contextmanager
    def claiming(self, claims: Mapping[RunName, int]) -> Iterator[None]:
        """Sandbox pods that pools are about to have count as theirs meanwhile: another pass cannot promise them too."""
        self._claims.update(claims)
        try:
            yield
        finally:
            for name in claims:
                self._claims.pop(name, None)

    def sandboxes_beside(self, namespace: str, run: str) -> int:
        """Sandbox pods that the other families of the namespace have, are about to have, or still drain."""
        return sum(
            self._sandboxes((place, name), family.values())
            for (place, name), family in self._objects.items()
            if place == namespace and name != run
        )

    def _sandboxes(self, name: RunName, family: Iterable[Record]) -> int:
        own = [r for r in family if isinstance(r, PodRecord | DeploymentRecord) and r.meta.role is Role.SANDBOX]
        pods = [r for r in own if isinstance(r, PodRecord) and r.phase not in ("Succeeded", "Failed")]
        live = sum(1 for pod in pods if pod.live)
        wanted = (r.replicas for r in own if isinstance(r, DeploymentRecord) and not r.meta.deleting)
        return max(live, self._claims.get(name, 0), *wanted, 0) + len(pods) - live

    def runs(self) -> Iterator[RunRecord]:
        """All SpadeRuns."""
        for (_, name), family in list(self._objects.items()):
            found = family.get((Kind.RUN, name))
            if isinstance(found, RunRecord):
                yield found

    def of_kind(self, *kinds: Kind) -> Iterator[Record]:
        """All records of these kinds."""
        for family in list(self._objects.values()):
            yield from [record for record in family.values() if record.meta.kind in kinds]

    def families(self) -> tuple[RunName, ...]:
        """Names of all runs of which anything is known."""
        return tuple(self._objects)

    def set_poll(self, pod: PodRecord, poll: Poll) -> None:
        """Keep a pod's answer, if the pod is still known."""
        if (Kind.POD, pod.meta.name) in self._objects.get((pod.meta.namespace, pod.meta.run), {}):
            self._polls[pod.meta.uid] = poll

    def poll(self, pod_uid: str) -> Poll | None:
        """A pod's latest answer."""
        return self._polls.get(pod_uid)

    def child(self, namespace: str, run: str, child: ChildName) -> Record | None:
        """A child by kind and name."""
        return self._objects.get((namespace, run), {}).get(child)

    def set_applied(self, record: Record, digest: str, stamp: str) -> None:
        """The object as our apply left it."""
        meta = record.meta
        applied = Applied(meta.uid, meta.run_uid, meta.edition, digest, stamp)
        self._applied.setdefault((meta.namespace, meta.run), {})[meta.kind, meta.name] = applied

    def applied(self, namespace: str, run: str, child: ChildName) -> Applied | None:
        """What our last apply of a child left; None: not applied since the store began, or removed by us."""
        return self._applied.get((namespace, run), {}).get(child)

    def set_repairs(self, record: Record, repairs: Repairs) -> None:
        """A child was repaired once more."""
        meta = record.meta
        self._repairs.setdefault((meta.namespace, meta.run), {})[meta.kind, meta.name] = repairs

    def repairs(self, namespace: str, run: str, child: ChildName) -> Repairs | None:
        """Repairs of a child since the store began."""
        return self._repairs.get((namespace, run), {}).get(child)

    def set_breach(self, head_uid: str, at: datetime) -> None:
        """Somebody else had opened what closes the family's sandboxes, until this moment of the API server's clock."""
        self._breaches[head_uid] = at

    def breach(self, head_uid: str) -> datetime | None:
        """When the network of the family's sandboxes was closed again last."""
        return self._breaches.get(head_uid)

    def set_look(self, look: Look | None) -> bool:
        """The cluster as it was looked at last; None: nobody waits for a look. Whether that is new."""
        before, self._look = self._look, look
        return before != look

    def expect_looks(self, expected: bool) -> None:
        """Whether a look is made for whoever waits: not before somebody looks at all, nor while looking fails."""
        self._looks_come = expected

    def look_is_due(self, namespace: str, run_uid: str) -> bool:
        """Whether a look for this run is on its way."""
        return self._looks_come and self.around(namespace, run_uid) is None

    def around(self, namespace: str, run_uid: str) -> Surroundings | None:
        """What is known of the cluster around a run that waits for it."""
        return self._look.around(namespace, run_uid) if self._look is not None else None

    def set_opening(self, namespace: str, name: str, opening: Opening | None) -> bool:
        """A NetworkPolicy lets pods of its namespace out, or does so no longer. Whether that is new."""
        known = self._openings.setdefault(namespace, {})
        before = known.pop(name, None)
        if opening is not None:
            known[name] = opening
        if not known:
            del self._openings[namespace]
        return before != opening

    def relist_openings(self, openings: Iterable[Opening]) -> None:
        """A complete list."""
        self._openings = {}
        for opening in openings:
            self.set_opening(opening.namespace, opening.name, opening)

    def openings(self, namespace: str) -> tuple[Opening, ...]:
        """NetworkPolicies that let pods of a namespace out, ours among them, by name."""
        known = self._openings.get(namespace, {})
        return tuple(known[name] for name in sorted(known))

    def end(self, namespace: str, run: str) -> bool:
        """The namespace of a family is being deleted, and so its head. Whether that is new."""
        head = self.run(namespace, run) or self.pool(namespace, batch_of(run))
        if head is None or head.meta.uid in self._ending:
            return False
        self._ending.add(head.meta.uid)
        return True

    def ending(self, namespace: str, run: str) -> bool:
        """Whether the family's namespace is being deleted."""
        head = self.run(namespace, run) or self.pool(namespace, batch_of(run))
        return head is not None and head.meta.uid in self._ending

    def set_told(self, run_uid: str, told: Told) -> None:
        """The learner acknowledged a target."""
        self._told[run_uid] = told

    def told(self, run_uid: str) -> Told | None:
        """The target that the learner acknowledged last."""
        return self._told.get(run_uid)

    def set_log(self, key: LogKey, text: str) -> None:
        """Keep the last lines of a container that ended."""
        self._logs[key] = text
        while len(self._logs) > REMEMBERED_DELETIONS:
            self._logs.popitem(last=False)

    def log(self, key: LogKey) -> str | None:
        """Last lines of a container that ended; None: not fetched yet."""
        return self._logs.get(key)


def _version(record: Record) -> int:
    """Versions are decimal numbers that grow (KEP-5504)."""
    version = record.meta.resource_version
    return int(version) if version.isdigit() else 0
