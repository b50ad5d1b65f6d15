"""All checks of a run against its cluster, in the order in which people would mend things."""

from collections.abc import Callable, Iterator

from spade_operator.preflight.capacity import check_capacity
from spade_operator.preflight.classes import check_priority_classes, check_runtime_class
from spade_operator.preflight.egress import check_egress
from spade_operator.preflight.findings import Finding, Level, joined
from spade_operator.preflight.names import check_names, check_storage
from spade_operator.preflight.places import places
from spade_operator.preflight.plan import Plan
from spade_operator.preflight.quotas import check_quotas
from spade_operator.preflight.sizes import check_sizes
from spade_operator.preflight.surroundings import Surroundings

NETWORK, IMAGES = "network", "images"
Check = Callable[[Plan, Surroundings], Iterator[Finding]]


def check_images(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Whether nodes tell of the images. They tell of their largest ones only, so silence means nothing."""
    images = {image: pods for pods in plan.all_pods for image in pods.images}
    if around.nodes is None:
        yield Finding(Level.UNKNOWN, IMAGES, "Whether nodes have or can get the images could not be looked at.")
        return
    unseen = []
    for image, pods in images.items():
        nodes = places(plan, pods, around)
        if not any(_same(image, known) for node in nodes for known in node.images):
            unseen.append(image)
    if unseen:
        message = f"No node tells of {joined(unseen)}; they tell of their largest images only, and can fetch others."
        yield Finding(Level.UNKNOWN, IMAGES, message, "A pod that cannot get its image says so (ImageUnavailable).")
    else:
        yield Finding(Level.FINE, IMAGES, f"Nodes tell of all {len(images)} images.")


def _same(wanted: str, known: str) -> bool:
    """Container runtimes write names out: `docker.io/spade/worker:1` for `spade/worker:1`."""
    return known == wanted or known.endswith(f"/{wanted}")


def check_network(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Whether NetworkPolicies are enforced is proven by each sandbox pod's probe, and known before only by example."""
    if around.proven_by:
        message = f"Run {around.proven_by} of this namespace has proven gVisor and a closed network."
        yield Finding(Level.FINE, NETWORK, message)
        return
    message = (
        "That NetworkPolicies are enforced is proven by the isolation probe before the first program, not earlier."
    )
    yield Finding(Level.UNKNOWN, NETWORK, message)


CHECKS: tuple[Check, ...] = (
    check_runtime_class,
    check_priority_classes,
    check_storage,
    check_names,
    check_quotas,
    check_capacity,
    check_sizes,
    check_images,
    check_network,
    check_egress,
)


def check_all(plan: Plan, around: Surroundings) -> tuple[Finding, ...]:
    """What every check found."""
    return tuple(finding for check in CHECKS for finding in check(plan, around))


def of_level(findings: tuple[Finding, ...], level: Level) -> tuple[Finding, ...]:
    """Those of one weight."""
    return tuple(finding for finding in findings if finding.level is level)
