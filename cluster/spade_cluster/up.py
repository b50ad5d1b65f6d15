"""Bring the cluster up from any state: new, half started, crashed, rebooted, or running already."""

from __future__ import annotations

import time

from spade_cluster.binaries import binaries_folder, missing_binaries
from spade_cluster.commands import wait_until
from spade_cluster.container_runtime import clear_dead_runtime
from spade_cluster.dns_query import resolves
from spade_cluster.errors import ClusterError
from spade_cluster.kubectl import apply, get
from spade_cluster.network import ensure_network
from spade_cluster.packages import install_missing
from spade_cluster.pki import ensure_pki
from spade_cluster.preflight import check_kernel, check_memory, check_ports, check_rights, check_space
from spade_cluster.processes import ensure_running, is_alive, read_record
from spade_cluster.programs import programs, write_config
from spade_cluster.settings import CLUSTER_DOMAIN, CLUSTER_SOURCE, DNS_ADDRESS, NODE_NAME, Layout
from spade_cluster.system_images import COREDNS_IMAGE, ensure_system_images
from spade_cluster.volumes import ensure_volumes

READY_SECONDS = 180.0


def start_cluster(layout: Layout) -> None:
    """Start what is not running, wait until pods could run and names resolve, and say what was done."""
    begin = time.monotonic()
    check_rights()
    check_memory()
    if missing_binaries(layout):
        raise ClusterError("the cluster's programs are not built: run cluster/build (or make cluster) first")
    alive = {name for name in _component_names(layout) if is_alive(read_record(layout.processes, name))}
    if "containerd" not in alive:
        check_space(layout, "start")
    install_missing()
    check_kernel()
    for folder in (layout.state, layout.log, layout.processes, layout.volumes):
        folder.mkdir(parents=True, exist_ok=True)
    check_ports(name for name in _component_names(layout) if name not in alive)
    ensure_network(layout)
    ensure_pki(layout)
    write_config(layout)
    _point_current_at_wanted(layout)
    if "containerd" not in alive:
        clear_dead_runtime(layout)
    started = []
    for program in programs(layout, binaries_folder(layout)):
        if ensure_running(program, records=layout.processes, logs=layout.log):
            started.append(program.name)
        if program.name == "containerd":
            ensure_system_images(layout, binaries_folder(layout))
        if program.name == "kube-apiserver":
            _apply_manifests(layout)
    ensure_volumes(layout)
    _await_cluster(layout)
    done = f"started {', '.join(started)}" if started else "everything was running"
    print(f"cluster is up after {time.monotonic() - begin:.1f} s ({done}); kubeconfig: {layout.kubeconfig}", flush=True)


def _component_names(layout: Layout) -> list[str]:
    """Return the components' names in starting order."""
    return [program.name for program in programs(layout, binaries_folder(layout))]


def _point_current_at_wanted(layout: Layout) -> None:
    """Let the link to the current binaries name this checkout's set."""
    temporary = layout.binaries / ".current"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(binaries_folder(layout).name)
    temporary.replace(layout.current_binaries)


def _apply_manifests(layout: Layout) -> None:
    """Apply what the cluster itself consists of."""
    servers = (layout.config / "resolv.conf").read_text().split()
    values = {
        "cluster_domain": CLUSTER_DOMAIN,
        "dns_address": DNS_ADDRESS,
        "coredns_image": COREDNS_IMAGE,
        "forward": "forward . /etc/resolv.conf" if servers else "",
    }
    # A server that has just become ready may still be writing its own roles and namespaces.
    if not wait_until(lambda: _has_kube_system(layout), timeout_seconds=30):
        raise ClusterError("the API server did not create the namespace kube-system within 30 s")
    for manifest in sorted((CLUSTER_SOURCE / "manifests").glob("*.yaml")):
        apply(layout, manifest, values)


def _has_kube_system(layout: Layout) -> bool:
    """Tell whether the API server has created its namespace for system objects."""
    try:
        get(layout, "namespace", "kube-system")
    except ClusterError:
        return False
    return True


def _await_cluster(layout: Layout) -> None:
    """Wait until the node is ready and a service name resolves through the cluster's DNS address."""

    def node_ready() -> bool:
        try:
            node = get(layout, "node", NODE_NAME)
        except ClusterError:
            return False
        return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", []))

    if not wait_until(node_ready, timeout_seconds=READY_SECONDS):
        raise ClusterError(f"the node was not Ready within {READY_SECONDS:.0f} s: see {layout.log}/kubelet.log")
    name = f"kubernetes.default.svc.{CLUSTER_DOMAIN}"
    if not wait_until(lambda: resolves(name, server=DNS_ADDRESS), timeout_seconds=READY_SECONDS):
        raise ClusterError(
            f"{name} did not resolve within {READY_SECONDS:.0f} s: look at "
            f"'kubectl -n kube-system describe pod -l k8s-app=kube-dns' and {layout.log}/kube-proxy.log"
        )
