"""RDMA for learners: a declared exception, which a run asks for and the installation must allow (docs/pods.md)."""

from spade_contracts.errors import InvalidInput
from spade_contracts.resources import SpadeRunSpec
from spade_contracts.resources.pods import SandboxPodSettings
from spade_contracts.resources.run_parts import Fabric
from spade_operator.children.site import Rdma

FIELD = "spec.learner.fabric"


class NotAllowed(InvalidInput):
    """The spec makes sense, but the installation does not allow what it asks for."""


def check_fabric(spec: SpadeRunSpec, rdma: Rdma) -> None:
    """Raise NotAllowed, naming the field and the chart's value, unless the installation allows the learner's network.

    RDMA devices are for the learner alone, and only with a fabric that says so: weights travel to engines as files.
    """
    fabric = spec.learner.fabric
    for role, pod in _others(spec).items():
        for name in sorted(_asked(pod) & set(rdma.resources)):
            raise NotAllowed(
                f"spec.{role}.pod.resources", f"{name} is an RDMA device, which only a learner may have",
                remedy="Remove it.",
            )  # fmt: skip
    devices = _asked(spec.learner.pod) & set(rdma.resources)
    if fabric is Fabric.POD_NETWORK:
        if devices:
            raise NotAllowed(
                "spec.learner.pod.resources", f"{min(devices)} is an RDMA device", remedy=f"Write {FIELD}: Rdma."
            )
        return
    if not rdma.resources:
        raise NotAllowed(FIELD, f"{fabric} is not allowed here", remedy="The chart's value rdma.resources allows it.")
    if fabric is Fabric.HOST_RDMA and not rdma.host_network_cidrs:
        raise NotAllowed(
            FIELD, f"{fabric} is not allowed here", remedy="The chart's value rdma.hostNetworkCidrs allows it."
        )
    if not devices:
        raise NotAllowed(
            "spec.learner.pod.resources", f"fabric {fabric} needs a device", remedy=f"Ask for {rdma.resources[0]}."
        )


def demands(spec: SpadeRunSpec) -> tuple[str, ...]:
    """What the run will want of the installation and its namespace for the learner's network, in words."""
    fabric = spec.learner.fabric
    if fabric is Fabric.POD_NETWORK:
        return ()
    rdma = (
        f"{FIELD}: {fabric} is accepted only where the chart's value rdma.resources names a resource that "
        "spec.learner.pod.resources asks for, and starts only on nodes whose container runtime sets no limit on locked "
        "memory (LimitMEMLOCK=infinity)."
    )
    if fabric is Fabric.RDMA:
        return (rdma,)
    return rdma, (
        f"{FIELD}: {fabric} also wants the chart's value rdma.hostNetworkCidrs, and a namespace whose Pod Security "
        "level is privileged; no NetworkPolicy closes the learner's ports."
    )


def _others(spec: SpadeRunSpec) -> dict[str, SandboxPodSettings]:
    return {"engine": spec.engine.pod, "sandbox": spec.sandbox.pod, "workers": spec.workers.pod}


def _asked(pod: SandboxPodSettings) -> set[str]:
    """Resources that are asked for; a device plugin's may stand in either place."""
    return pod.resources.requests.keys() | pod.resources.limits.keys()
