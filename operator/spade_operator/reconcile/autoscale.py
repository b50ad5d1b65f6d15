"""A sandbox pool grows at once, shrinks late, and lets its busiest pods go last (design §6).

What is wanted follows from the workers' demand. What is allowed is the run's own maximum, what the installation lets a
namespace have, and one trial pod at a time while new pods fail to start. Draining pods count until they are gone.
"""

from dataclasses import dataclass
from datetime import datetime
from math import ceil

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.resources.run_parts import Autoscaling
from spade_contracts.statuses import SandboxStatus
from spade_operator.reconcile.breaker import held_by_starts, with_trial
from spade_operator.reconcile.demand import demand
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.steps import SetDeletionCost, Wanted, is_false, is_true

LIMITED = RunCondition.SCALING_LIMITED
LOOK_AGAIN_SECONDS = 2.0
"""Pause between two looks at what other pools hold: nothing tells this family of it."""


@dataclass(frozen=True)
class PoolSize:
    """How many pods are wanted, and what must be remembered until the next pass."""

    pods: int | None
    """None: somebody else decides."""
    quiet_since: str | None = None
    costs: tuple[SetDeletionCost, ...] = ()
    """To be set before the pool shrinks."""
    wake_after_seconds: float | None = None


@dataclass(frozen=True)
class Limits:
    """How large the pool may be."""

    standing: int | None
    """Pods that its Deployment has; None: there is none yet."""
    growth: int
    """It grows to no more than this, and keeps what it has beyond."""
    most: int
    """It shrinks to this at once."""
    room: int | None
    """Pods that the namespace has for it; None: the installation sets no limit."""
    held: str
    """Why only one pod is tried; empty: starts do not fail."""

    @property
    def full(self) -> bool:
        """Whether the namespace has no room for one pod more."""
        return self.room is not None and self.room <= (self.standing or 0)


def wanted_pods(seen: AnyPicture) -> int:
    """Pods that demand, spare capacity and the run's bounds ask for."""
    sandbox = seen.owner.sandbox
    needed = ceil(demand(seen.pods, seen.polls.get) / sandbox.sessions_per_pod) + sandbox.spare_pods
    return min(max(needed, sandbox.min_pods), sandbox.max_pods)


def limits(seen: AnyPicture, now: datetime) -> Limits:
    """What the pool may be now."""
    sandbox, pool, cap = seen.owner.sandbox, seen.deployments.get(Role.SANDBOX), seen.site.sandbox_pods_per_namespace
    standing = pool.replicas if pool is not None and not pool.meta.deleting else None
    leaving = [pod for pod in seen.pods if pod.meta.role is Role.SANDBOX and pod.meta.deleting]
    # A pod that ought to be gone is on a node that does not answer: nobody knows for how long.
    draining = sum(1 for pod in leaving if pod.leaves_at is None or pod.leaves_at > now)
    growth = max(sandbox.max_pods - draining, sandbox.min_pods)
    room = cap - seen.sandboxes_beside - draining if cap else None
    held = held_by_starts(seen, now)
    return Limits(
        standing=standing,
        growth=growth if room is None else min(growth, max(room, 0)),
        most=min(sandbox.max_pods, with_trial(seen)) if held else sandbox.max_pods,
        room=room,
        held=held,
    )


def pool_size(seen: AnyPicture, now: datetime) -> PoolSize:
    """The size of the pool from now on."""
    sandbox = seen.owner.sandbox
    if sandbox.autoscaling is Autoscaling.EXTERNAL:
        return PoolSize(None)
    allowed = limits(seen, now)
    standing = allowed.standing
    present = min(sandbox.min_pods, allowed.growth) if standing is None else standing
    target = min(wanted_pods(seen), max(allowed.growth, standing or 0), allowed.most)
    if target >= present:
        # Pods that a shrinking removes are told from lost ones by their number alone: they go before the pool grows.
        surplus = max(len(seen.head.status.admitted), len(seen.pods_of(Role.SANDBOX))) > present
        pods = max(present, min(sandbox.min_pods, target)) if surplus else target
        return PoolSize(pods, wake_after_seconds=LOOK_AGAIN_SECONDS if allowed.full else None)
    if present > allowed.most:
        return PoolSize(allowed.most, costs=_costs(seen))
    quiet_since = seen.head.status.quiet_since
    since = datetime.fromisoformat(quiet_since) if quiet_since else now
    left = sandbox.quiet_seconds - (now - since).total_seconds()
    if left > 0:
        return PoolSize(present, since.isoformat(timespec="seconds"), wake_after_seconds=left)
    return PoolSize(target, costs=_costs(seen))


def scaling_limited(seen: AnyPicture, now: datetime) -> tuple[Wanted, ...]:
    """The condition ScalingLimited; nothing before it has been True once.

    It stays while its cause does, whatever the demand: that comes and goes with every rollout.
    """
    before = seen.condition(LIMITED)
    sandbox = seen.owner.sandbox
    if sandbox.autoscaling is Autoscaling.OPERATOR:
        allowed = limits(seen, now)
        if allowed.held:
            return (is_true(LIMITED, Reason.STARTS_FAIL, allowed.held),)
        stays = before is not None and before.reason == Reason.NAMESPACE_FULL
        if allowed.full and (stays or wanted_pods(seen) > (allowed.standing or 0)):
            return (is_true(LIMITED, Reason.NAMESPACE_FULL, _namespace_full(seen)),)
    if before is None:
        return ()
    return (is_false(LIMITED, Reason.WITHIN_LIMITS, "Only spec.sandbox bounds the pool."),)


def _namespace_full(seen: AnyPicture) -> str:
    return (
        f"The installation allows {seen.site.sandbox_pods_per_namespace} sandbox pods in namespace "
        f"{seen.owner.namespace}, draining ones included, and all are taken. The pool grows when others go. "
        "To have more, lower maxPods of other pools, or ask the administrator for a higher sandbox.podsPerNamespace."
    )


def _costs(seen: AnyPicture) -> tuple[SetDeletionCost, ...]:
    """Costs of the busy pods; without one a pod costs nothing, so the idle go first."""
    costs: list[SetDeletionCost] = []
    for pod in seen.pods_of(Role.SANDBOX):
        answer = seen.answer(pod, SandboxStatus)
        sessions = min(answer.sessions, seen.owner.sandbox.sessions_per_pod) if answer is not None else 0
        if sessions and pod.deletion_cost != str(sessions):
            costs.append(SetDeletionCost(pod, sessions))
    return tuple(costs)
