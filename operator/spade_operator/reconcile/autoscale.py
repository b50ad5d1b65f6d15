"""A sandbox pool grows at once, shrinks late, and lets its busiest pods go last (design §6).

Demand is what the workers have open or wait for, never what a sandbox says of itself.
"""

from dataclasses import dataclass
from datetime import datetime
from math import ceil

from spade_contracts.labels import Role
from spade_contracts.resources.run_parts import Autoscaling
from spade_contracts.statuses import SandboxStatus, WorkerStatus
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.steps import SetDeletionCost


@dataclass(frozen=True)
class PoolSize:
    """How many pods are wanted, and what must be remembered until the next pass."""

    pods: int | None
    """None: somebody else decides."""
    quiet_since: str | None = None
    costs: tuple[SetDeletionCost, ...] = ()
    """To be set before the pool shrinks."""
    wake_after_seconds: float | None = None


def demand(seen: AnyPicture) -> int:
    """Sessions that the workers hold or wait for."""
    answers = (seen.answer(pod, WorkerStatus) for pod in seen.pods_of(Role.WORKER))
    return sum(a.sessions_open + a.sessions_wanted for a in answers if a is not None)


def pool_size(seen: AnyPicture, now: datetime) -> PoolSize:
    """The size of the pool from now on."""
    wanted = seen.owner.sandbox
    if wanted.autoscaling is Autoscaling.EXTERNAL:
        return PoolSize(None)
    deployment = seen.deployments.get(Role.SANDBOX)
    present = deployment.replicas if deployment is not None and not deployment.meta.deleting else wanted.min_pods
    target = min(max(ceil(demand(seen) / wanted.sessions_per_pod), wanted.min_pods), wanted.max_pods)
    if target >= present:
        # Pods that a shrinking removes are told from lost ones by their number alone: they go before the pool grows.
        surplus = len(seen.head.status.admitted) > present
        return PoolSize(max(present, wanted.min_pods) if surplus else target)
    if present > wanted.max_pods:
        return PoolSize(wanted.max_pods, costs=_costs(seen))
    quiet_since = seen.head.status.quiet_since
    since = datetime.fromisoformat(quiet_since) if quiet_since else now
    left = wanted.quiet_seconds - (now - since).total_seconds()
    if left > 0:
        return PoolSize(present, since.isoformat(timespec="seconds"), wake_after_seconds=left)
    return PoolSize(target, costs=_costs(seen))


def _costs(seen: AnyPicture) -> tuple[SetDeletionCost, ...]:
    """Costs of the busy pods; without one a pod costs nothing, so the idle go first."""
    costs: list[SetDeletionCost] = []
    for pod in seen.pods_of(Role.SANDBOX):
        answer = seen.answer(pod, SandboxStatus)
        sessions = min(answer.sessions, seen.owner.sandbox.sessions_per_pod) if answer is not None else 0
        if sessions and pod.deletion_cost != str(sessions):
            costs.append(SetDeletionCost(pod, sessions))
    return tuple(costs)
