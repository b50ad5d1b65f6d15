"""Does what was decided. Every write is preceded by a look at the lease, and its answer is a fact at once."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp

from spade_contracts.errors import InfrastructureFault
from spade_contracts.labels import GROUP, HASH_ANNOTATION, ISOLATED_GATE, ROLE, RUN, STORAGE_FINALIZER, VERSION, Role
from spade_contracts.resources import Condition, EnvBatchStatus, Reason, RolloutJobStatus, SpadeRunStatus
from spade_contracts.tokens import Door, derive_token
from spade_operator.children.renderings import Renderings
from spade_operator.children.site import Site
from spade_operator.facts import Facts, Told
from spade_operator.kube import ApiError, Conflict, Kube, NotFound, Object, Refused
from spade_operator.lease import Leadership
from spade_operator.polling import Poller
from spade_operator.reconcile.drift import (
    Drift,
    drift,
    is_repair,
    may_repair,
    opens_sandboxes,
    repair_news,
    repaired,
    stamp_of,
)
from spade_operator.reconcile.events import News, news
from spade_operator.reconcile.marks import marked
from spade_operator.reconcile.namesakes import apply_to_ours, is_ours, refused
from spade_operator.reconcile.steps import (
    Action,
    Admit,
    Apply,
    Create,
    FetchLog,
    HoldStorage,
    MarkWorkload,
    Remove,
    Scale,
    SetDeletionCost,
    SetTarget,
)
from spade_operator.records import (
    DELETION_COST,
    BatchRecord,
    Kind,
    Record,
    RolloutRecord,
    RunRecord,
)
from spade_operator.status_request import BadAnswer

LOG_LINES = 20
log = logging.getLogger("spade.act")


@dataclass(frozen=True)
class Hands:
    """What acting needs: the API, facts for its answers, the lease, the poller, the installation, and who is told."""

    kube: Kube
    facts: Facts
    leadership: Leadership
    poller: Poller
    site: Site
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    tell: Callable[[Iterable[News]], None] = lambda told: None
    """Posts Events, later and perhaps."""
    count_repair: Callable[[Kind], None] = lambda kind: None
    renderings: Renderings = field(default_factory=Renderings)
    """What passes rendered before."""


async def act(hands: Hands, actions: tuple[Action, ...]) -> None:
    """Do the actions in order; the first that fails ends the pass, and the next pass looks again."""
    with hands.facts.claiming(_pool_sizes(actions)):
        for action in actions:
            hands.leadership.require()
            await _do(hands, action)


def _pool_sizes(actions: tuple[Action, ...]) -> dict[tuple[str, str], int]:
    """Sandbox pods that the actions give to a family, by its namespace and name."""
    manifests = [action.manifest for action in actions if isinstance(action, Apply)]
    return {
        (meta["namespace"], meta["labels"][RUN]): manifest["spec"]["replicas"]
        for manifest in manifests
        if manifest["kind"] == Kind.DEPLOYMENT and "replicas" in manifest.get("spec", ())
        if (meta := manifest["metadata"])["labels"].get(ROLE) == Role.SANDBOX
    }


async def _do(hands: Hands, action: Action) -> None:
    match action:
        case Create(manifest):
            await _create(hands, manifest)
        case Apply(manifest):
            await _apply(hands, manifest)
        case Scale(deployment, replicas):
            meta = deployment.meta
            wanted: Object = {"metadata": {"uid": meta.uid}, "spec": {"replicas": replicas}}
            answer = await hands.kube.patch(Kind.DEPLOYMENT, meta.namespace, meta.name, wanted)
            hands.facts.learn(Kind.DEPLOYMENT, answer)
        case HoldStorage(run, holds):
            await _hold_storage(hands, run, holds=holds)
        case Remove(record, grace_seconds, unchanged):
            meta = record.meta
            version = meta.resource_version if unchanged else None
            await hands.kube.delete(
                meta.kind, meta.namespace, meta.name, uid=meta.uid, version=version, grace_seconds=grace_seconds
            )
            if unchanged:
                # Somebody may have been faster; the watch tells.
                return
            hands.facts.mark_deleting(record, grace_seconds)
        case Admit():
            await _admit(hands, action)
        case SetDeletionCost(pod, cost):
            patch = {"metadata": {"uid": pod.meta.uid, "annotations": {DELETION_COST: str(cost)}}}
            answer = await hands.kube.patch(Kind.POD, pod.meta.namespace, pod.meta.name, patch)
            hands.facts.learn(Kind.POD, answer)
        case SetTarget():
            await _set_target(hands, action)
        case FetchLog():
            await _fetch_log(hands, action)
        case MarkWorkload():
            await _mark_workload(hands, action)


async def _apply(hands: Hands, manifest: Object) -> None:
    """Apply, unless somebody fights over the child and it is too early; what was made good is told."""
    meta = manifest["metadata"]
    place = meta["namespace"], meta["labels"][RUN], (Kind(manifest["kind"]), meta["name"])
    known, applied, before = hands.facts.child(*place), hands.facts.applied(*place), hands.facts.repairs(*place)
    if is_repair(known, applied, manifest) and not may_repair(before, hands.clock()):
        return
    answer = await apply_to_ours(hands.kube, hands.facts, manifest, known)
    record, stamp = hands.facts.learn(Kind(manifest["kind"]), answer), stamp_of(answer)
    what = drift(known, applied, manifest, record.meta, stamp)
    hands.facts.set_applied(record, meta["annotations"][HASH_ANNOTATION], stamp)
    if what is not None:
        _report(hands, manifest, record, what, stamp)


def _report(hands: Hands, manifest: Object, record: Record, what: Drift, stamp: str) -> None:
    """Count, log and tell a repair. Sandboxes that lived while their network was open are suspect from now on."""
    meta, now = record.meta, hands.clock()
    repairs = repaired(hands.facts.repairs(meta.namespace, meta.run, (meta.kind, meta.name)), now)
    hands.facts.set_repairs(record, repairs)
    hands.count_repair(meta.kind)
    log.warning("%s %s/%s was %s by somebody else and is repaired", meta.kind, meta.namespace, meta.name, what)
    if opens_sandboxes(manifest, what):
        hands.facts.set_breach(meta.run_uid, datetime.fromisoformat(stamp) if stamp else now)
    if repairs.told_at == now:
        hands.tell((repair_news(meta, what, repairs),))


async def _create(hands: Hands, manifest: Object) -> None:
    """An object of the name that exists already is looked at by the next pass, and never changed by this one.

    Raises Refused if it is of no or another family: a pass would not see it and try for ever. A claim may be anybody's.
    """
    try:
        answer = await hands.kube.create(manifest)
    except Conflict as error:
        kind, meta = manifest["kind"], manifest["metadata"]
        answer = await hands.kube.get(kind, meta["namespace"], meta["name"])
        there = hands.facts.read(Kind(kind), answer).meta
        if kind != Kind.CLAIM and not is_ours(there, manifest):
            raise refused(manifest, error.doing) from error
    hands.facts.learn(Kind(manifest["kind"]), answer)


async def _hold_storage(hands: Hands, run: RunRecord, *, holds: bool) -> None:
    """Other finalizers stay. A run that went, or lacks ours already, is no error."""
    meta = run.meta
    try:
        found = await hands.kube.get(meta.kind, meta.namespace, meta.name)
        others = [name for name in found["metadata"].get("finalizers") or [] if name != STORAGE_FINALIZER]
        patch: Object = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": found["metadata"]["resourceVersion"],
                "finalizers": [*others, *([STORAGE_FINALIZER] if holds else [])],
            }
        }
        hands.facts.learn(meta.kind, await hands.kube.merge(meta.kind, meta.namespace, meta.name, patch))
    except NotFound:
        return


async def _mark_workload(hands: Hands, action: MarkWorkload) -> None:
    """Raises Conflict if Kueue wrote meanwhile, after its word has become a fact."""
    meta = action.workload.meta
    found = await hands.kube.get(meta.kind, meta.namespace, meta.name)
    present = hands.facts.read(meta.kind, found)
    if (present.meta.uid, present.meta.resource_version) != (meta.uid, meta.resource_version):
        hands.facts.put(present)
        raise Conflict(f"mark {meta.kind} {meta.namespace}/{meta.name}", 409, "it was changed meanwhile")
    before = (found.get("status") or {}).get("conditions") or []
    status: Object = {"conditions": marked(before, action.marks, meta.generation, hands.clock())}
    if action.gives_back:
        status["admission"] = None
    patch: Object = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": status}
    answer = await hands.kube.merge(meta.kind, meta.namespace, meta.name, patch, part="status")
    hands.facts.learn(meta.kind, answer)


async def _admit(hands: Hands, action: Admit) -> None:
    condition = {
        "type": ISOLATED_GATE,
        "status": "True",
        "reason": str(Reason.PROVEN),
        "message": f"proven for boot {action.boot_id} after {action.pod.restarts} restarts",
        "lastTransitionTime": hands.clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    meta = action.pod.meta
    patch: Object = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
    answer = await hands.kube.patch(Kind.POD, meta.namespace, meta.name, patch, part="status")
    hands.facts.learn(Kind.POD, answer)


async def _set_target(hands: Hands, action: SetTarget) -> None:
    meta = action.pod.meta
    token = derive_token(hands.site.installation_key, meta.run_uid, Door.LEARNER_CONTROL)
    try:
        await hands.poller.set_target(action.pod, token, action.target)
    except (aiohttp.ClientError, TimeoutError, OSError, BadAnswer) as error:
        raise InfrastructureFault(
            f"learner {meta.namespace}/{meta.name} did not take policy version {action.target.policy_version} "
            f"as its target: {type(error).__name__}: {error}. It is told again."
        ) from error
    hands.facts.set_told(meta.run_uid, Told(action.boot_id, action.target, action.engine_boots, hands.clock()))


async def _fetch_log(hands: Hands, action: FetchLog) -> None:
    """A log that cannot be read is remembered as empty: the cause is then told without it."""
    meta = action.pod.meta
    text = ""
    try:
        text = await hands.kube.log(
            meta.namespace, meta.name, action.container, previous=action.previous, lines=LOG_LINES
        )
    except ApiError as error:
        log.info("no log of %s/%s: %s", meta.namespace, meta.name, error)
    hands.facts.set_log((meta.uid, action.container, action.restarts), text)


async def write_status(
    hands: Hands,
    record: RunRecord | BatchRecord | RolloutRecord,
    status: SpadeRunStatus | EnvBatchStatus | RolloutJobStatus,
) -> None:
    """Replace an object's status if it is still the version that was decided on, and tell what is new in it.

    Raises Conflict otherwise, after the present version has become a fact; an object that is gone is no error.
    """
    hands.leadership.require()
    meta = record.meta
    body: Mapping[str, Any] = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": str(meta.kind),
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        },
        "status": status.model_dump(mode="json", by_alias=True, exclude_none=True),
    }
    try:
        answer = await hands.kube.update(dict(body), part="status")
    except NotFound:
        return
    except Conflict:
        hands.facts.learn(meta.kind, await hands.kube.get(meta.kind, meta.namespace, meta.name))
        raise
    except Refused:
        log.error("status of %s %s/%s was refused: %s", meta.kind, meta.namespace, meta.name, body["status"])
        raise
    written = hands.facts.learn(meta.kind, answer)
    hands.tell(news(record, status.conditions, written.meta))


async def write_condition(hands: Hands, record: RunRecord | BatchRecord | RolloutRecord, condition: Condition) -> None:
    """Set one condition of an object and leave the rest of its status as the API server has it, fields that are not
    known here included. An object that is gone is no error; raises Conflict if it changes meanwhile.
    """
    hands.leadership.require()
    meta = record.meta
    try:
        found = await hands.kube.get(meta.kind, meta.namespace, meta.name)
    except NotFound:
        return
    status: Object = found.get("status") or {}
    others = [known for known in status.get("conditions") or [] if known.get("type") != condition.type]
    wanted = condition.model_dump(mode="json", by_alias=True, exclude_none=True)
    body = found | {"kind": str(meta.kind), "apiVersion": f"{GROUP}/{VERSION}"}
    answer = await hands.kube.update(body | {"status": status | {"conditions": [*others, wanted]}}, part="status")
    written = hands.facts.learn(meta.kind, answer)
    hands.tell(news(record, (condition,), written.meta))
