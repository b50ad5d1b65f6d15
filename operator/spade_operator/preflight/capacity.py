"""Whether the nodes as they are would take the run. They may grow, and others use them too, so this only warns."""

from collections.abc import Iterator
from decimal import Decimal

from spade_operator.preflight.findings import Finding, Level, joined, pod_field, shown
from spade_operator.preflight.places import places
from spade_operator.preflight.plan import Plan, total
from spade_operator.preflight.surroundings import Amounts, Node, Surroundings

NODES = "nodes"
ADD = "add such nodes, unless your cluster does so by itself"


def check_capacity(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """A node for each kind of pod, room for all of them together, and one node for all that mount storage of one node.

    What other pods use already is not counted.
    """
    if around.nodes is None:
        yield Finding(Level.UNKNOWN, NODES, "Whether the nodes have room (GPUs too) could not be looked at.")
        return
    found = [*_alone(plan, around), *_on_one_node(plan, around)] or list(_together(plan, around))
    yield from found
    if not found:
        needed = total(plan.pods)
        sums = joined((f"{name} {shown(name, amount)}" for name, amount in sorted(needed.items())), 8)
        yield Finding(
            Level.FINE,
            NODES,
            f"{len(around.nodes)} nodes, as large as the run needs ({sums}); what others use is not counted.",
        )


def fits(requests: Amounts, node: Node) -> bool:
    """Whether an empty node has so much."""
    return not _missing(requests, node.allocatable)


def _missing(needed: Amounts, there: Amounts) -> dict[str, Decimal]:
    """Resources of which there is less → how much there is."""
    return {
        name: there.get(name, Decimal(0)) for name, amount in needed.items() if amount > there.get(name, Decimal(0))
    }


def _alone(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Roles of which not a single pod fits anywhere."""
    homeless = [pods.role for pods in plan.all_pods if not places(plan, pods, around)]
    if homeless:
        fields = joined(dict.fromkeys(map(pod_field, homeless)))
        remedy = f"Correct nodeSelector, affinity and tolerations of {fields}, or {ADD}."
        yield Finding(Level.WARNING, NODES, f"No node takes pods of these roles: {joined(homeless, 6)}.", remedy)
    for pods in plan.all_pods:
        nodes, field = places(plan, pods, around), pod_field(pods.role)
        if nodes and not any(fits(pods.requests, node) for node in nodes):
            largest = max(nodes, key=lambda node: -len(_missing(pods.requests, node.allocatable)))
            words = _words(pods.requests, _missing(pods.requests, largest.allocatable))
            remedy = f"Lower {field}.resources.requests, or {ADD}."
            yield Finding(
                Level.WARNING,
                NODES,
                f"A {pods.role} pod is larger than each of its {len(nodes)} nodes: {words}.",
                remedy,
            )


def _on_one_node(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Storage of one node holds all pods that mount it on one node."""
    if plan.claim is None:
        return
    claim = (around.claims or {}).get(plan.claim)
    shared = "ReadWriteMany" in claim.access_modes if claim is not None else plan.shared_storage
    mounting = tuple(pods for pods in plan.pods if pods.mounts_claim(plan.claim))
    if shared or not all(places(plan, pods, around) for pods in mounting):
        return
    nodes = [node for node in around.nodes or () if all(node in places(plan, pods, around) for pods in mounting)]
    needed = total(mounting)
    if any(fits(needed, node) for node in nodes):
        return
    roles = joined(str(pods.role) for pods in mounting)
    largest = max(nodes, key=lambda node: -len(_missing(needed, node.allocatable)), default=None)
    words = _words(needed, _missing(needed, largest.allocatable)) if largest is not None else "no node takes them all"
    message = f"Run storage is ReadWriteOnce, so {roles} pods must share one node, and none is large enough: {words}."
    remedy = "Use storage with accessMode: ReadWriteMany, lower the requests of their pods, or add a larger node."
    yield Finding(Level.WARNING, NODES, message, remedy)


def _together(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Resources of which all nodes that take any of the pods have too little."""
    nodes = {node.name: node for pods in plan.pods for node in places(plan, pods, around)}
    there: dict[str, Decimal] = {}
    for node in nodes.values():
        for name, amount in node.allocatable.items():
            there[name] = there.get(name, Decimal(0)) + amount
    missing = _missing(total(plan.pods), there)
    if missing:
        words = _words(total(plan.pods), missing)
        remedy = f"Lower the requests or the numbers of pods, or {ADD}."
        yield Finding(Level.WARNING, NODES, f"All {len(nodes)} nodes together are too small: {words}.", remedy)
        return
    most = _missing(total(plan.pods, most=True), there)
    if most:
        words = _words(total(plan.pods, most=True), most)
        remedy = "Lower spec.sandbox.maxPods if waiting sandbox pods disturb."
        yield Finding(
            Level.WARNING, NODES, f"The nodes hold the run, but not all of spec.sandbox.maxPods: {words}.", remedy
        )


def _words(needed: Amounts, there: Amounts) -> str:
    return joined(
        f"{name} {shown(name, needed[name])} is needed, {shown(name, has)} is there"
        for name, has in sorted(there.items())
    )
