"""NetworkPolicies of a run or stand-alone EnvBatch: the table of design §11, and nothing else."""

from collections.abc import Sequence

from spade_contracts import labels as keys
from spade_contracts import ports
from spade_contracts.labels import Role
from spade_contracts.resources.run_parts import Fabric
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import child_name
from spade_operator.children.owner import Owner
from spade_operator.children.site import Site

NAMESPACE_NAME = "kubernetes.io/metadata.name"
EVERY_PORT: tuple[int, ...] = ()
CLOSED = "closed"
CLOSING = (CLOSED, str(Role.SANDBOX))
"""Ends of the names of the policies that hold for sandbox pods."""


def network_policies(owner: Owner, site: Site) -> list[Manifest]:
    """All policies of an owner, or none where the installation manages the network itself.

    First every pod of its family is closed in both directions; each further policy opens what one row of the table
    allows. Sandbox pods get no egress rule, DNS included. They select by the family's name without its UID, so that
    leftover pods of a deleted namesake stay closed too. What only roles need that the owner has not is left out.
    """
    if not site.manage_network_policies:
        return []
    closed = _policy(owner, CLOSED, {keys.RUN: owner.name}, ingress=[], egress=[])
    return [closed, *(policy for policy in _openings(owner, site) if _selected(policy) & owner.roles)]


def _openings(owner: Owner, site: Site) -> list[Manifest]:
    """What each role may do beyond nothing."""
    engine = owner.engine_role
    operator = _namespace_pods(site.operator_namespace, site.operator_labels)
    outside = [_dns(site), *_addresses(site), *_others(site)]
    return [
        _policy(
            owner,
            Role.SANDBOX,
            _roles(owner, Role.SANDBOX),
            ingress=[
                _from([_pods(owner, Role.WORKER, Role.BEACON)], ports.SANDBOX_SESSIONS),
                _from([operator], ports.SANDBOX_STATUS),
            ],
            egress=[],
        ),
        _policy(
            owner,
            Role.WORKER,
            _roles(owner, Role.WORKER, Role.BEACON),
            ingress=[_from([operator, *_monitoring(site)], ports.WORKER_STATUS)],
            egress=[
                _to([_pods(owner, engine, Role.BEACON)], ports.ENGINE_DATA),
                _to([_pods(owner, Role.SANDBOX)], ports.SANDBOX_SESSIONS),
                *outside,
            ],
        ),
        _policy(
            owner,
            Role.ENGINE,
            # The beacon stands in for an engine: what may not reach it, may not reach an engine.
            _roles(owner, engine, Role.BEACON),
            ingress=[
                _from([_pods(owner, Role.WORKER, Role.BEACON)], ports.ENGINE_DATA),
                _from([_pods(owner, Role.LEARNER), *_nodes(owner, site)], ports.ENGINE_CONTROL, ports.ENGINE_STATUS),
                _from([operator, *_monitoring(site)], ports.ENGINE_STATUS),
            ],
            egress=outside,
        ),
        _policy(
            owner,
            Role.LEARNER,
            _roles(owner, Role.LEARNER),
            ingress=[
                _from([_pods(owner, Role.LEARNER)], *EVERY_PORT),
                _from([operator], ports.LEARNER_CONTROL, ports.LEARNER_STATUS),
                *([_from(_monitoring(site), ports.LEARNER_STATUS)] if site.monitoring_namespace else []),
            ],
            egress=[
                _to([_pods(owner, Role.LEARNER)], *EVERY_PORT),
                _to([_pods(owner, engine)], ports.ENGINE_CONTROL, ports.ENGINE_STATUS),
                *outside,
            ],
        ),
        _policy(owner, Role.PREPARE, _roles(owner, Role.PREPARE), ingress=[], egress=outside),
        # The positive control: it must be able to reach what sandboxes must not, or their silence would prove nothing.
        _policy(owner, "control", _roles(owner, Role.BEACON), ingress=[], egress=[{}]),
    ]


def _policy(
    owner: Owner, what: str, selector: Manifest, *, ingress: Sequence[Manifest], egress: Sequence[Manifest]
) -> Manifest:
    pod_selector = selector if "matchExpressions" in selector else {"matchLabels": selector}
    # Empty lists are written all the same: what we do not name is not ours, and others could add to it.
    spec = {
        "podSelector": pod_selector,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": list(ingress),
        "egress": list(egress),
    }
    return child(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        child_name(owner.name, what),
        owner,
        labels=run_labels(owner),
        parent=owner.parent,
        body={"spec": spec},
    )


def _selected(policy: Manifest) -> frozenset[Role]:
    """The roles whose pods an opening is for."""
    (expression,) = policy["spec"]["podSelector"]["matchExpressions"]
    return frozenset(Role(value) for value in expression["values"])


def _roles(owner: Owner, *roles: Role) -> Manifest:
    chosen = [str(role) for role in roles]
    return {
        "matchLabels": {keys.RUN: owner.name},
        "matchExpressions": [{"key": keys.ROLE, "operator": "In", "values": chosen}],
    }


def _pods(owner: Owner, *roles: Role) -> Manifest:
    """Pods of these roles of this family, in its own namespace only."""
    return {"podSelector": _roles(owner, *roles)}


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


def _nodes(owner: Owner, site: Site) -> list[Manifest]:
    """The nodes, where the learner uses their network: it comes to engines with a node's address."""
    if owner.fabric is not Fabric.HOST_RDMA:
        return []
    return [{"ipBlock": {"cidr": cidr}} for cidr in site.rdma.host_network_cidrs]


def _addresses(site: Site) -> list[Manifest]:
    return [{"to": [{"ipBlock": {"cidr": cidr}} for cidr in site.egress_cidrs]}] if site.egress_cidrs else []


def _others(site: Site) -> list[Manifest]:
    """Pods of others that the installation names."""
    return [_to([_namespace_pods(one.namespace, one.pod_labels)], *one.ports) for one in site.egress_pods]
