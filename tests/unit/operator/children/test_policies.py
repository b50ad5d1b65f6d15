"""Who reaches whom: the table of design §11, computed from the policies by the rules of Kubernetes."""

from typing import Any

import pytest
from tests.support.children import make_run, make_site

from spade_contracts import labels as keys
from spade_contracts import ports
from spade_contracts.labels import Role
from spade_operator.children.manifests import Manifest, role_selector
from spade_operator.children.policies import network_policies

RUN = make_run()
SITE = make_site(egress_cidrs=("192.0.2.0/24",), monitoring_namespace="monitoring")
POLICIES = network_policies(RUN.owner, SITE)

Pod = tuple[str, dict[str, str]]
"""Namespace and labels."""
OPERATOR: Pod = ("spade-system", {"app": "operator"})
STRANGER: Pod = ("default", {"app": "other"})
MONITORING: Pod = ("monitoring", {"app": "prometheus"})
DNS: Pod = ("kube-system", {"k8s-app": "kube-dns"})


def member(role: Role, run: str = "mini", namespace: str = "default") -> Pod:
    labels = role_selector(RUN.owner, role) | {keys.RUN: run}
    return namespace, labels


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    wanted = selector.get("matchLabels", {})
    expressions = selector.get("matchExpressions", [])
    assert all(expression["operator"] == "In" for expression in expressions)
    return wanted.items() <= labels.items() and all(
        labels.get(expression["key"]) in expression["values"] for expression in expressions
    )


def is_peer(peer: dict[str, Any], pod: Pod) -> bool:
    namespace, labels = pod
    if "ipBlock" in peer:
        return False
    if "namespaceSelector" in peer:
        inside = matches(peer["namespaceSelector"], {"kubernetes.io/metadata.name": namespace})
    else:
        inside = namespace == "default"
    return inside and matches(peer.get("podSelector", {}), labels)


def allowed(rules: list[dict[str, Any]], side: str, pod: Pod, port: int) -> bool:
    return any(
        (side not in rule or any(is_peer(peer, pod) for peer in rule[side]))
        and ("ports" not in rule or any(item["port"] == port for item in rule["ports"]))
        for rule in rules
    )


def selecting(pod: Pod) -> list[Manifest]:
    namespace, labels = pod
    if namespace != "default":
        return []
    return [policy for policy in POLICIES if matches(policy["spec"]["podSelector"], labels)]


def reaches(source: Pod, target: Pod, port: int) -> bool:
    """What Kubernetes would let through: policies add up, and a pod that none selects is open."""
    out = selecting(source)
    inward = selecting(target)
    leaves = not out or any(allowed(policy["spec"]["egress"], "to", target, port) for policy in out)
    enters = not inward or any(allowed(policy["spec"]["ingress"], "from", source, port) for policy in inward)
    return leaves and enters


PORTS = (
    ports.SANDBOX_SESSIONS, ports.SANDBOX_STATUS, ports.WORKER_STATUS, ports.ENGINE_DATA, ports.ENGINE_CONTROL,
    ports.ENGINE_STATUS, ports.LEARNER_CONTROL, ports.LEARNER_STATUS, ports.LEARNER_RENDEZVOUS, 40000,
)  # fmt: skip
ALLOWED = {
    (Role.WORKER, Role.ENGINE, ports.ENGINE_DATA),
    (Role.WORKER, Role.BEACON, ports.ENGINE_DATA),
    (Role.WORKER, Role.SANDBOX, ports.SANDBOX_SESSIONS),
    (Role.BEACON, Role.ENGINE, ports.ENGINE_DATA),
    (Role.BEACON, Role.BEACON, ports.ENGINE_DATA),
    (Role.BEACON, Role.SANDBOX, ports.SANDBOX_SESSIONS),
    (Role.LEARNER, Role.ENGINE, ports.ENGINE_CONTROL),
    (Role.LEARNER, Role.ENGINE, ports.ENGINE_STATUS),
    *((Role.LEARNER, Role.LEARNER, port) for port in PORTS),
}


@pytest.mark.parametrize("source", Role)
@pytest.mark.parametrize("target", Role)
def test_within_a_run_nothing_is_open_but_the_table(source: Role, target: Role) -> None:
    open_ports = {port for port in PORTS if reaches(member(source), member(target), port)}
    expected = {port for a, b, port in ALLOWED if (a, b) == (source, target)}
    assert open_ports == expected


@pytest.mark.parametrize("port", [53, 80, 443, 6443, *PORTS])
def test_sandboxes_reach_nothing(port: int) -> None:
    targets = [DNS, OPERATOR, STRANGER, MONITORING, *(member(role) for role in Role)]
    assert not any(reaches(member(Role.SANDBOX), target, port) for target in targets)
    egress = [rule for policy in selecting(member(Role.SANDBOX)) for rule in policy["spec"]["egress"]]
    assert egress == []


@pytest.mark.parametrize("role", Role)
def test_strangers_reach_nothing(role: Role) -> None:
    assert not any(reaches(STRANGER, member(role), port) for port in PORTS)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("source", Role)
def test_another_run_reaches_nothing(role: Role, source: Role) -> None:
    for other in (member(source, run="other"), member(source, namespace="elsewhere")):
        assert not any(reaches(other, member(role), port) for port in PORTS)


def test_the_operator_reaches_status_ports_and_the_learners_control() -> None:
    expected = {
        Role.SANDBOX: {ports.SANDBOX_STATUS},
        Role.WORKER: {ports.WORKER_STATUS},
        # The beacon wears both a worker's and an engine's policies.
        Role.BEACON: {ports.WORKER_STATUS, ports.ENGINE_STATUS},
        Role.ENGINE: {ports.ENGINE_STATUS},
        Role.LEARNER: {ports.LEARNER_CONTROL, ports.LEARNER_STATUS},
        Role.PREPARE: set(),
    }
    for role, wanted in expected.items():
        assert {port for port in PORTS if reaches(OPERATOR, member(role), port)} == wanted


def test_sandboxes_are_never_scraped() -> None:
    assert not any(reaches(MONITORING, member(Role.SANDBOX), port) for port in PORTS)
    assert reaches(MONITORING, member(Role.ENGINE), ports.ENGINE_STATUS)
    assert reaches(MONITORING, member(Role.LEARNER), ports.LEARNER_STATUS)
    assert reaches(MONITORING, member(Role.WORKER), ports.WORKER_STATUS)
    assert not reaches(MONITORING, member(Role.LEARNER), ports.LEARNER_CONTROL)


def test_nobody_scrapes_where_no_namespace_may() -> None:
    from_anywhere = [
        rule
        for policy in network_policies(RUN.owner, make_site())
        for rule in policy["spec"]["ingress"]
        if not rule.get("from")
    ]
    assert from_anywhere == []


@pytest.mark.parametrize("role", [Role.WORKER, Role.ENGINE, Role.LEARNER, Role.PREPARE])
def test_trusted_roles_resolve_names_and_reach_the_sites_addresses(role: Role) -> None:
    assert reaches(member(role), DNS, 53)
    blocks = {
        peer["ipBlock"]["cidr"]
        for policy in selecting(member(role))
        for rule in policy["spec"]["egress"]
        for peer in rule.get("to", [])
        if "ipBlock" in peer
    }
    assert blocks == {"192.0.2.0/24"}


def test_an_installation_may_manage_its_network_itself() -> None:
    assert network_policies(RUN.owner, make_site(manage_network_policies=False)) == []


@pytest.mark.parametrize("role", Role)
def test_every_pod_of_a_run_is_closed_in_both_directions(role: Role) -> None:
    closed = POLICIES[0]["spec"]
    assert matches(closed["podSelector"], member(role)[1])
    assert closed["policyTypes"] == ["Ingress", "Egress"]
    assert (closed["ingress"], closed["egress"]) == ([], [])


def test_only_trusted_pods_reach_the_pods_of_others_that_the_installation_names() -> None:
    store: Pod = ("storage", {"app": "minio"})
    site = make_site(egress_pods=({"namespace": "storage", "podLabels": {"app": "minio"}, "ports": [9000]},))
    for policy in network_policies(RUN.owner, site):
        spec = policy["spec"]
        opened = [rule for rule in spec["egress"] if rule and any(is_peer(peer, store) for peer in rule["to"])]
        (expression,) = spec["podSelector"].get("matchExpressions", [{"values": []}])
        trusted = {str(role) for role in (Role.WORKER, Role.ENGINE, Role.LEARNER, Role.PREPARE)}
        reaches = bool(trusted & set(expression["values"])) and {} not in spec["egress"]
        assert [rule["ports"] for rule in opened] == ([[{"protocol": "TCP", "port": 9000}]] if reaches else [])
