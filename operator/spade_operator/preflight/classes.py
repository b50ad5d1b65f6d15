"""RuntimeClass and PriorityClasses: without them the API server refuses the pods."""

from collections.abc import Iterator

from spade_contracts.labels import Role
from spade_contracts.resources import Reason
from spade_operator.preflight.findings import Finding, Level, joined, pod_field
from spade_operator.preflight.places import places
from spade_operator.preflight.plan import Plan
from spade_operator.preflight.surroundings import Surroundings

RUNTIME, PRIORITY = "RuntimeClass", "PriorityClass"


def check_runtime_class(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """It must exist, and some node should have it. That it is gVisor only the isolation probe shows."""
    name = plan.runtime_class
    if around.runtime_classes is None:
        yield Finding(Level.UNKNOWN, RUNTIME, f"Whether RuntimeClass {name} exists could not be looked at.")
        return
    found = around.runtime_classes.get(name)
    if found is None:
        remedy = "Install gVisor on nodes and make the class (value runtimeClass.create), or name another one in the "
        remedy += "value sandbox.runtimeClassName."
        message = f"RuntimeClass {name} of the sandbox pods does not exist."
        yield Finding(Level.PROBLEM, RUNTIME, message, remedy, Reason.RUNTIME_CLASS_MISSING)
        return
    if not found.node_selector:
        message = (
            f"RuntimeClass {name} exists; it does not say which nodes have it, so the sandbox pods' start will show."
        )
        yield Finding(Level.FINE, RUNTIME, message)
        return
    (sandbox,) = (pods for pods in plan.pods if pods.role is Role.SANDBOX)
    selector = ", ".join(f"{key}={value}" for key, value in sorted(found.node_selector.items()))
    if around.nodes is None:
        yield Finding(Level.FINE, RUNTIME, f"RuntimeClass {name} exists, for nodes with {selector}.")
    elif nodes := places(plan, sandbox, around):
        yield Finding(
            Level.FINE,
            RUNTIME,
            f"RuntimeClass {name} exists, and {len(nodes)} nodes with {selector} take sandbox pods.",
        )
    else:
        remedy = f"Label the nodes that have gVisor, or correct {pod_field(Role.SANDBOX)}."
        yield Finding(
            Level.WARNING,
            RUNTIME,
            f"RuntimeClass {name} wants nodes with {selector}, and none takes sandbox pods.",
            remedy,
        )


def check_priority_classes(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Those that the run names must exist."""
    wanted = plan.priority_classes()
    if not wanted:
        return
    if around.priority_classes is None:
        yield Finding(Level.UNKNOWN, PRIORITY, f"Whether {joined(wanted)} exists could not be looked at.")
        return
    for name, roles in wanted.items():
        if name in around.priority_classes:
            yield Finding(Level.FINE, PRIORITY, f"PriorityClass {name} exists.")
            continue
        fields = joined(dict.fromkeys(f"{pod_field(role)}.priorityClassName" for role in roles))
        remedy = f"Correct {fields} (kubectl get priorityclasses), or have the class made."
        message = f"PriorityClass {name} does not exist."
        yield Finding(Level.PROBLEM, PRIORITY, message, remedy, Reason.PRIORITY_CLASS_MISSING)
