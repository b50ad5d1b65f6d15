"""One operator acts at a time: a Lease of coordination.k8s.io, held, renewed and given back.

Clocks of two operators are never compared: a rival's lease has expired when it did not change for its whole duration
on our own clock. Ours holds until its duration has passed since the *start* of the last renewal that succeeded.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from spade_contracts.errors import SpadeError
from spade_operator.kube import LEASE, Conflict, Kube, NotFound, Object

RENEWALS_PER_DURATION = 4
RETRY_SECONDS = 1.0
ATTEMPTS_PER_DURATION = 3
"""A renewal that gets no answer is given up in time for another one."""
log = logging.getLogger("spade.lease")


class NotLeading(SpadeError):
    """The lease was lost; nothing more may be written until it is held again."""

    permanent = False

    def __init__(self) -> None:
        super().__init__("This operator does not hold the lease, so it does not act. Another one does, or will.")


@dataclass
class Leadership:
    """Whether we hold the lease now. Shared with everything that writes."""

    clock: Callable[[], float]
    held_until: float = float("-inf")
    gained: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while we lead; passes start with it."""
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while we do not."""

    def holds(self) -> bool:
        """Whether we may write now."""
        return self.clock() < self.held_until

    def require(self) -> None:
        """Raise NotLeading unless we may write now."""
        if not self.holds():
            raise NotLeading


@dataclass(frozen=True)
class Seen:
    """A rival's lease as it was first seen in this state."""

    holder: str
    renewed: str
    since: float


def may_take(seen: Seen | None, holder: str, identity: str, now: float, duration: float) -> bool:
    """Whether the lease is free, ours, or was not renewed for its whole duration."""
    if holder in ("", identity):
        return True
    return seen is not None and now - seen.since >= duration


@dataclass(frozen=True)
class Claim:
    """Which lease, in whose name, for how long at a time."""

    namespace: str
    name: str
    identity: str
    duration_seconds: float


async def keep(kube: Kube, leadership: Leadership, claim: Claim, wanted: Callable[[], bool] = lambda: True) -> None:
    """Hold the lease as much as possible, until cancelled; then give it back.

    While it is not `wanted` yet, a rival's is only watched: whoever has to wait for it to expire waits already.
    """
    seen: Seen | None = None
    try:
        while True:
            began = leadership.clock()
            try:
                async with asyncio.timeout(claim.duration_seconds / ATTEMPTS_PER_DURATION):
                    seen = await _try_once(kube, leadership, claim, seen, wanted)
            except (SpadeError, KeyError, ValueError, TimeoutError) as error:
                log.warning("lease %s/%s: %s", claim.namespace, claim.name, str(error) or "no answer in time")
            if leadership.holds():
                leadership.lost.clear()
                leadership.gained.set()
            elif leadership.gained.is_set():
                log.error("lease %s/%s is lost; acting stops", claim.namespace, claim.name)
                leadership.gained.clear()
                leadership.lost.set()
            renewed = leadership.held_until >= began + claim.duration_seconds
            await asyncio.sleep(claim.duration_seconds / RENEWALS_PER_DURATION if renewed else RETRY_SECONDS)
    finally:
        if leadership.holds():
            leadership.held_until = float("-inf")
            await asyncio.shield(_give_back(kube, claim))


async def _try_once(
    kube: Kube, leadership: Leadership, claim: Claim, seen: Seen | None, wanted: Callable[[], bool]
) -> Seen | None:
    """Take or renew, or only look; returns what was seen of a rival."""
    began = leadership.clock()
    try:
        lease = await kube.get(LEASE, claim.namespace, claim.name)
    except NotFound:
        lease = {}
    spec: Object = lease.get("spec") or {}
    holder, renewed = spec.get("holderIdentity") or "", spec.get("renewTime") or ""
    if seen is None or (seen.holder, seen.renewed) != (holder, renewed):
        seen = Seen(holder, renewed, began)
    duration = float(spec.get("leaseDurationSeconds") or claim.duration_seconds)
    if not (wanted() and may_take(seen, holder, claim.identity, began, duration)):
        return seen
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    same = holder == claim.identity
    taken: Object = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        # Labels and annotations of whoever made it stay, above all Helm's, which else would not know it for its own.
        "metadata": {**(lease.get("metadata") or {}), "name": claim.name, "namespace": claim.namespace},
        "spec": {
            "holderIdentity": claim.identity,
            "leaseDurationSeconds": max(1, round(claim.duration_seconds)),
            "acquireTime": spec.get("acquireTime", now) if same else now,
            "renewTime": now,
            "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (0 if same else 1),
        },
    }
    try:
        await (kube.update(taken) if lease else kube.create(taken))
    except Conflict:
        return seen  # a rival was faster
    leadership.held_until = began + claim.duration_seconds
    return seen


async def _give_back(kube: Kube, claim: Claim) -> None:
    """Leave the lease without a holder, so that a successor need not wait."""
    try:
        lease = await kube.get(LEASE, claim.namespace, claim.name)
        if lease["spec"].get("holderIdentity") == claim.identity:
            lease["spec"]["holderIdentity"] = ""
            await kube.update(lease)
    except SpadeError as error:
        log.warning("lease %s/%s could not be given back: %s", claim.namespace, claim.name, error)
