"""Services of a run or stand-alone EnvBatch: names that resolve to ready pods, and the beacon's fixed address."""

from spade_contracts import ports
from spade_contracts.labels import Role
from spade_operator.children.manifests import Manifest, child, role_selector, run_labels
from spade_operator.children.names import role_name
from spade_operator.children.owner import Owner


def services(owner: Owner) -> list[Manifest]:
    """Sandbox and engine: headless, ready pods only, so an unproven pod has no address there.

    Learner: headless, unready pods too, because ranks must meet before they are ready. Beacon: a cluster address,
    because a sandbox has no DNS and the probe needs a target that outlives the beacon's pod.
    """
    learner = {"control": ports.LEARNER_CONTROL, "rendezvous": ports.LEARNER_RENDEZVOUS}
    every = {
        Role.SANDBOX: _service(owner, Role.SANDBOX, {"sessions": ports.SANDBOX_SESSIONS}),
        Role.ENGINE: _service(owner, Role.ENGINE, {"data": ports.ENGINE_DATA}, pods=owner.engine_role),
        Role.LEARNER: _service(owner, Role.LEARNER, learner, unready_too=True),
        Role.BEACON: _service(owner, Role.BEACON, {"data": ports.ENGINE_DATA}, headless=False),
    }
    return [service for role, service in every.items() if role in owner.roles]


def _service(
    owner: Owner,
    role: Role,
    named_ports: dict[str, int],
    *,
    pods: Role | None = None,
    headless: bool = True,
    unready_too: bool = False,
) -> Manifest:
    """`pods`: role of the pods behind it, if it is another."""
    spec: Manifest = {
        "selector": role_selector(owner, pods or role),
        "ports": [
            {"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in named_ports.items()
        ],
        "publishNotReadyAddresses": unready_too,
    }
    if headless:
        spec["clusterIP"] = "None"
    return child(
        "v1",
        "Service",
        role_name(owner.name, role),
        owner,
        labels=run_labels(owner, role),
        parent=owner.parent,
        body={"spec": spec},
    )
