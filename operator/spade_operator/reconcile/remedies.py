"""What to do about a cause, in a sentence that names the field, the value of the installation, or the command."""

import re
from decimal import ROUND_CEILING, Decimal

from spade_contracts.labels import Role
from spade_operator.children.names import batch_of
from spade_operator.children.resources import amount
from spade_operator.containers import ContainerRecord
from spade_operator.preflight.findings import pod_field
from spade_operator.reconcile.failure_rules import FailureCause
from spade_operator.records import PodRecord

IMAGES = {Role.SANDBOX: "sandbox", Role.WORKER: "worker", Role.BEACON: "worker"}
"""Value `images.*` of a role; the others run in the trainer image."""
NO_DEADLINE = "SPADE sets no deadline: find what set activeDeadlineSeconds on the pod or its Job."
GROWTH = Decimal("1.5")
"""Proposed memory limit over the one that was too small."""
MIB, GIB = Decimal(2**20), Decimal(2**30)
MORE_WAYS = {
    Role.ENGINE: ", or lower spec.engine.args.max-num-seqs",
    Role.SANDBOX: ", or lower spec.sandbox.sessionsPerPod",
}
MISPLACED = {
    "node affinity/selector": "nodeSelector and affinity.nodeAffinity",
    "pod affinity rules": "affinity.podAffinity",
    "anti-affinity rules": "affinity.podAntiAffinity",
    "topology spread constraints": "topologySpread",
}
"""What the scheduler says of a node that does not suit, and the settings that say which would."""
_MISSING = re.compile(r"Insufficient ([A-Za-z0-9./_-]+?)(?=[,.]?(?:\s|$))")


def settings_field(pod: PodRecord) -> str:
    """Where the settings of such a pod stand; a beacon's are the installation's."""
    if pod.meta.role is Role.BEACON:
        return "the value defaultResources.beacon"
    if batch_of(pod.meta.run):
        return "spec.sandbox.pod" if pod.meta.role is Role.SANDBOX else "spec.pod"
    return pod_field(pod.meta.role or Role.WORKER)


def placement_field(pod: PodRecord) -> str:
    """Where it says which nodes it may use, and how important it is; a beacon goes where workers go."""
    if pod.meta.role is not Role.BEACON:
        return settings_field(pod)
    return "spec.pod" if batch_of(pod.meta.run) else "spec.workers.pod"


def resources_field(pod: PodRecord) -> str:
    """Where its requests and limits stand."""
    field = settings_field(pod)
    return field if pod.meta.role is Role.BEACON else f"{field}.resources"


def proposed(limit: str) -> str:
    """A memory limit half as large again, in round figures; '' when there is nothing to go by."""
    try:
        wanted = amount(limit) * GROWTH
    except ValueError:
        return ""
    if wanted >= 2 * GIB:
        return f"{int((wanted / GIB).to_integral_value(ROUND_CEILING))}Gi"
    return f"{int((wanted / MIB).to_integral_value(ROUND_CEILING))}Mi"


def remedy(pod: PodRecord, cause: FailureCause, container: ContainerRecord | None = None, words: str = "") -> str:
    """The sentence for a cause. `words`: what kubelet or scheduler said."""
    match cause:
        case FailureCause.OUT_OF_MEMORY:
            return _more_memory(pod, container)
        case FailureCause.EVICTED_FOR_MEMORY:
            return _more_requested(pod, container)
        case FailureCause.UNSCHEDULABLE:
            return _schedulable(pod, words)
        case _:
            return _plain(pod, cause)


def _plain(pod: PodRecord, cause: FailureCause) -> str:
    field = settings_field(pod)
    node = f"kubectl describe node {pod.node}" if pod.node else "kubectl get nodes"
    image = IMAGES.get(pod.meta.role or Role.WORKER, "trainer")
    return {
        FailureCause.NEVER_AGAIN: "Correct the setting that the message names.",
        FailureCause.STORAGE_FULL: (
            f"Make room in the claim that status.storageUri lies on, or enlarge it: kubectl -n {pod.meta.namespace} "
            "patch pvc; the run goes on by itself. spec.retention says what it keeps."
        ),
        FailureCause.PREEMPTED: (
            f"If unwanted, add nodes, or name a class of higher value in {placement_field(pod)}.priorityClassName: "
            "kubectl get priorityclasses."
        ),
        FailureCause.DRAINED: "Nothing is to be done: somebody drained its node or had it evicted.",
        FailureCause.NODE_LOST: f"Look at the node: {node}.",
        FailureCause.NODE_REFUSED: f"Look at what the node has to give: {node}.",
        FailureCause.EVICTED_FOR_DISK: (
            f"Make room on the node's disk, or raise {resources_field(pod)}.requests.ephemeral-storage, so that the "
            "pod goes where there is room."
        ),
        FailureCause.EVICTED: f"Look at the node: {node}.",
        FailureCause.DEADLINE_EXCEEDED: NO_DEADLINE,
        FailureCause.PROBE_FAILED: f"Read its log; if it is only slow, raise {resources_field(pod)}.requests.cpu.",
        FailureCause.INVALID_CONFIGURATION: (
            f"Correct what the kubelet names: a Secret or ConfigMap that is missing, or a setting of {field}."
        ),
        FailureCause.IMAGE_UNAVAILABLE: (
            f"The value images.{image} of the installation names the image; if the registry wants a password, "
            f"imagePullSecrets must name a Secret of namespace {pod.meta.namespace}."
        ),
        FailureCause.EXIT_CODE: "What passes by itself is tried again; else its last lines say what to mend.",
    }.get(cause, f"Look with: kubectl -n {pod.meta.namespace} describe pod {pod.meta.name}.")


def _more_memory(pod: PodRecord, container: ContainerRecord | None) -> str:
    field = f"{resources_field(pod)}.limits.memory"
    limit = container.memory_limit if container is not None else ""
    if not limit:
        return f"Set {field} to what it needs."
    figure = proposed(limit)
    more = MORE_WAYS.get(pod.meta.role or Role.WORKER, "")
    return f"Raise {field} above {limit}" + (f", to {figure} for a start" if figure else "") + f"{more}."


def _more_requested(pod: PodRecord, container: ContainerRecord | None) -> str:
    field = f"{resources_field(pod)}.requests.memory"
    limit = container.memory_limit if container is not None else ""
    most = f", up to its limit of {limit}" if limit else ""
    return f"Raise {field} to what it uses{most}: the kubelet evicts first what uses more than it requests."


def _schedulable(pod: PodRecord, words: str) -> str:
    """The scheduler says for each node why it was left out; each kind of answer has its field."""
    missing = list(dict.fromkeys(_MISSING.findall(words)))[:4]
    ways = [f"lower {resources_field(pod)}.requests.{name}" for name in missing]
    field = placement_field(pod)
    ways += [f"correct {field}.{name}" for said, name in MISPLACED.items() if said in words]
    if "taint" in words:
        ways.append(f"tolerate the taint that is named in {field}.tolerations")
    if "volume" in words or "persistentvolumeclaim" in words:
        ways.append("see whether the claim of run storage can be mounted there (spec.storage)")
    unknown = not ways
    if unknown:
        ways.append(f"look at resources in {settings_field(pod)} and nodeSelector in {field}")
    if unknown or (missing and "victims" in words):
        # No pod of lower priority is in its way; those of its own could become such.
        ways.append(f"name a class of higher value in {field}.priorityClassName")
    text = ", ".join((*ways, "or add nodes"))
    return f"{text[0].upper()}{text[1:]}."
