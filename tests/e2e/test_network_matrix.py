"""Who reaches whom: the table of design §11, tried from each kind of pod to each kind, in two tenants' namespaces.

Small trusted pods carry the labels of each role under the operator's own NetworkPolicies; no operator runs meanwhile,
because it would take them for leftovers. Sandboxes are in gVisor, as the admission policy wants them.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.kube import Cluster, Object, apply, items, kubectl, wait_until
from tests.support.children import make_run

from spade_contracts import labels, ports
from spade_contracts.isolation import TargetKind
from spade_operator.children.manifests import Manifest
from spade_operator.children.policies import network_policies
from spade_operator.children.site import Site, load_site

PROBE = (Path(__file__).parent / "network_probe.py").read_text()
FIRST, SECOND, MONITORING, SYSTEM = "spade-tenant-a", "spade-tenant-b", "spade-watchers", "spade-system"
RUNS = {FIRST: ("one", "two"), SECOND: ("one",)}
"""Two runs in one namespace, and in another one a namesake of the first."""
READY_SECONDS, SETTLED_SECONDS = 120, 60

OTHER_PORT = 8080
ALL = frozenset({
    ports.SANDBOX_SESSIONS, ports.SANDBOX_STATUS, ports.WORKER_STATUS, ports.ENGINE_DATA, ports.ENGINE_CONTROL,
    ports.ENGINE_STATUS, ports.LEARNER_CONTROL, ports.LEARNER_STATUS, ports.LEARNER_RENDEZVOUS, OTHER_PORT,
})  # fmt: skip
"""Every pod listens on all of them, whatever it is: a policy that opens the wrong port is seen."""

WITHIN_A_RUN: dict[tuple[str, str], set[int]] = {
    ("worker", "sandbox"): {ports.SANDBOX_SESSIONS},
    ("beacon", "sandbox"): {ports.SANDBOX_SESSIONS},
    ("worker", "engine"): {ports.ENGINE_DATA},
    ("beacon", "engine"): {ports.ENGINE_DATA},
    ("worker", "beacon"): {ports.ENGINE_DATA},
    ("learner", "engine"): {ports.ENGINE_CONTROL, ports.ENGINE_STATUS},
    ("learner", "learner"): set(ALL),
}
INTO_EVERY_RUN: dict[tuple[str, str], set[int]] = {
    ("operator", "sandbox"): {ports.SANDBOX_STATUS},
    ("operator", "worker"): {ports.WORKER_STATUS},
    ("operator", "engine"): {ports.ENGINE_STATUS},
    ("operator", "beacon"): {ports.ENGINE_STATUS, ports.WORKER_STATUS},
    ("operator", "learner"): {ports.LEARNER_CONTROL, ports.LEARNER_STATUS},
    ("monitoring", "worker"): {ports.WORKER_STATUS},
    ("monitoring", "engine"): {ports.ENGINE_STATUS},
    ("monitoring", "beacon"): {ports.ENGINE_STATUS, ports.WORKER_STATUS},
    ("monitoring", "learner"): {ports.LEARNER_STATUS},
}
NO_RUN = frozenset({"operator", "monitoring", "outsider"})
"""Pods that no policy of ours holds."""
OPEN = NO_RUN | {"beacon"}
"""Whose way out is open; the beacon is the positive control of the isolation probe."""
ADDRESSES = frozenset(TargetKind) - {TargetKind.BEACON, TargetKind.NEIGHBOUR}
OUTWARD = {
    **dict.fromkeys(OPEN, ADDRESSES),
    **{role: {TargetKind.DNS, TargetKind.OUTSIDE} for role in ("worker", "engine", "learner", "prepare")},
    "sandbox": frozenset(),
}
"""Addresses that are no pods of ours. `egress.cidrs` names the outside one here, as a user would an object store."""


@dataclass(frozen=True)
class Place:
    """A probe pod, or an address that is none of ours."""

    name: str
    role: str
    """Role in a run, or one of NO_RUN; the kind of the target for addresses."""
    namespace: str
    run: str
    """Empty for pods of no run, and for addresses."""
    address: str = ""
    ports: tuple[tuple[int, str], ...] = tuple((port, "tcp") for port in sorted(ALL))

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def expected(source: Place, target: Place) -> set[int]:
    """The ports at which the source may reach the target."""
    if not target.namespace:
        kind = TargetKind(target.role)
        return {port for port, _ in target.ports} if kind in OUTWARD[source.role] else set()
    if target.role in NO_RUN:
        return set(ALL) if source.role in OPEN else set()
    if source.role in NO_RUN:
        return INTO_EVERY_RUN.get((source.role, target.role), set())
    if (source.namespace, source.run) != (target.namespace, target.run):
        return set()
    return WITHIN_A_RUN.get((source.role, target.role), set())


def wanted_pods() -> list[Place]:
    """Every role in the first run, with the neighbours that two of them have, and what must stay apart from it."""
    roles = ("sandbox", "beacon", "engine", "learner", "worker", "prepare")
    pods = [Place(f"one-{role}", role, FIRST, "one") for role in roles]
    pods += [Place(f"one-{role}-more", role, FIRST, "one") for role in ("sandbox", "learner")]
    pods += [Place(f"two-{role}", role, FIRST, "two") for role in ("sandbox", "engine", "learner")]
    pods += [Place(f"one-{role}", role, SECOND, "one") for role in ("sandbox", "beacon", "engine", "learner", "worker")]
    pods += [Place("outsider", "outsider", FIRST, ""), Place("monitoring", "monitoring", MONITORING, "")]
    return [*pods, Place("stand-in", "operator", SYSTEM, "")]


def manifest(place: Place, site: Site, image: str) -> Object:
    """A probe pod as its role's pods look to NetworkPolicies and to the admission policy."""
    marks = {labels.RUN: place.run, labels.ROLE: place.role} if place.run else {}
    if place.role == "operator":
        marks = dict(site.operator_labels)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": place.name, "namespace": place.namespace, "labels": {**marks, "network-matrix": "yes"}},
        "spec": {
            **({"runtimeClassName": site.sandbox_runtime_class} if place.role == "sandbox" else {}),
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "probe", "image": image, "command": ["python", "-c", PROBE, "serve", *map(str, sorted(ALL))],
                "env": [{"name": "HOME", "value": "/"}, {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
                "resources": {"requests": {"cpu": "5m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    }  # fmt: skip


def read_site(cluster: Cluster, folder: Path) -> Site:
    """The installation's own site, with a monitoring namespace and an address that runs may reach."""
    found = json.loads(kubectl(cluster, "get", "configmap", "spade-operator-site", "-n", SYSTEM, "-o", "json"))
    key, path, resolv_conf = folder / "key", folder / "site.json", folder / "resolv.conf"
    key.write_bytes(b"k" * 32)
    path.write_text(json.dumps(json.loads(found["data"]["site.json"]) | {"installationKeyFile": str(key)}))
    resolv_conf.write_text(f"nameserver {cluster_ip(cluster, 'kube-system', 'k8s-app=kube-dns')}\n")
    (node,) = items(cluster, "nodes", "")
    (address,) = [a["address"] for a in node["status"]["addresses"] if a["type"] == "InternalIP"]
    server = cluster_ip(cluster, "default", "component=apiserver")
    site = load_site(path, {"KUBERNETES_SERVICE_HOST": server, "SPADE_NODE_ADDRESS": address}, resolv_conf)
    (outside,) = [target.host for target in site.probe_targets if target.kind is TargetKind.OUTSIDE]
    return site.model_copy(update={"monitoring_namespace": MONITORING, "egress_cidrs": (f"{outside}/32",)})


def cluster_ip(cluster: Cluster, namespace: str, selector: str) -> str:
    (service,) = items(cluster, "services", namespace, selector)
    return str(service["spec"]["clusterIP"])


@pytest.fixture
def tenants(operator: Cluster) -> Iterator[Cluster]:
    """Namespaces of two tenants and of a monitoring system, while no operator runs."""
    scale = ("scale", "deployment", "spade-operator", "-n", SYSTEM)
    kubectl(operator, *scale, "--replicas=0")
    wait_until(
        "no operator runs", lambda: not items(operator, "pods", SYSTEM, "app.kubernetes.io/component=operator"), 60
    )
    try:
        for name in (FIRST, SECOND, MONITORING):
            restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
            apply(operator, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": restricted}})
        yield operator
    finally:
        kubectl(operator, "delete", "pod", "stand-in", "-n", SYSTEM, "--ignore-not-found", "--wait=true")
        kubectl(
            operator, "delete", "namespace", FIRST, SECOND, MONITORING, "--ignore-not-found", "--wait=true",
            timeout_seconds=180,
        )  # fmt: skip
        kubectl(operator, *scale, "--replicas=1")
        kubectl(operator, "rollout", "status", "deployment", "-n", SYSTEM, "--timeout=120s", timeout_seconds=150)


def policies_of(cluster: Cluster, site: Site) -> list[Manifest]:
    """The operator's policies for SpadeRuns of these names, which are made: the policies of none would be collected."""
    found = []
    for namespace, names in RUNS.items():
        for name in names:
            run: Object = {
                "apiVersion": "spade.dev/v1alpha1",
                "kind": "SpadeRun",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"model": {"uri": "package:tiny"}, "rollouts": 1},
            }
            apply(cluster, run)
            (made,) = [r for r in items(cluster, "spaderuns", namespace) if r["metadata"]["name"] == name]
            owner = make_run(name, namespace, made["metadata"]["uid"]).owner
            found += network_policies(owner, site)
    return found


def started(cluster: Cluster, site: Site) -> list[Place]:
    """All probe pods, with their addresses."""
    image = cluster.images["worker"]
    manifests = [manifest(place, site, image) for place in wanted_pods()]
    kubectl(cluster, "apply", "-f", "-", input_text="\n---\n".join(map(json.dumps, manifests)))

    def addresses() -> dict[str, str] | None:
        text = kubectl(cluster, "get", "pods", "-A", "-l", "network-matrix=yes", "-o", "json")
        pods = json.loads(text)["items"]
        found = {f"{p['metadata']['namespace']}/{p['metadata']['name']}": p["status"] for p in pods}
        running = all(status.get("phase") == "Running" for status in found.values())
        return {name: status["podIP"] for name, status in found.items()} if running else None

    known = wait_until("all probe pods run", addresses, READY_SECONDS)
    return [
        Place(place.name, place.role, place.namespace, place.run, known[str(place)], place.ports)
        for place in wanted_pods()
    ]


def deviations(cluster: Cluster, pods: list[Place], addresses: list[Place]) -> list[str]:
    """Try everything from everywhere at once; what is open or closed against the table."""

    def look(source: Place) -> list[str]:
        others = [place for place in (*pods, *addresses) if place != source]
        tried = [(place.address, port, protocol) for place in others for port, protocol in place.ports]
        command = ("exec", "-n", source.namespace, source.name, "--", "python", "-c", PROBE, "try", json.dumps(tried))
        said = kubectl(cluster, *command)
        if not said:
            return [f"{source}: its answer was lost on the way"]
        reached = {tuple(target) for target in json.loads(said)}
        found = []
        for place in others:
            open_ports = {port for port, protocol in place.ports if (place.address, port, protocol) in reached}
            if open_ports != expected(source, place):
                found.append(f"{source} → {place}: {sorted(open_ports)}, not {sorted(expected(source, place))}")
        return found

    with ThreadPoolExecutor(len(pods)) as pool:
        return [line for lines in pool.map(look, pods) for line in lines]


def test_every_kind_of_pod_reaches_what_the_table_says_and_nothing_else(tenants: Cluster, tmp_path: Path) -> None:
    site = read_site(tenants, tmp_path)
    policies = policies_of(tenants, site)
    kubectl(tenants, "apply", "-f", "-", input_text="\n---\n".join(map(json.dumps, policies)))
    pods = started(tenants, site)
    addresses = [Place(t.name, t.kind, "", "", str(t.host), ((t.port, str(t.protocol)),)) for t in site.probe_targets]
    wrong: list[str] = []

    def settled() -> bool:
        wrong[:] = deviations(tenants, pods, addresses)
        return not wrong

    wait_until("the network is as the table says", settled, SETTLED_SECONDS, lambda: "\n".join(wrong[:40]))
