"""Posts Events beside the passes: none waits for one, and none fails by one.

An Event is tried once, with a short deadline. What cannot be posted is logged, counted and forgotten: conditions hold
the truth.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from spade_contracts.labels import GROUP, VERSION
from spade_operator.kube import EVENT, Kube, Object
from spade_operator.reconcile.events import News

CONTROLLER = f"{GROUP}/operator"
MAX_WAITING = 1000
BURST = 25
"""Events about one object at once."""
REFILL_SECONDS = 300.0
"""One more Event about it after so long: what flaps does not flood the API server."""
KNOWN_OBJECTS = 4096
MAX_INSTANCE = 128
MAX_NAME = 200
POSTED, FAILED, DROPPED = RESULTS = ("posted", "failed", "dropped")
log = logging.getLogger("spade.events")


@dataclass(frozen=True)
class Allowance:
    """How many Events about one object may be posted at a moment of the loop's clock."""

    left: float
    at: float


class Poster:
    """Takes news at once and posts them in their order. `count` is told type and result of each."""

    def __init__(
        self, kube: Kube, count: Callable[[str, str], None], instance: str, clock: Callable[[], float]
    ) -> None:
        self._kube, self._count, self._instance, self._clock = kube, count, instance[:MAX_INSTANCE], clock
        self._waiting: asyncio.Queue[News] = asyncio.Queue(MAX_WAITING)
        self._allowances: OrderedDict[str, Allowance] = OrderedDict()

    def tell(self, told: Iterable[News]) -> None:
        """Queue news for posting; too many, in all or about one object, are dropped."""
        for one in told:
            if self._waiting.full() or not self._allowed(one.regarding.uid):
                self._count(one.type, DROPPED)
                log.warning("no Event, for there are too many: %s", words(one))
                continue
            self._waiting.put_nowait(one)

    def _allowed(self, uid: str) -> bool:
        now = self._clock()
        known = self._allowances.pop(uid, Allowance(BURST, now))
        left = min(float(BURST), known.left + (now - known.at) / REFILL_SECONDS)
        self._allowances[uid] = Allowance(left - 1 if left >= 1 else left, now)
        while len(self._allowances) > KNOWN_OBJECTS:
            self._allowances.popitem(last=False)
        return left >= 1

    async def run(self) -> None:
        """Post until cancelled."""
        while True:
            one = await self._waiting.get()
            try:
                await self._kube.post(event(one, self._instance, datetime.now(UTC)))
            except Exception as error:
                # Whatever an Event meets, it must not end the operator.
                self._count(one.type, FAILED)
                log.warning("no Event: %s (%s)", words(one), error)
            else:
                self._count(one.type, POSTED)


def words(one: News) -> str:
    """News for the log."""
    about = one.regarding
    return f"{about.kind} {about.namespace}/{about.name} {one.type} {one.action} {one.reason}: {one.note}"


def event(one: News, instance: str, now: datetime) -> Object:
    """The Event. Its name follows from what it tells, so that nothing is told twice, and names sort as time goes:
    `kubectl describe` shows Events in the order of their names.
    """
    about = one.regarding
    told = "/".join((about.uid, one.version, one.action, one.reason))
    version = int(one.version) if one.version.isdigit() else 0
    mark = f"{version:016x}{one.order:x}{hashlib.sha256(told.encode()).hexdigest()[:8]}"
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": EVENT,
        "metadata": {"name": f"{about.name[:MAX_NAME].rstrip('-.')}.{mark}", "namespace": about.namespace},
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": str(one.type),
        "reason": one.reason,
        "action": one.action,
        "note": one.note,
        "regarding": {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": str(about.kind),
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
    }
