"""The components that run as processes of the host, in starting order, and their configuration files."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from string import Template

from spade_cluster.commands import succeeds
from spade_cluster.container_runtime import ctr
from spade_cluster.processes import Program
from spade_cluster.settings import (
    API_PORT,
    CLUSTER_DOMAIN,
    CLUSTER_SOURCE,
    DNS_ADDRESS,
    ETCD_CLIENT_PORT,
    ETCD_PEER_PORT,
    MAX_PODS,
    NODE_ADDRESS,
    NODE_NAME,
    POD_BRIDGE,
    POD_CIDR,
    SERVICE_CIDR,
    STAND_IN_ADDRESSES,
    STAND_IN_PORTS,
    Layout,
)
from spade_cluster.system_images import PAUSE_IMAGE

STOP_ORDER = (
    "stand-ins",
    "kube-router",
    "kube-proxy",
    "kube-scheduler",
    "kube-controller-manager",
    "kube-apiserver",
    "etcd",
)
"""What ends after the kubelet and the containers; containerd is the last."""


def write_config(layout: Layout) -> None:
    """Fill the templates of cluster/config into the state folder."""
    values = {
        "state": str(layout.state),
        "node_address": NODE_ADDRESS,
        "dns_address": DNS_ADDRESS,
        "cluster_domain": CLUSTER_DOMAIN,
        "pod_bridge": POD_BRIDGE,
        "pod_cidr": POD_CIDR,
        "max_pods": str(MAX_PODS),
        "pause_image": PAUSE_IMAGE,
    }
    source = CLUSTER_SOURCE / "config"
    for template in source.rglob("*"):
        if template.is_file():
            target = layout.config / template.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(Template(template.read_text()).substitute(values))
    (layout.config / "resolv.conf").write_text(
        "".join(f"nameserver {one}\n" for one in outside_name_servers(Path("/etc/resolv.conf")))
    )


def outside_name_servers(path: Path) -> list[str]:
    """Return the machine's name servers that a pod can reach.

    A loopback address would be the pod itself, and CoreDNS would ask itself.
    """
    servers = []
    for line in path.read_text().splitlines() if path.exists() else []:
        words = line.split()
        if (
            len(words) > 1
            and words[0] == "nameserver"
            and not ipaddress.ip_address(words[1].partition("%")[0]).is_loopback
        ):
            servers.append(words[1])
    return servers


def programs(layout: Layout, binaries: Path) -> list[Program]:
    """Return every component in starting order; each may rely on those before it."""
    pki, config = layout.pki, layout.config
    path = (("PATH", f"{binaries}:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/root"))

    def binary(name: str) -> str:
        return str(binaries / name)

    def kubeconfig(name: str) -> str:
        return f"--kubeconfig={pki / name}.kubeconfig"

    return [
        Program(
            "etcd",
            (
                *("etcd", "--name=spade", f"--data-dir={layout.state / 'etcd'}"),
                # A development cluster forgives a power cut; a slow disk under a build would cost leader elections
                # instead.
                "--unsafe-no-fsync",
                f"--listen-client-urls=http://127.0.0.1:{ETCD_CLIENT_PORT}",
                f"--advertise-client-urls=http://127.0.0.1:{ETCD_CLIENT_PORT}",
                f"--listen-peer-urls=http://127.0.0.1:{ETCD_PEER_PORT}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{ETCD_PEER_PORT}",
                f"--initial-cluster=spade=http://127.0.0.1:{ETCD_PEER_PORT}",
            ),
            ready=lambda: _answers(f"http://127.0.0.1:{ETCD_CLIENT_PORT}/health"),
            environment=path,
        ),
        Program(
            "kube-apiserver",
            (
                binary("kube-apiserver"),
                f"--etcd-servers=http://127.0.0.1:{ETCD_CLIENT_PORT}",
                *(f"--advertise-address={NODE_ADDRESS}", f"--bind-address={NODE_ADDRESS}", f"--secure-port={API_PORT}"),
                *(f"--service-cluster-ip-range={SERVICE_CIDR}", f"--client-ca-file={pki}/ca.crt"),
                *(f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key"),
                *(f"--service-account-key-file={pki}/sa.pub", f"--service-account-signing-key-file={pki}/sa.key"),
                "--service-account-issuer=https://kubernetes.default.svc",
                *(
                    "--authorization-mode=Node,RBAC",
                    "--enable-admission-plugins=NodeRestriction",
                    "--allow-privileged=true",
                ),
                f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
                f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
                f"--kubelet-certificate-authority={pki}/ca.crt",
                "--kubelet-preferred-address-types=InternalIP",
                *(f"--audit-policy-file={config}/audit.yaml", f"--audit-log-path={layout.log}/audit.log"),
                *("--audit-log-maxsize=50", "--audit-log-maxbackup=3", "--profiling=false"),
            ),
            ready=lambda: _answers(f"https://{NODE_ADDRESS}:{API_PORT}/readyz", authority=pki / "ca.crt"),
            config_files=(config / "audit.yaml", pki / "apiserver.crt", pki / "ca.crt"),
            environment=path,
        ),
        Program(
            "containerd",
            ("containerd", "--config", str(config / "containerd.toml")),
            ready=lambda: succeeds(ctr(layout, "version")),
            config_files=(config / "containerd.toml", config / "cni/10-spade.conflist"),
            environment=path,
        ),
        Program(
            "kube-controller-manager",
            (
                *(binary("kube-controller-manager"), kubeconfig("controller-manager"), f"--root-ca-file={pki}/ca.crt"),
                *(f"--service-account-private-key-file={pki}/sa.key", "--use-service-account-credentials=true"),
                *("--allocate-node-cidrs=true", f"--cluster-cidr={POD_CIDR}", "--node-cidr-mask-size=24"),
                *("--leader-elect=false", "--bind-address=127.0.0.1", "--kube-api-qps=100", "--kube-api-burst=200"),
                *("--terminated-pod-gc-threshold=1000", "--profiling=false"),
            ),
            ready=lambda: _answers("https://127.0.0.1:10257/healthz"),
            config_files=(pki / "controller-manager.crt",),
            environment=path,
        ),
        Program(
            "kube-scheduler",
            (
                binary("kube-scheduler"),
                kubeconfig("scheduler"),
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                "--profiling=false",
            ),
            ready=lambda: _answers("https://127.0.0.1:10259/healthz"),
            config_files=(pki / "scheduler.crt",),
            environment=path,
        ),
        Program(
            "kubelet",
            (
                *(
                    binary("kubelet"),
                    kubeconfig("kubelet"),
                    f"--config={config}/kubelet.yaml",
                    f"--hostname-override={NODE_NAME}",
                ),
                *(f"--node-ip={NODE_ADDRESS}", f"--root-dir={layout.state}/kubelet"),
            ),
            ready=lambda: _answers("http://127.0.0.1:10248/healthz"),
            config_files=(config / "kubelet.yaml", config / "resolv.conf", pki / "kubelet.crt"),
            environment=path,
        ),
        Program(
            "kube-proxy",
            (
                *(
                    binary("kube-proxy"),
                    kubeconfig("kube-proxy"),
                    f"--hostname-override={NODE_NAME}",
                    "--proxy-mode=nftables",
                ),
                *(f"--cluster-cidr={POD_CIDR}", "--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0s"),
                *("--conntrack-tcp-timeout-close-wait=0s", "--oom-score-adj=0"),
                *("--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249"),
            ),
            # /livez speaks for the program; /healthz turns bad while the node is being deleted.
            ready=lambda: _answers("http://127.0.0.1:10256/livez"),
            config_files=(pki / "kube-proxy.crt",),
            environment=path,
        ),
        Program(
            "kube-router",
            (
                *(binary("kube-router"), kubeconfig("kube-router"), f"--hostname-override={NODE_NAME}"),
                *("--run-router=false", "--run-service-proxy=false", "--run-loadbalancer=false", "--run-firewall=true"),
                *("--metrics-port=0", "--health-port=0", f"--service-cluster-ip-range={SERVICE_CIDR}"),
            ),
            ready=lambda: succeeds(["iptables", "-w", "-n", "-L", "KUBE-ROUTER-FORWARD"]),
            config_files=(pki / "kube-router.crt",),
            environment=path,
        ),
        Program(
            "stand-ins",
            (
                "/usr/bin/python3",
                str(config / "stand_ins.py"),
                *(f"{host}:{port}" for host, port in zip(STAND_IN_ADDRESSES, STAND_IN_PORTS, strict=True)),
            ),
            ready=lambda: all(map(_accepts, STAND_IN_ADDRESSES, STAND_IN_PORTS)),
            config_files=(config / "stand_ins.py",),
            environment=path,
        ),
    ]


def _answers(url: str, *, authority: Path | None = None) -> bool:
    """Tell whether a health page answers with 200.

    Pages of components with certificates of their own are on loopback and not checked.
    """
    context = None
    if url.startswith("https:"):
        context = ssl.create_default_context(cafile=str(authority) if authority else None)
        if authority is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _accepts(host: str, port: int) -> bool:
    """Tell whether somebody accepts TCP connections there."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
