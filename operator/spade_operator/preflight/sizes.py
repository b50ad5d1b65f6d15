"""Whether a model of real size has no more room than the tiny one needs. Sizes are estimates, so this only warns."""

import re
from collections.abc import Iterator
from decimal import Decimal

from spade_contracts.labels import Role
from spade_operator.preflight.findings import GIB, Finding, Level, joined, pod_field, shown
from spade_operator.preflight.plan import Plan, Pods
from spade_operator.preflight.surroundings import Surroundings

SIZES = "sizes"
TINY_MEMORY = 5 * GIB
"""Memory limit of engine and learner that the chart has for the tiny model (values.yaml, defaultResources)."""
BYTES = 2
"""Of a parameter in bfloat16."""
BILLIONS = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)B(?![a-z0-9])", re.IGNORECASE)


def weights_of(uri: str) -> Decimal | None:
    """Bytes of a model's weights, by the parameters that its name states, such as `4B`; None if it states none."""
    found = BILLIONS.findall(uri.rstrip("/").rpartition("/")[2])
    return max(map(Decimal, found)) * 10**9 * BYTES if found else None


def check_sizes(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Memory of engine and learner, and room for the weights."""
    if not plan.real_model:
        return
    weights = weights_of(plan.real_model)
    known = f" The weights of {plan.real_model} take about {shown('memory', weights)}." if weights else ""
    small = [pods.role for pods in plan.pods if pods.role in (Role.ENGINE, Role.LEARNER) and _is_tiny(pods)]
    if small:
        fields = joined(f"{pod_field(role)}.resources" for role in small)
        message = (
            f"{joined(map(str, small))} pods have at most {shown('memory', TINY_MEMORY)} of memory, which is the "
            f"chart's default for the tiny model.{known}"
        )
        remedy = f"Write {fields}, or have defaultResources raised in the chart's values."
        yield Finding(Level.WARNING, SIZES, message, remedy)
    for room in plan.rooms:
        if weights and room.size < weights:
            message = f"{room.name} holds {shown('memory', room.size)}, less than the weights.{known}"
            yield Finding(Level.WARNING, SIZES, message, room.remedy)


def _is_tiny(pods: Pods) -> bool:
    """Whether its containers have no more memory than the chart gives them for the tiny model."""
    return pods.limits.get("memory", Decimal(0)) <= TINY_MEMORY * len(pods.images)
