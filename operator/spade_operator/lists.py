"""Explicit lists of everything: before the first pass, and now and then, so that a lost event loses nothing."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from spade_contracts.errors import InvalidInput, SpadeError
from spade_contracts.labels import RUN
from spade_operator.facts import Facts, RunName
from spade_operator.keys import Key, keys_of, run_key
from spade_operator.kube import Kube
from spade_operator.making import making_seconds
from spade_operator.openings import opening_of
from spade_operator.queue import WorkQueue
from spade_operator.records import ADOPTED, Kind, PodRecord, Record

OURS = (Kind.RUN, Kind.BATCH, Kind.ROLLOUT)
METADATA_ONLY = (Kind.CLAIM, Kind.CONFIG_MAP, Kind.NETWORK_POLICY)
"""Of these only existence and digest are of interest."""
LISTED = tuple(kind for kind in Kind if kind not in (Kind.SECRET, Kind.WORKLOAD))
"""All but Workloads of Kueue, which not every cluster serves (queues.py), and Secrets. A right to list them would be
one to read everybody's. A run's are known from our own applies: now and then they are applied once more, which
changes nothing unless somebody deleted one.
"""
OFTEN = tuple(kind for kind in LISTED if kind in ADOPTED)
"""No watch tells of these. Of NetworkPolicies one does, and they are listed all the same: while one that somebody
deleted or changed goes unseen, sandboxes are open.
"""
OFTEN_SECONDS = 20.0
SUSPECT_SECONDS = 5.0, 120.0
"""Ages of a pod that waits for its container, between which a Secret may be what it lacks; later a resync looks."""
SECRETS_EVERY = 12
"""One of so many resyncs applies Secrets again: an hour, as it is set. Resyncs that come quicker than FREQUENT_SECONDS
all do."""
FREQUENT_SECONDS = 60.0
RETRY_SECONDS = 2.0
log = logging.getLogger("spade.lists")


async def relist(kube: Kube, facts: Facts, namespace: str, kinds: tuple[Kind, ...] = LISTED) -> None:
    """Put every object of ours, and every child but Secrets, into the store; namespace '' lists all."""
    for kind in kinds:
        records: list[Record] = []
        async for page in kube.pages(kind, namespace, "" if kind in OURS else RUN, metadata_only=kind in METADATA_ONLY):
            for item in page.items:
                try:
                    records.append(facts.read(kind, item))
                except InvalidInput as error:
                    log.error("%s", error)
            version = page.resource_version
        facts.relist(kind, records, version)


async def relist_policies(kube: Kube, facts: Facts, namespace: str) -> None:
    """Look at the NetworkPolicies of everybody: those of others may let sandboxes out."""
    found = [opening_of(item) async for page in kube.pages(Kind.NETWORK_POLICY, namespace) for item in page.items]
    facts.relist_openings(opening for opening in found if opening is not None)


async def first_list(kube: Kube, facts: Facts, namespace: str) -> None:
    """List until it works: without it nothing may act. The CRDs may still be on their way."""
    while True:
        try:
            await relist(kube, facts, namespace)
            await relist_policies(kube, facts, namespace)
        except SpadeError as error:
            log.warning("the first list failed and is tried again: %s", error)
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


def queue_all(facts: Facts, add: Callable[[Key], None]) -> None:
    """Ask for a pass for every run of which anything is known, and every EnvBatch and RolloutJob."""
    for namespace, run in facts.families():
        add(run_key(namespace, run))
    for record in facts.of_kind(Kind.BATCH, Kind.ROLLOUT):
        for key in keys_of(record):
            add(key)


def secrets_due(number: int, seconds: float) -> bool:
    """Whether the resync of this number, from 1, applies Secrets again; `seconds` lie between two."""
    return seconds < FREQUENT_SECONDS or number % SECRETS_EVERY == 0


async def resync(kube: Kube, facts: Facts, queue: WorkQueue[Key], namespace: str, seconds: float) -> None:
    """Repeat list and passes until cancelled; now and then Secrets are applied again."""
    for number in itertools.count(1):
        await asyncio.sleep(seconds)
        try:
            await relist(kube, facts, namespace)
            await relist_policies(kube, facts, namespace)
        except SpadeError as error:
            log.warning("a list failed and is repeated in %.0f s: %s", seconds, error)
        if secrets_due(number, seconds):
            facts.drop_secrets()
        queue_all(facts, queue.add_calmly)


async def catch_up(kube: Kube, facts: Facts, queue: WorkQueue[Key], namespace: str) -> None:
    """List once, after a gap in the watches, and repeat all passes; what fails is left to the next resync."""
    try:
        await relist(kube, facts, namespace)
        await relist_policies(kube, facts, namespace)
    except SpadeError as error:
        log.warning("a list failed after a gap in the watches: %s", error)
    queue_all(facts, queue.add_calmly)


async def miss(
    kube: Kube,
    facts: Facts,
    queue: WorkQueue[Key],
    namespace: str,
    seconds: float = OFTEN_SECONDS,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Look until cancelled whether children of these kinds are gone or changed; their families get a pass. So do those
    with a pod that may lack a Secret, which are then applied again.
    """
    while True:
        await asyncio.sleep(seconds)
        before = _editions(facts)
        try:
            await relist(kube, facts, namespace, OFTEN)
        except SpadeError as error:
            log.warning("a list failed and is repeated in %.0f s: %s", seconds, error)
        for namespace_and_run in {before[edition] for edition in before.keys() - _editions(facts).keys()}:
            queue.add(run_key(*namespace_and_run))
        for namespace_and_run in _without_secret(facts, clock()):
            facts.drop_secrets(namespace_and_run)
            queue.add(run_key(*namespace_and_run))


def _without_secret(facts: Facts, now: datetime) -> set[RunName]:
    """Families with a pod that has a node and not yet a container."""
    first, last = SUSPECT_SECONDS
    pods = (record for record in facts.of_kind(Kind.POD) if isinstance(record, PodRecord))
    return {
        (pod.meta.namespace, pod.meta.run)
        for pod in pods
        if pod.meta.run_uid and first <= making_seconds(pod, now) <= last
    }


def _editions(facts: Facts) -> dict[tuple[str, str], tuple[str, str]]:
    """Children of these kinds that are known, by UID and edition, and the family that each belongs to."""
    return {(r.meta.uid, r.meta.edition): (r.meta.namespace, r.meta.run) for r in facts.of_kind(*OFTEN)}
