"""What placement Colocated asks of a spec: the engine is a container of the learner's pod, on the same devices."""

from spade_contracts.resources.pods import PodSettings
from spade_contracts.resources.rule import Rule
from spade_contracts.resources.run_parts import EngineSpec, Fabric, LearnerSpec, Placement

ONE_EACH = (
    "with placement Colocated every learner node has one engine: write spec.engine.replicas as spec.learner.nodes"
)
IN_THE_LEARNERS_POD = (
    "with placement Colocated the engine is a container of the learner's pod: spec.engine.pod has resources, "
    "environment and secretEnvironment; write all else in spec.learner.pod"
)
SAME_DEVICES = (
    "with placement Colocated the engine has the learner's devices: name a ResourceClaimTemplate in "
    "spec.learner.deviceClaimTemplate, and no device in spec.engine.pod.resources"
)
IN_THE_POD_NETWORK = (
    "with placement Colocated workers reach the engine in the learner's pod by the pod network: use "
    "spec.learner.fabric PodNetwork or Rdma"
)
OF_THE_POD = {
    "nodeSelector": "node_selector",
    "tolerations": "tolerations",
    "affinity": "affinity",
    "topologySpread": "topology_spread",
    "priorityClassName": "priority_class_name",
    "labels": "labels",
    "annotations": "annotations",
    "volumes": "volumes",
}
"""Settings that say something about a pod and not about one container: as users write them, and in the model."""
_COLOCATED = f"self.placement == '{Placement.COLOCATED}'"


def _has_device(part: str) -> str:
    return f"(has(self.engine.pod.resources.{part}) && self.engine.pod.resources.{part}.exists(k, k.contains('/')))"


RULES = (
    Rule(f"!({_COLOCATED}) || self.engine.replicas == self.learner.nodes", ONE_EACH, field=".engine"),
    Rule(
        f"!({_COLOCATED}) || !has(self.engine.pod) || "
        f"!({' || '.join(f'has(self.engine.pod.{name})' for name in OF_THE_POD)})",
        IN_THE_LEARNERS_POD,
        field=".engine",
    ),
    Rule(
        f"!({_COLOCATED}) || !has(self.engine.pod) || !has(self.engine.pod.resources) || "
        f"!({_has_device('requests')} || {_has_device('limits')})",
        SAME_DEVICES,
        field=".engine",
    ),
    Rule(
        f"!({_COLOCATED}) || self.learner.fabric != '{Fabric.HOST_RDMA}'",
        IN_THE_POD_NETWORK,
        field=".learner",
    ),
)


def check(placement: Placement, learner: LearnerSpec, engine: EngineSpec) -> None:
    """Raise ValueError with what to write, unless learner and engine fit into one pod where they are to share it."""
    if placement is not Placement.COLOCATED:
        return
    if engine.replicas != learner.nodes:
        raise ValueError(ONE_EACH)
    plain, resources = PodSettings(), engine.pod.resources
    if any(getattr(engine.pod, name) != getattr(plain, name) for name in OF_THE_POD.values()):
        raise ValueError(IN_THE_LEARNERS_POD)
    if any("/" in name for name in resources.requests.keys() | resources.limits.keys()):
        raise ValueError(SAME_DEVICES)
    if learner.fabric is Fabric.HOST_RDMA:
        raise ValueError(IN_THE_POD_NETWORK)
