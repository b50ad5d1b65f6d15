"""Which nodes would take a pod, as the scheduler's filters say; neighbours and spread are left to it."""

from collections.abc import Iterable, Mapping

from spade_contracts.labels import Role
from spade_operator.children.placement import REQUIRED
from spade_operator.containers import Raw
from spade_operator.preflight.plan import Plan, Pods
from spade_operator.preflight.surroundings import Node, RuntimeClass, Surroundings, Taint
from spade_operator.selectors import expressions_of

KEEPING_OUT = frozenset({"NoSchedule", "NoExecute"})


def places(plan: Plan, pods: Pods, around: Surroundings) -> tuple[Node, ...]:
    """Nodes that a role's pods may go to; none when the nodes are not known."""
    own = (around.runtime_classes or {}).get(plan.runtime_class) if pods.role is Role.SANDBOX else None
    return tuple(node for node in around.nodes or () if takes(node, pods.spec, own))


def takes(node: Node, spec: Raw, runtime_class: RuntimeClass | None = None) -> bool:
    """Whether labels and taints of a node let the pod in. A RuntimeClass adds its selector and tolerations."""
    selector = {**(runtime_class.node_selector if runtime_class else {}), **spec.get("nodeSelector", {})}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    terms = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", [])
    if terms and not any(_term_holds(term, node.labels) for term in terms):
        return False
    tolerations = (*spec.get("tolerations", ()), *(runtime_class.tolerations if runtime_class else ()))
    return all(_tolerated(taint, tolerations) for taint in node.taints if taint.effect in KEEPING_OUT)


def _term_holds(term: Raw, labels: Mapping[str, str]) -> bool:
    return all(expression.holds(labels) for expression in expressions_of(term.get("matchExpressions")))


def _tolerated(taint: Taint, tolerations: Iterable[Raw]) -> bool:
    return any(
        toleration.get("effect") in (None, "", taint.effect)
        and toleration.get("key") in (None, "", taint.key)
        and (toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.value)
        for toleration in tolerations
    )
