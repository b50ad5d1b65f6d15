"""No sandbox pod gets a program before it has proven gVisor, its walls and a closed network (design §11).

A pod is judged by its own status port before its first program, against the beacon's positive control. The verdict is
written into the pod as its readiness gate, together with the boot it is for. A pod that is not at that boot any more
is replaced: a container restarted in a used pod cannot be trusted with its own probe. So is an admitted pod that lived
while its NetworkPolicies were changed or gone: it may have found a way out. One that was not admitted yet ran nothing,
and its probe is still to come or was of the network as it is again.
"""

from dataclasses import dataclass
from datetime import datetime

from spade_contracts.isolation import TargetKind
from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.resources.run_parts import Autoscaling
from spade_contracts.statuses import BeaconStatus, ProbeResult, SandboxStatus
from spade_operator.children.names import child_name
from spade_operator.children.policies import CLOSING, network_policies
from spade_operator.children.sandbox import sandbox_labels
from spade_operator.reconcile.causes import is_counted
from spade_operator.reconcile.fit import MAX_TRACKED
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.steps import Action, Admit, Remove, Step, Wanted, is_false, is_true
from spade_operator.records import Kind, PodRecord

PROVING = "proving the isolation of the sandboxes"
PROBE_AGAIN_SECONDS = 60.0
"""Age at which a pod that failed is replaced by a fresh one, which may find a mended network."""
CONTROL_PATIENCE_SECONDS = 45.0
"""Policies arrive a little after pods: so long the beacon may still fail."""
DISCARD_GRACE_SECONDS = 1
WITHOUT_CONTROL = frozenset({TargetKind.NEIGHBOUR.value, TargetKind.BEACON.value})
"""Kinds that the beacon cannot try: it is one of them, and starts before there is a neighbour."""
IN_DOUBT = Reason.NETWORK_OPEN
"""The one finding of a fresh pod that may hold for older ones: a network changes under a pod, its kernel does not."""
PAUSED = (
    "Nothing new is played, and what was being played is given up and played again, until fresh pods have proven a "
    "closed network; then the run goes on by itself. spec.suspend: Now gives its pods back meanwhile."
)
SEE = "the condition Isolated says what was found and when the run goes on."
HELD_UP = "Nothing new begins until this is mended; then the run goes on by itself."
FINDINGS = frozenset({
    Reason.NOT_GVISOR, Reason.NETWORK_OPEN, Reason.WALL_MISSING, Reason.CONTROL_FAILED, Reason.POLICY_CHANGED,
})  # fmt: skip
"""What holds the run back until a fresh pod is proven."""


OPENED = (
    "A NetworkPolicy of the sandboxes was changed or deleted by somebody else and has been applied again; sandbox pods "
    "that ran programs meanwhile are replaced and proven anew."
)

OPENED_BY_OTHERS = (
    "The NetworkPolicy {} of this namespace is none of the run's, selects the sandbox pods and allows egress. Let it "
    "select other pods, such as with matchExpressions: [{{key: spade.dev/role, operator: NotIn, values: [sandbox]}}]."
)
MAX_NAMED = 4


@dataclass(frozen=True)
class Verdict:
    """What is known of one pod, or of the beacon."""

    proven: bool = False
    reason: Reason = Reason.PROBING
    message: str = ""
    discard: bool = False
    """The pod can never be proven; a fresh one can."""
    kinds: frozenset[str] = frozenset()
    """Kinds of targets that a proven beacon reached."""

    @property
    def refused(self) -> bool:
        """Whether something is wrong, rather than not known yet."""
        return not self.proven and self.reason is not Reason.PROBING


def judge_pod(  # noqa: PLR0911  # one return for each finding, in the order of their weight
    pod: PodRecord, status: SandboxStatus | None, control: Verdict
) -> Verdict:
    """Judge a sandbox pod before its first program."""
    if status is None or status.probe is None:
        return Verdict()
    where = f"sandbox pod {pod.meta.name}"
    if status.served:
        return Verdict(message=f"{where} ran programs before it was proven", discard=True)
    if not status.probe.gvisor:
        kernel = status.probe.kernel[:100]
        return Verdict(
            reason=Reason.NOT_GVISOR,
            message=f"{where} does not run in gVisor (its kernel says: {kernel}). Check the RuntimeClass.",
        )
    if not status.walls:
        return Verdict()
    missing = sorted(name for name, stands in status.walls.items() if not stands)
    if missing:
        return Verdict(reason=Reason.WALL_MISSING, message=f"{where} lacks these walls: {', '.join(missing)}.")
    reached = [attempt for attempt in status.probe.attempts if attempt.reached]
    if any(attempt.host == pod.ip for attempt in reached):
        return Verdict(message=f"{where} was given its own address as a target", discard=True)
    if reached:
        names = ", ".join(f"{attempt.name} ({attempt.host}:{attempt.port})" for attempt in reached)
        return Verdict(
            reason=Reason.NETWORK_OPEN,
            message=f"{where} reached {names}. Are NetworkPolicies enforced? See docs/operator.md.",
        )
    if not control.proven:
        return control
    return _against_control(where, status.probe, control)


def _against_control(where: str, probe: ProbeResult, control: Verdict) -> Verdict:
    """The silence of a target proves something only if the beacon heard one of its kind."""
    tried = {attempt.kind for attempt in probe.attempts}
    unheard = sorted(tried - control.kinds - WITHOUT_CONTROL)
    if not tried or unheard:
        what = f"the beacon tried no target of the kind {', '.join(unheard)}" if tried else f"{where} tried no target"
        return Verdict(reason=Reason.CONTROL_FAILED, message=f"{what}, so silence proves nothing.")
    return Verdict(proven=True)


def judge_control(pod: PodRecord | None, status: BeaconStatus | None, now: datetime) -> Verdict:
    """Judge the beacon: it must reach every target that it tries, and try one."""
    if pod is None or status is None or not status.attempts:
        return Verdict()
    own = [attempt for attempt in status.attempts if attempt.kind not in WITHOUT_CONTROL]
    failed = [attempt for attempt in own if not attempt.reached]
    if own and not failed:
        return Verdict(proven=True, kinds=frozenset(attempt.kind for attempt in own))
    age = (now - pod.meta.created_at).total_seconds() if pod.meta.created_at else CONTROL_PATIENCE_SECONDS
    if age < CONTROL_PATIENCE_SECONDS:
        return Verdict()
    names = ", ".join(f"{attempt.name} ({attempt.host}:{attempt.port})" for attempt in failed) or "any target"
    return Verdict(
        reason=Reason.CONTROL_FAILED,
        message=f"The beacon did not reach {names}, so silence proves nothing. Check the site's targets.",
    )


def in_doubt(seen: AnyPicture) -> bool:
    """Whether work in sandboxes must end, because pods that were proven may be so no longer."""
    known = seen.condition(RunCondition.ISOLATED)
    return known is not None and known.status == "False" and known.reason == IN_DOUBT


def isolation(seen: AnyPicture, now: datetime) -> Step:
    """Admit what is proven, replace what cannot be, and hold the run back while anything is refused.

    A network that a fresh pod found open is open for the older pods, which cannot be asked again: they go too, and
    none is admitted before the finding is gone.
    """
    beacon = next(iter(seen.pods_of(Role.BEACON)), None)
    control = judge_control(beacon, seen.answer(beacon, BeaconStatus) if beacon else None, now)
    actions: list[Action] = []
    admitted: dict[str, str] = {}
    refused: list[Verdict] = []
    proven: list[tuple[PodRecord, str]] = []
    suspects = 0
    closed_at = _closed_at(seen)
    for pod in seen.pods_of(Role.SANDBOX):
        status = seen.answer(pod, SandboxStatus)
        if pod.admitted_boot:
            if closed_at is not None and pod.meta.created_at is not None and pod.meta.created_at < closed_at:
                actions.append(Remove(pod, DISCARD_GRACE_SECONDS))
                suspects += 1
            elif pod.restarts > pod.admitted_restarts or (status is not None and status.boot_id != pod.admitted_boot):
                actions.append(Remove(pod, DISCARD_GRACE_SECONDS))
            else:
                admitted[pod.meta.name] = pod.admitted_boot
            continue
        verdict = judge_pod(pod, status, control)
        if verdict.proven and status is not None:
            proven.append((pod, status.boot_id))
        elif verdict.discard or (verdict.refused and _age(pod, now) > PROBE_AGAIN_SECONDS):
            actions.append(Remove(pod, DISCARD_GRACE_SECONDS))
        if verdict.refused:
            refused.append(verdict)
    if control.refused and beacon is not None and _age(beacon, now) > PROBE_AGAIN_SECONDS + CONTROL_PATIENCE_SECONDS:
        actions.append(Remove(beacon, DISCARD_GRACE_SECONDS))
    refused += _opened_by_others(seen)
    if suspects:
        refused.append(Verdict(reason=Reason.POLICY_CHANGED, message=OPENED))
    # A pod that is proven at the boot that was admitted is there, even if its gate is not known to be set yet.
    lost, spared = _lost(seen, admitted | {pod.meta.name: boot for pod, boot in proven})
    lost = max(0, lost - suspects)
    if any(verdict.reason is IN_DOUBT for verdict in refused):
        actions += [Remove(pod, DISCARD_GRACE_SECONDS) for pod in seen.pods if pod.live and pod.meta.name in admitted]
        admitted, lost, spared = {}, 0, 0
    elif not in_doubt(seen) or len(admitted) + len(proven) >= _pool_size(seen):
        actions += [Admit(pod, boot) for pod, boot in proven]
        admitted |= {pod.meta.name: boot for pod, boot in proven}
    started = Role.ENGINE in seen.deployments or any(job.meta.role is Role.LEARNER for job in seen.jobs.values())
    condition = _condition(seen, admitted, refused, started=started)
    blocks = condition.reason in FINDINGS or (not admitted and not started)
    paused = blocks and started
    doing = f"paused: the sandboxes' isolation is not proven ({condition.reason})" if paused else PROVING
    held_up = (is_false(RunCondition.PROGRESSING, condition.reason, f"{doing}; {SEE}"),) if paused else ()
    return Step(
        actions=tuple(actions),
        # A run at work keeps its phase, which says where it is: what it waits for is in its conditions.
        conditions=(condition, *held_up),
        status={"admitted": {name: admitted[name] for name in sorted(admitted)[:MAX_TRACKED]}},
        restarts={Role.SANDBOX: lost} if lost else {},
        disruptions={Role.SANDBOX: spared} if spared else {},
        phase=Phase.STARTING if blocks and not started else None,
        doing=doing if blocks else "",
        blocks=blocks,
        wake_after_seconds=5.0 if blocks else None,
    )


def _closed_at(seen: AnyPicture) -> datetime | None:
    """Since when the sandboxes' network has been closed without a gap, as far as anything tells of one.

    A policy that is younger than a pod was made anew, which is seen even if no operator ran when it was deleted.
    """
    family = seen.owner.name
    policies = (seen.others.get((Kind.NETWORK_POLICY, child_name(family, what))) for what in CLOSING)
    times = [p.meta.created_at for p in policies if p is not None and p.meta.created_at is not None]
    return max((*times, *([seen.breached_at] if seen.breached_at is not None else [])), default=None)


def _opened_by_others(seen: AnyPicture) -> list[Verdict]:
    """Policies add up: one of somebody else's that selects our sandbox pods lets them out, wherever it leads to. The
    probe would only find it if one of its targets lay there.

    Where the installation closes the sandboxes itself, its policies are its own business, and the probe's.
    """
    owner, site = seen.owner, seen.site
    labels = sandbox_labels(owner, site)
    found = [opening.name for opening in seen.openings if opening.selects(labels)]
    if not found or not site.manage_network_policies:
        return []
    # One of ours that somebody changed is applied again, and told as a change.
    ours = {manifest["metadata"]["name"] for manifest in network_policies(owner, site)}
    others = [name for name in found if name not in ours]
    if not others:
        return []
    return [Verdict(reason=Reason.NETWORK_OPEN, message=OPENED_BY_OTHERS.format(", ".join(others[:MAX_NAMED])))]


def _pool_size(seen: AnyPicture) -> int:
    pool = seen.deployments.get(Role.SANDBOX)
    return pool.replicas if pool is not None else 0


def _condition(seen: AnyPicture, admitted: dict[str, str], refused: list[Verdict], *, started: bool) -> Wanted:
    if refused:
        first = next((verdict for verdict in refused if verdict.reason is IN_DOUBT), refused[0])
        what_now = (PAUSED if first.reason is IN_DOUBT else HELD_UP) if started else ""
        return is_false(RunCondition.ISOLATED, first.reason, f"{first.message} {what_now}".rstrip())
    before = seen.condition(RunCondition.ISOLATED)
    missing = not admitted or len(admitted) < _pool_size(seen)
    if missing and before is not None and before.reason in FINDINGS:
        # A fresh pod is being probed; until it is proven, the last finding stands.
        return is_false(RunCondition.ISOLATED, Reason(before.reason), before.message)
    if admitted:
        return is_true(RunCondition.ISOLATED, Reason.PROVEN, "Every admitted sandbox pod passed the probe.")
    return is_false(RunCondition.ISOLATED, Reason.PROBING, "No sandbox pod has passed the probe yet.")


def _lost(seen: AnyPicture, admitted: dict[str, str]) -> tuple[int, int]:
    """Admitted pods that went, or are at another boot, beyond those that scaling down removed; of a large pool those
    of the pods that status names.

    The second number is of those that were taken away by what no budget pays for.
    """
    before = seen.head.status.admitted
    gone = {name for name, boot in before.items() if admitted.get(name) != boot}
    if seen.owner.sandbox.autoscaling is Autoscaling.EXTERNAL:
        return _lost_beside_scaling(seen, gone)
    deployment = seen.deployments.get(Role.SANDBOX)
    if deployment is not None and len(before) >= MAX_TRACKED:
        # Which pods a smaller pool gave up is not known: so many as are missing now were lost.
        return min(len(gone), max(0, deployment.replicas - len(admitted))), 0
    surplus = max(0, len(before) - deployment.replicas) if deployment is not None else 0
    lost, known = max(0, len(gone) - surplus), seen.present_and_taken(Role.SANDBOX)
    spared = min(lost, sum(1 for pod in known if pod.meta.name in gone and not is_counted(pod)))
    return lost - spared, spared


def _lost_beside_scaling(seen: AnyPicture, gone: set[str]) -> tuple[int, int]:
    """The same where others scale, at any time and back again: a pod that was just deleted is theirs.

    What ended in place, failed as a whole or was disrupted has left a trace.
    """
    known = [pod for pod in seen.present_and_taken(Role.SANDBOX) if pod.meta.name in gone]
    ended = {pod.meta.name: is_counted(pod) for pod in known if not pod.meta.deleting or pod.disruption}
    lost = sum(ended.values())
    return lost, len(ended) - lost


def _age(pod: PodRecord, now: datetime) -> float:
    return (now - pod.meta.created_at).total_seconds() if pod.meta.created_at else 0.0
