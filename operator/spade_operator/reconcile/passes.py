"""One pass for one key: which object it is, what is decided for it, and how it ends."""

import logging
import time
from dataclasses import dataclass

from spade_contracts.resources import Condition, EnvBatchStatus, RolloutJobStatus
from spade_operator.keys import Key, child_keys, is_finished, run_key
from spade_operator.kube import Conflict, NamespaceEnding, NotFound, Refused
from spade_operator.metrics import Telemetry
from spade_operator.queue import WorkQueue
from spade_operator.reconcile.act import Hands, act, write_condition, write_status
from spade_operator.reconcile.cleanup import cleanup
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.env_batch import decide_batch
from spade_operator.reconcile.held import held, unread, without_run
from spade_operator.reconcile.observe import Observed, observe, observe_pool
from spade_operator.reconcile.pool import decide_pool
from spade_operator.reconcile.refusals import run_refused, unit_refused
from spade_operator.reconcile.release import COMPUTE, releases
from spade_operator.reconcile.rollout_job import decide_rollout
from spade_operator.reconcile.status import joined
from spade_operator.reconcile.steps import Action, HoldStorage
from spade_operator.records import BatchRecord, Kind, Record, RolloutRecord, RunRecord

CONFLICT_SECONDS = 0.05
GONE_AGAIN_SECONDS = 2.0
AFTER_ACTIONS_SECONDS = 1.0
"""A pass that acted is followed by another that sees what came of it, even if no event does."""
log = logging.getLogger("spade.passes")


@dataclass(frozen=True)
class Shop:
    """Everything that passes share."""

    hands: Hands
    queue: WorkQueue[Key]
    telemetry: Telemetry


@dataclass(frozen=True)
class Outcome:
    """How a pass ended."""

    wake_after_seconds: float | None = None
    """None: only an event brings the key back."""
    idle: bool = False
    """Nothing was done, and no status written."""


async def work(shop: Shop) -> None:
    """Take keys and make passes until cancelled. One bad object never ends this, and only delays itself."""
    while True:
        key = await shop.queue.get()
        failed = idle = False
        began = time.monotonic()
        try:
            outcome = await reconcile(shop, key)
            idle = outcome.idle
            if outcome.wake_after_seconds is not None:
                shop.queue.add_after(key, outcome.wake_after_seconds)
        except (Conflict, NotFound) as error:
            # Somebody else wrote first, or the object went; that is no fault, and the fresh fact is here or coming.
            log.info("%s %s/%s looks again: %s", key.kind, key.namespace, key.name, error)
            shop.queue.add_after(key, CONFLICT_SECONDS)
        except NamespaceEnding as error:
            if shop.hands.facts.end(key.namespace, key.run):
                log.info("%s %s/%s ends with its namespace: %s", key.kind, key.namespace, key.name, error)
                shop.queue.add(run_key(key.namespace, key.run))
        except Exception as error:
            # The one border where a pass may end in any error: it is counted, told, and tried again with back-off.
            failed = True
            shop.telemetry.reconcile_errors.labels(key.kind, type(error).__name__).inc()
            log.error(
                "%s %s/%s: pass failed, attempt %d: %s", key.kind, key.namespace, key.name,
                shop.queue.failures(key) + 1, error, exc_info=not hasattr(error, "permanent"),
            )  # fmt: skip
        finally:
            shop.telemetry.reconcile_seconds.labels(key.kind).observe(time.monotonic() - began)
            shop.queue.done(key, failed=failed, idle=idle)


async def reconcile(shop: Shop, key: Key) -> Outcome:
    """One pass."""
    if not shop.hands.leadership.holds():
        return Outcome()
    if shop.hands.facts.ending(key.namespace, key.run):
        await _ending(shop, key)
        return Outcome()
    if shop.hands.facts.strange_definitions:
        return Outcome(await _held(shop, key))
    if key.kind is Kind.RUN:
        return await _run(shop, key)
    return await (_pool(shop, key) if key.alone else _child(shop, key))


async def _run(shop: Shop, key: Key) -> Outcome:
    hands = shop.hands
    seen = observe(hands.facts, hands.site, key.namespace, key.name, hands.renderings)
    if seen is not None and seen.run.meta.deleting and seen.run.meta.holds_storage:
        return Outcome(await _cleaned(shop, seen))
    if seen is None or seen.run.meta.deleting:
        return Outcome(await _gone(shop, key))
    if seen.run.unreadable:
        return await _say(shop, seen.run, unread(seen.run, hands.clock()))
    decision = decide(seen, hands.clock())
    try:
        await act(hands, decision.actions)
    except Refused as error:
        shown = run_refused(seen, error, hands.clock())
        if shown != seen.status:
            await write_status(hands, seen.run, shown)
        raise
    news = decision.status != seen.status
    if news:
        await write_status(hands, seen.run, decision.status)
        # The answer is a fact already, so its watch event is no news: who depends on it is asked here.
        for concerned in (key, *child_keys(hands.facts, key)):
            shop.queue.add(concerned)
    wake = _earlier(decision.wake_after_seconds, AFTER_ACTIONS_SECONDS if decision.actions else None)
    return Outcome(wake, idle=not news and not decision.actions)


async def _cleaned(shop: Shop, seen: Observed) -> float | None:
    """A deleted run whose folder in run storage goes with it."""
    hands, now = shop.hands, shop.hands.clock()
    step = cleanup(seen, now)
    await act(hands, step.actions)
    status = joined(seen.status, [step], seen.run.meta.generation, now)
    if step.conditions and status != seen.status:
        await write_status(hands, seen.run, status)
    return _earlier(step.wake_after_seconds, AFTER_ACTIONS_SECONDS if step.actions else None)


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((wake for wake in (one, other) if wake is not None), default=None)


async def _pool(shop: Shop, key: Key) -> Outcome:
    hands = shop.hands
    seen = observe_pool(hands.facts, hands.site, key.namespace, key.name, hands.renderings)
    if seen is None or seen.head.meta.deleting:
        return Outcome(await _gone(shop, key))
    if seen.head.unreadable:
        return await _say(shop, seen.head, unread(seen.head, hands.clock()))
    actions, status, wake = decide_pool(seen, hands.clock())
    news = await _finish(shop, seen.head, actions, status)
    if news:
        shop.queue.add(key)
    return Outcome(_earlier(wake, AFTER_ACTIONS_SECONDS if actions else None), idle=not news and not actions)


async def _gone(shop: Shop, key: Key) -> float | None:
    """A deleted head of a family frees its pods at once; owner references see to the rest."""
    try:
        found = await shop.hands.kube.get(key.kind, key.namespace, key.name)
    except (NotFound, NamespaceEnding):
        pass
    else:
        record = shop.hands.facts.learn(key.kind, found)
        if record.meta.run == key.run and not record.meta.deleting:
            return CONFLICT_SECONDS
    await act(shop.hands, releases(_ours(shop, key)))
    if any(record.meta.kind in COMPUTE for record in _ours(shop, key)):
        return GONE_AGAIN_SECONDS
    shop.hands.facts.drop_adopted(key.namespace, key.run)
    return None


async def _held(shop: Shop, key: Key) -> float | None:
    """Under definitions of another edition pods of a deleted head still go; nothing else is done, and that is told."""
    hands, head = shop.hands, run_key(key.namespace, key.run)
    if key != head:
        return None
    record = hands.facts.pool(key.namespace, key.name) if key.alone else hands.facts.run(key.namespace, key.name)
    if record is not None and record.meta.deleting and record.meta.holds_storage:
        # What is known of its claim must last until its folder may be deleted.
        await act(hands, releases(_ours(shop, key)))
        return None
    if record is None or record.meta.deleting:
        return await _gone(shop, key)
    await _say(shop, record, held(record, hands.facts.strange_definitions, hands.clock()))
    return None


async def _say(shop: Shop, record: RunRecord | BatchRecord | RolloutRecord, condition: Condition | None) -> Outcome:
    """Write the one condition of an object for which nothing may be done, unless it stands already."""
    if condition is not None:
        await write_condition(shop.hands, record, condition)
    return Outcome(idle=condition is None)


async def _ending(shop: Shop, key: Key) -> None:
    """Nothing can be made in the namespace any more: the pods go at once, and then nothing is done until it is gone."""
    if key == run_key(key.namespace, key.run):
        await act(shop.hands, releases(_ours(shop, key)))
        run = shop.hands.facts.run(key.namespace, key.run)
        if run is not None and run.meta.holds_storage:
            # No Job can be made there any more, and the claim goes with the namespace.
            await act(shop.hands, (HoldStorage(run, holds=False),))


def _ours(shop: Shop, key: Key) -> tuple[Record, ...]:
    """Children of families of that name; what somebody else labelled so is left alone."""
    return tuple(r for r in shop.hands.facts.family(key.namespace, key.run) if r.meta.run_uid)


async def _child(shop: Shop, key: Key) -> Outcome:
    hands = shop.hands
    known = hands.facts.child(key.namespace, key.run, (key.kind, key.name))
    if isinstance(known, BatchRecord | RolloutRecord) and is_finished(known):
        return Outcome(idle=True)
    seen = observe(hands.facts, hands.site, key.namespace, key.run, hands.renderings)
    if isinstance(known, BatchRecord | RolloutRecord) and not (known.meta.owner_uid or known.meta.deleting):
        # The operator makes none without an owner, which the API server lets no unit outlive.
        return await _say(shop, known, without_run(known, there=seen is not None, now=hands.clock()))
    if seen is None or seen.run.problem or seen.run.unreadable:
        return Outcome(idle=True)
    record = next((child for child in seen.units if child.meta.name == key.name), None)
    if record is not None and record.unreadable:
        return await _say(shop, record, unread(record, hands.clock()))
    match record:
        case BatchRecord():
            actions, status, wake = decide_batch(seen, record, hands.clock())
            changed = await _finish(shop, record, actions, status)
        case RolloutRecord():
            actions, played, wake = decide_rollout(seen, record, hands.clock())
            changed = await _finish(shop, record, actions, played)
        case _:
            return Outcome(idle=True)
    if changed:
        shop.queue.add(run_key(key.namespace, key.run))
        shop.queue.add(key)
    return Outcome(wake, idle=not changed and not actions)


async def _finish(
    shop: Shop,
    record: BatchRecord | RolloutRecord,
    actions: tuple[Action, ...],
    status: EnvBatchStatus | RolloutJobStatus,
) -> bool:
    """Act, then write the status if it is new; whether it was."""
    try:
        await act(shop.hands, actions)
    except Refused as error:
        shown = unit_refused(record, error, shop.hands.clock())
        if shown != record.status:
            await write_status(shop.hands, record, shown)
        raise
    if status == record.status:
        return False
    await write_status(shop.hands, record, status)
    return True
