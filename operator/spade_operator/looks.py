"""Looks at the cluster around runs that are not accepted yet, or whose Jobs get no pods.

Whoever is accepted and at work needs no look, so an operator with nothing to accept lists nothing. What may not be
listed stays unknown: no run waits for a right that the installation does not have.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping

from spade_contracts.errors import InvalidInput, SpadeError
from spade_contracts.resources import ConditionStatus, Reason, RunCondition
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.containers import Raw
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import (
    NODE,
    PRIORITY_CLASS,
    RESOURCE_QUOTA,
    RUNTIME_CLASS,
    STORAGE_CLASS,
    Kube,
    NotFound,
    Refused,
)
from spade_operator.preflight import surroundings
from spade_operator.preflight.plan import plan_of
from spade_operator.preflight.surroundings import Claim, Look, Quota
from spade_operator.queue import WorkQueue
from spade_operator.reconcile.observe import RESTING
from spade_operator.records import Kind, RunRecord

CHECK_SECONDS = 0.25
"""How soon a new run is noticed."""
AGAIN_SECONDS = 20.0
"""How often is looked while somebody waits."""
ASKING = frozenset({Reason.NO_POD, Reason.QUOTA_EXCEEDED})
"""What an accepted run may wait for, and quotas explain."""
log = logging.getLogger("spade.looks")


async def look_around(kube: Kube, facts: Facts, queue: WorkQueue[Key], site: Site, active: Callable[[], bool]) -> None:
    """Look while somebody waits, until cancelled; whoever waits gets a pass when there is news, or no look."""
    facts.expect_looks(True)
    calm = -1
    while True:
        edition, acts = facts.editions[Kind.RUN], active()
        waiting = tuple(waiting_runs(facts)) if acts and edition != calm else ()
        if not waiting:
            # Nobody waits before another run is known, or something else of one.
            calm = edition if acts else -1
            facts.set_look(None)
            await asyncio.sleep(CHECK_SECONDS)
            continue
        try:
            news = facts.set_look(await look(kube, site, waiting))
        except SpadeError as error:
            log.warning("looking at the cluster failed and is repeated in %.0f s: %s", AGAIN_SECONDS, error)
            facts.expect_looks(False)
            news = True
        else:
            facts.expect_looks(True)
        for run in waiting if news else ():
            queue.add(run_key(run.meta.namespace, run.meta.name))
        await _until_later_or_news(facts, {run.meta.uid for run in waiting})


async def _until_later_or_news(facts: Facts, known: set[str]) -> None:
    """Wait, but not with a run that has come meanwhile."""
    for _ in range(int(AGAIN_SECONDS / CHECK_SECONDS)):
        await asyncio.sleep(CHECK_SECONDS)
        if any(run.meta.uid not in known for run in waiting_runs(facts)):
            return


def waiting_runs(facts: Facts) -> Iterator[RunRecord]:
    """Runs to be accepted, and those that wait for what only the cluster can tell."""
    for run in facts.runs():
        if run.problem or run.unreadable or run.meta.deleting or run.status.phase in RESTING:
            continue
        conditions = run.status.conditions
        accepted = any(c.type == RunCondition.ACCEPTED and c.status is ConditionStatus.TRUE for c in conditions)
        if not accepted or any(c.reason in ASKING for c in conditions):
            yield run


async def look(kube: Kube, site: Site, runs: tuple[RunRecord, ...]) -> Look:
    """One look for these runs. Raises ApiError when the API server does not answer."""
    wide = site.look_at_cluster
    nodes = await _listed(kube, NODE) if wide else None
    runtime_classes = await _listed(kube, RUNTIME_CLASS) if wide else None
    priority_classes = await _listed(kube, PRIORITY_CLASS) if wide else None
    storage_classes = await _listed(kube, STORAGE_CLASS) if wide else None
    quotas = await _listed(kube, RESOURCE_QUOTA, site.watch_namespace)
    return Look(
        nodes=None if nodes is None else surroundings.nodes_of(nodes),
        runtime_classes=None if runtime_classes is None else surroundings.runtime_classes_of(runtime_classes),
        priority_classes=None if priority_classes is None else surroundings.names_of(priority_classes),
        storage_classes=None if storage_classes is None else surroundings.storage_classes_of(storage_classes),
        quotas=None if quotas is None else _by_namespace(quotas),
        claims={run.meta.uid: await _claims(kube, site, run) for run in runs},
    )


async def _listed(kube: Kube, kind: str, namespace: str = "") -> tuple[Raw, ...] | None:
    try:
        return (await kube.list(kind, namespace)).items
    except (Refused, NotFound) as error:
        log.info("not looked at: %s", error)
        return None


def _by_namespace(items: tuple[Raw, ...]) -> dict[str, tuple[Quota, ...]]:
    found: dict[str, tuple[Quota, ...]] = {}
    for item in items:
        namespace = item["metadata"]["namespace"]
        found[namespace] = (*found.get(namespace, ()), surroundings.quota_of(item))
    return found


async def _claims(kube: Kube, site: Site, run: RunRecord) -> Mapping[str, Claim] | None:
    """The claims that a run names, as far as they are there; None where they may not be read."""
    if run.spec is None:
        return None
    try:
        plan = plan_of(Run(run.meta.namespace, run.meta.name, run.meta.uid, run.spec), site)
    except InvalidInput:
        return None
    found = {}
    for name in {*plan.claims(), *([plan.claim] if plan.claim is not None else [])}:
        try:
            found[name] = surroundings.claim_of(await kube.get(Kind.CLAIM, run.meta.namespace, name))
        except NotFound:
            continue
        except Refused:
            return None
    return found
