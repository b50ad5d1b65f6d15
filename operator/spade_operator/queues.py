"""Reads what Kueue says of runs that have a queue. While no run has one, nothing is asked.

Workloads are listed, not watched: a watch of a kind that may be missing would end all others, and a run that waits for
quota does not mind two seconds.
"""

import asyncio
import logging
from collections.abc import Iterator

from spade_contracts.errors import SpadeError
from spade_contracts.labels import RUN
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import PRIORITY_CLASS, RESOURCE_FLAVOR, Kube, NotFound, Object
from spade_operator.queue import WorkQueue
from spade_operator.queueing import Place, Queueing, flavor_place
from spade_operator.records import Kind, RunRecord, WorkloadRecord

AGAIN_SECONDS = 2.0
log = logging.getLogger("spade.queues")


async def keep_looking(
    kube: Kube, facts: Facts, queue: WorkQueue[Key], namespace: str, seconds: float = AGAIN_SECONDS
) -> None:
    """Look again and again while a run has a queue, until cancelled; whoever it concerns gets a pass."""
    while True:
        if any(_in_queues(facts)) or any(_workloads(facts)):
            try:
                await _look_and_tell(kube, facts, queue, namespace)
            except SpadeError as error:
                log.warning("looking at Workloads failed and is repeated in %.0f s: %s", seconds, error)
        await asyncio.sleep(seconds)


async def _look_and_tell(kube: Kube, facts: Facts, queue: WorkQueue[Key], namespace: str) -> None:
    referred, before = facts.queueing, {record.meta.uid: record for record in _workloads(facts)}
    await look(kube, facts, namespace)
    after = {record.meta.uid: record for record in _workloads(facts)}
    both = {**before, **after}
    for meta in (both[uid].meta for uid in both if before.get(uid) != after.get(uid)):
        queue.add(run_key(meta.namespace, meta.run))
    if facts.queueing != referred:
        for run in _in_queues(facts):
            queue.add(run_key(run.meta.namespace, run.meta.name))


async def look(kube: Kube, facts: Facts, namespace: str) -> None:
    """Make facts of all Workloads of ours, and of what they refer to; namespace '' looks at all.

    Raises SpadeError, and then nothing that is known changes.
    """
    try:
        listing = await kube.list(Kind.WORKLOAD, namespace, RUN)
    except NotFound:
        for workload in tuple(_workloads(facts)):
            facts.forget(workload)
        facts.queueing = Queueing(served=False)
        return
    found = (facts.read(Kind.WORKLOAD, item) for item in listing.items)
    records = [record for record in found if isinstance(record, WorkloadRecord)]
    names = {name for record in records for given in record.standing.flavors.values() for name in given}
    queueing = Queueing(True, await _flavors(kube, facts, names), await _priorities(kube, facts))
    facts.relist(Kind.WORKLOAD, records, listing.resource_version)
    facts.queueing = queueing


async def _flavors(kube: Kube, facts: Facts, names: set[str]) -> dict[str, Place]:
    """What is known stays as it is while it is in use, as do the pods that were made by it."""
    known = facts.queueing.flavors
    found = {name: known[name] if name in known else await _flavor(kube, name) for name in sorted(names)}
    return {name: place for name, place in found.items() if place is not None}


async def _flavor(kube: Kube, name: str) -> Place | None:
    flavor = await _object(kube, RESOURCE_FLAVOR, name)
    return None if flavor is None else flavor_place(flavor)


async def _priorities(kube: Kube, facts: Facts) -> dict[str, int]:
    """Values of PriorityClasses cannot change."""
    known = facts.queueing.priorities
    result = {}
    for name in sorted({name for run in _in_queues(facts) if (name := _priority_class(run))}):
        found = None if name in known else await _object(kube, PRIORITY_CLASS, name)
        if name in known or found is not None:
            result[name] = known[name] if found is None else int(found.get("value", 0))
    return result


async def _object(kube: Kube, kind: str, name: str) -> Object | None:
    try:
        return await kube.get(kind, "", name)
    except NotFound:
        return None


def _workloads(facts: Facts) -> Iterator[WorkloadRecord]:
    for record in facts.of_kind(Kind.WORKLOAD):
        if isinstance(record, WorkloadRecord):
            yield record


def _in_queues(facts: Facts) -> Iterator[RunRecord]:
    return (run for run in facts.runs() if run.spec is not None and run.spec.queue_name is not None)


def _priority_class(run: RunRecord) -> str | None:
    return run.spec.learner.pod.priority_class_name if run.spec is not None else None
