"""Services of a run: names that resolve to ready pods, and the beacon's fixed address."""

from spade_contracts import ports
from spade_contracts.labels import Role
from spade_operator.children.manifests import Manifest, child, role_selector, run_labels
from spade_operator.children.names import role_name
from spade_operator.children.run import Run


def services(run: Run) -> list[Manifest]:
    """Sandbox and engine: headless, ready pods only, so an unproven pod has no address there.

    Learner: headless, unready pods too, because ranks must meet before they are ready. Beacon: a cluster address,
    because a sandbox has no DNS and the probe needs a target that outlives the beacon's pod.
    """
    return [
        _service(run, Role.SANDBOX, {"sessions": ports.SANDBOX_SESSIONS}),
        _service(run, Role.ENGINE, {"data": ports.ENGINE_DATA}),
        _service(
            run,
            Role.LEARNER,
            {"control": ports.LEARNER_CONTROL, "rendezvous": ports.LEARNER_RENDEZVOUS},
            unready_too=True,
        ),
        _service(run, Role.BEACON, {"data": ports.ENGINE_DATA}, headless=False),
    ]


def _service(
    run: Run, role: Role, named_ports: dict[str, int], *, headless: bool = True, unready_too: bool = False
) -> Manifest:
    spec: Manifest = {
        "selector": role_selector(run, role),
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
        role_name(run.name, role),
        run,
        labels=run_labels(run, role),
        parent=run.parent,
        body={"spec": spec},
    )
