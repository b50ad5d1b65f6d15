"""NetworkPolicies of a run: the table of design §11, and nothing else."""

from collections.abc import Sequence

from spade_contracts import labels as keys
from spade_contracts import ports
from spade_contracts.labels import Role
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import child_name
from spade_operator.children.run import Run
from spade_operator.children.site import Site

NAMESPACE_NAME = "kubernetes.io/metadata.name"
EVERY_PORT: tuple[int, ...] = ()


def network_policies(run: Run, site: Site) -> list[Manifest]:
    """All policies of a run, or none where the installation manages the network itself.

    First every pod of the run is closed in both directions; each further policy opens what one row of the table
    allows. Sandbox pods get no egress rule, DNS included. They select by the run's name without its UID, so that
    leftover pods of a deleted namesake stay closed too.
    """
    if not site.manage_network_policies:
        return []
    operator = _namespace_pods(site.operator_namespace, site.operator_labels)
    outside = [_dns(site), *_addresses(site)]
    return [
        _policy(run, "closed", {keys.RUN: run.name}, ingress=[], egress=[]),
        _policy(
            run,
            Role.SANDBOX,
            _roles(run, Role.SANDBOX),
            ingress=[
                _from([_pods(run, Role.WORKER, Role.BEACON)], ports.SANDBOX_SESSIONS),
                _from([operator], ports.SANDBOX_STATUS),
            ],
            egress=[],
        ),
        _policy(
            run,
            Role.WORKER,
            _roles(run, Role.WORKER, Role.BEACON),
            ingress=[_from([operator, *_monitoring(site)], ports.WORKER_STATUS)],
            egress=[
                _to([_pods(run, Role.ENGINE, Role.BEACON)], ports.ENGINE_DATA),
                _to([_pods(run, Role.SANDBOX)], ports.SANDBOX_SESSIONS),
                *outside,
            ],
        ),
        _policy(
            run,
            Role.ENGINE,
            # The beacon stands in for an engine: what may not reach it, may not reach an engine.
            _roles(run, Role.ENGINE, Role.BEACON),
            ingress=[
                _from([_pods(run, Role.WORKER, Role.BEACON)], ports.ENGINE_DATA),
                _from([_pods(run, Role.LEARNER)], ports.ENGINE_CONTROL, ports.ENGINE_STATUS),
                _from([operator, *_monitoring(site)], ports.ENGINE_STATUS),
            ],
            egress=outside,
        ),
        _policy(
            run,
            Role.LEARNER,
            _roles(run, Role.LEARNER),
            ingress=[
                _from([_pods(run, Role.LEARNER)], *EVERY_PORT),
                _from([operator], ports.LEARNER_CONTROL, ports.LEARNER_STATUS),
                *([_from(_monitoring(site), ports.LEARNER_STATUS)] if site.monitoring_namespace else []),
            ],
            egress=[
                _to([_pods(run, Role.LEARNER)], *EVERY_PORT),
                _to([_pods(run, Role.ENGINE)], ports.ENGINE_CONTROL, ports.ENGINE_STATUS),
                *outside,
            ],
        ),
        _policy(run, Role.PREPARE, _roles(run, Role.PREPARE), ingress=[], egress=outside),
        # The positive control: it must be able to reach what sandboxes must not, or their silence would prove nothing.
        _policy(run, "control", _roles(run, Role.BEACON), ingress=[], egress=[{}]),
    ]


def _policy(
    run: Run, what: str, selector: Manifest, *, ingress: Sequence[Manifest], egress: Sequence[Manifest]
) -> Manifest:
    pod_selector = selector if "matchExpressions" in selector else {"matchLabels": selector}
    spec = {
        "podSelector": pod_selector,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": list(ingress),
        "egress": list(egress),
    }
    return child(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        child_name(run.name, what),
        run,
        labels=run_labels(run),
        parent=run.parent,
        body={"spec": spec},
    )


def _roles(run: Run, *roles: Role) -> Manifest:
    chosen = [str(role) for role in roles]
    return {
        "matchLabels": {keys.RUN: run.name},
        "matchExpressions": [{"key": keys.ROLE, "operator": "In", "values": chosen}],
    }


def _pods(run: Run, *roles: Role) -> Manifest:
    """Pods of these roles of this run, in its own namespace only."""
    return {"podSelector": _roles(run, *roles)}


def _namespace_pods(namespace: str, labels: dict[str, str]) -> Manifest:
    return {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: namespace}},
        "podSelector": {"matchLabels": dict(labels)},
    }


def _monitoring(site: Site) -> list[Manifest]:
    if not site.monitoring_namespace:
        return []
    return [{"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: site.monitoring_namespace}}}]


def _from(peers: Sequence[Manifest], *numbers: int) -> Manifest:
    return {"from": list(peers)} | _tcp(numbers)


def _to(peers: Sequence[Manifest], *numbers: int) -> Manifest:
    return {"to": list(peers)} | _tcp(numbers)


def _tcp(numbers: Sequence[int]) -> Manifest:
    return {"ports": [{"protocol": "TCP", "port": number} for number in numbers]} if numbers else {}


def _dns(site: Site) -> Manifest:
    peers = [
        _namespace_pods(site.dns.namespace, site.dns.pod_labels),
        *({"ipBlock": {"cidr": cidr}} for cidr in site.dns.cidrs),
    ]
    return {"to": peers, "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def _addresses(site: Site) -> list[Manifest]:
    return [{"to": [{"ipBlock": {"cidr": cidr}} for cidr in site.egress_cidrs]}] if site.egress_cidrs else []
