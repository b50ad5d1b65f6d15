"""The sandbox pool and the beacon are there, with the targets that the isolation probe tries."""

from collections.abc import Sequence
from datetime import datetime
from ipaddress import ip_address

from spade_contracts import ports
from spade_contracts.isolation import ProbeTarget, TargetKind
from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_operator.children.beacon import beacon_deployment
from spade_operator.children.names import role_name
from spade_operator.children.sandbox import probe_targets, sandbox_deployment
from spade_operator.reconcile.autoscale import pool_size, scaling_limited
from spade_operator.reconcile.causes import Cause, cause_of, first_trouble, without_replicas
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.steps import Step, Wanted, is_false, is_true
from spade_operator.records import ChildRecord, Kind


def sandboxes(seen: AnyPicture, now: datetime) -> Step:
    """Targets, beacon, pool, in this order: a pod reads its targets once, when it starts."""
    targets = _targets(seen)
    if targets is None:
        waiting = is_false(RunCondition.SANDBOXES_READY, Reason.WAITING, "The beacon's Service has no address yet.")
        return Step(conditions=(waiting,), phase=Phase.STARTING, blocks=True, wake_after_seconds=1.0)
    size = pool_size(seen, now)
    owner, site = seen.owner, seen.site
    applies = (
        *seen.rendered(probe_targets, owner, targets),
        *seen.rendered(beacon_deployment, owner, site),
        *seen.rendered(sandbox_deployment, owner, site, size.pods),
    )
    crashed, limited = _crashed(seen), scaling_limited(seen, now)
    return Step(
        actions=(*size.costs, *applies, *(fetch for cause in crashed for fetch in cause.fetch)),
        conditions=(_readiness(seen, crashed, limited, now), *limited),
        status={"quiet_since": size.quiet_since},
        wake_after_seconds=size.wake_after_seconds,
    )


def _crashed(seen: AnyPicture) -> list[Cause]:
    """Why sandboxes that never came up, and the beacon, ended. What a pod says that ran programs is no evidence."""
    new = [pod for pod in seen.pods_of(Role.SANDBOX) if not pod.admitted_boot]
    pods = (*new, *seen.pods_of(Role.BEACON))
    return [cause for pod in pods if not pod.ready and (cause := cause_of(pod, seen.logs)) is not None]


def _readiness(seen: AnyPicture, crashed: list[Cause], limited: tuple[Wanted, ...], now: datetime) -> Wanted:
    pods, beacon = seen.pods_of(Role.SANDBOX), seen.pods_of(Role.BEACON)
    ready, wanted = sum(1 for pod in pods if pod.ready), seen.owner.sandbox.min_pods
    waiting = first_trouble((pod for pod in (*pods, *beacon) if not pod.ready), now)
    if ready >= wanted:
        more = f" More are wanted: {waiting[1]}" if waiting is not None else ""
        return is_true(RunCondition.SANDBOXES_READY, Reason.READY, f"At least {wanted} pods take sessions.{more}")
    pools = (seen.deployments.get(role) for role in (Role.SANDBOX, Role.BEACON))
    if crashed and (waiting is None or waiting[0] is Reason.RESTARTING):
        return is_false(RunCondition.SANDBOXES_READY, Reason.RESTARTING, crashed[0].words)
    stuck = waiting or next(filter(None, map(without_replicas, pools)), None)
    if stuck is not None:
        return is_false(RunCondition.SANDBOXES_READY, *stuck)
    if limited and limited[0].status == "True":
        return is_false(RunCondition.SANDBOXES_READY, Reason.WAITING, limited[0].message)
    return is_false(RunCondition.SANDBOXES_READY, Reason.STARTING, f"{wanted} pods must be ready.")


def _targets(seen: AnyPicture) -> Sequence[ProbeTarget] | None:
    """The installation's targets, the beacon, and an admitted pod as everybody's neighbour once there is one."""
    service = seen.others.get((Kind.SERVICE, role_name(seen.owner.name, Role.BEACON)))
    address = service.cluster_ip if isinstance(service, ChildRecord) else ""
    if not address or address == "None":
        return None
    beacon = ProbeTarget(name="beacon", kind=TargetKind.BEACON, host=ip_address(address), port=ports.ENGINE_DATA)
    admitted = [pod for pod in seen.pods_of(Role.SANDBOX) if pod.admitted_boot and pod.ip]
    neighbours = [
        ProbeTarget(
            name="neighbour",
            kind=TargetKind.NEIGHBOUR,
            host=ip_address(pod.ip),
            port=ports.SANDBOX_SESSIONS,
        )
        for pod in sorted(admitted, key=lambda pod: (pod.meta.created_at or datetime.max, pod.meta.name))[:1]
    ]
    return (*seen.site.probe_targets, beacon, *neighbours)
