"""Where things lie and which addresses the cluster uses. Everything that could differ between two machines is here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CLUSTER_SOURCE = CHECKOUT / "cluster"

NODE_NAME = "spade-node"
NODE_BRIDGE = "spade-node"
"""A bridge without ports carries the node's address, because some kernels have no dummy device."""
POD_BRIDGE = "spade-pods"
NODE_ADDRESS = "172.31.255.1"
STAND_IN_ADDRESSES = ("172.31.255.2", "172.31.255.3")
"""Addresses of this machine that stand for a metadata service and for an outside host in the isolation probe."""
STAND_IN_PORTS = (80, 443)
"""Where each of them listens."""
POD_CIDR = "10.244.0.0/24"
SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_ADDRESS = "10.96.0.10"
CLUSTER_DOMAIN = "cluster.local"
API_PORT = 6443
ETCD_CLIENT_PORT = 12379
ETCD_PEER_PORT = 12380
MAX_PODS = 250
VOLUME_COUNT = 8
VOLUME_SIZE = "20Gi"


@dataclass(frozen=True)
class Layout:
    """Paths below one home folder, which lies outside of the checkout."""

    home: Path

    @property
    def binaries(self) -> Path:
        """One folder for each set of programs, named by the hash of what they are made from."""
        return self.home / "bin"

    @property
    def current_binaries(self) -> Path:
        """A link to the set that the cluster was last started with."""
        return self.binaries / "current"

    @property
    def base(self) -> Path:
        """Root file systems of base images, kept between builds."""
        return self.home / "base"

    @property
    def state(self) -> Path:
        """All state of the cluster."""
        return self.home / "cluster"

    @property
    def volumes(self) -> Path:
        """Data of the local volumes."""
        return self.state / "volumes"

    @property
    def pki(self) -> Path:
        """Keys, certificates and the components' kubeconfigs."""
        return self.state / "pki"

    @property
    def config(self) -> Path:
        """Generated configuration files."""
        return self.state / "config"

    @property
    def log(self) -> Path:
        """One log for each component, the API server's audit log, and the pods' logs."""
        return self.state / "log"

    @property
    def processes(self) -> Path:
        """One record for each process that was started."""
        return self.state / "processes"

    @property
    def containerd(self) -> Path:
        """Containerd's content and run-time state."""
        return self.state / "containerd"

    @property
    def containerd_socket(self) -> Path:
        """Where containerd listens. The path is ours alone, so a process that names it is ours."""
        return self.state / "containerd.sock"

    @property
    def built_images(self) -> Path:
        """Record of the images built last: name → reference."""
        return self.state / "images.json"

    @property
    def buildkit(self) -> Path:
        """BuildKit's state."""
        return self.state / "buildkit"

    @property
    def buildkit_socket(self) -> Path:
        """Where BuildKit listens while images are built."""
        return self.state / "buildkit.sock"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.state / "kubeconfig"


def layout_from_environment() -> Layout:
    """Read SPADE_HOME; without it everything lies in /var/lib/spade."""
    return Layout(home=Path(os.environ.get("SPADE_HOME") or "/var/lib/spade").resolve())
