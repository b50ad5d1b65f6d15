"""The store of facts: the only memory between events and passes, and it can be thrown away at any time.

Watches, lists, the answers to our own writes and the poller all put facts here. An older version of an object never
replaces a newer one, and an object that was seen deleted does not come back.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import BaseModel

from spade_contracts.statuses import LearnerTarget
from spade_operator.children.names import pool_family
from spade_operator.records import WATCHED, BatchRecord, Kind, PodRecord, Record, RunRecord

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


RunName = tuple[str, str]
"""Namespace and name of a family: of a SpadeRun, or of a stand-alone EnvBatch."""
LogKey = tuple[str, str, int]
"""Pod UID, container, and its restarts when it ended."""


@dataclass
class Facts:
    """All facts. Only the event loop's thread touches it."""

    _objects: dict[RunName, dict[tuple[Kind, str], Record]] = field(default_factory=dict)
    _deleted: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _polls: dict[str, Poll] = field(default_factory=dict)
    _applied: dict[str, str] = field(default_factory=dict)
    _told: dict[str, Told] = field(default_factory=dict)
    _logs: OrderedDict[LogKey, str] = field(default_factory=OrderedDict)
    _taken: OrderedDict[str, PodRecord] = field(default_factory=OrderedDict)

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
        return True

    def forget(self, record: Record) -> None:
        """The object was deleted."""
        meta = record.meta
        self._deleted[meta.uid] = None
        self._applied.pop(meta.uid, None)
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
            for key in [key for key in self._logs if key[0] == meta.uid]:
                del self._logs[key]
        if meta.kind is Kind.RUN:
            self._told.pop(meta.uid, None)

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
        known = family.get((record.meta.kind, record.meta.name))
        if known is not None and known.meta.uid == record.meta.uid:
            meta = replace(known.meta, deleting=True, grace_seconds=grace_seconds)
            family[record.meta.kind, record.meta.name] = replace(known, meta=meta)

    def drop_unwatched(self, namespace: str, run: str) -> None:
        """Nobody will tell when the unwatched children of a deleted run go; owner references see to it."""
        family = self._objects.get((namespace, run), {})
        for name in [name for name, record in family.items() if record.meta.kind not in WATCHED]:
            self._applied.pop(family.pop(name).meta.uid, None)
        if not family:
            self._objects.pop((namespace, run), None)

    def drop_secrets(self) -> None:
        """Forget what is known of Secrets from our own applies: they cannot be listed, so only applying shows them."""
        for family in self._objects.values():
            for name in [name for name in family if name[0] is Kind.SECRET]:
                del family[name]

    def family(self, namespace: str, run: str) -> tuple[Record, ...]:
        """Everything that belongs to a run of that name, itself included."""
        return tuple(self._objects.get((namespace, run), {}).values())

    def taken(self, namespace: str, run: str) -> tuple[PodRecord, ...]:
        """Pods that scheduler, node or an eviction took from a run lately, as they were last."""
        return tuple(pod for pod in self._taken.values() if (pod.meta.namespace, pod.meta.run) == (namespace, run))

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

    def set_applied(self, record: Record) -> None:
        """The object as our apply left it."""
        self._applied[record.meta.uid] = record.meta.edition

    def applied(self, uid: str) -> str | None:
        """Edition of an object that our last apply left; None: not applied since the store began."""
        return self._applied.get(uid)

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
