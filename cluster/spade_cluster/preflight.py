"""Look, before anything is started, whether this machine can carry the cluster, and say what to do where it cannot."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path

from spade_cluster.commands import succeeds
from spade_cluster.errors import ClusterError
from spade_cluster.settings import API_PORT, ETCD_CLIENT_PORT, ETCD_PEER_PORT, NODE_ADDRESS, Layout

NEEDED_GIGABYTES = {"programs": 50, "images": 30, "start": 12}
"""Free space to begin with: a cold build of everything; building the trainer image; starting what is built."""
MINIMUM_MEMORY_GIGABYTES = 6

CAPABILITIES = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_NET_ADMIN": 12,
    "CAP_SYS_CHROOT": 18,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_MKNOD": 27,
    "CAP_SETFCAP": 31,
}

PORTS = {
    "etcd": (("127.0.0.1", ETCD_CLIENT_PORT), ("127.0.0.1", ETCD_PEER_PORT)),
    "kube-apiserver": ((NODE_ADDRESS, API_PORT),),
    "kube-controller-manager": (("127.0.0.1", 10257),),
    "kube-scheduler": (("127.0.0.1", 10259),),
    "kubelet": ((NODE_ADDRESS, 10250), ("127.0.0.1", 10248)),
    "kube-proxy": (("127.0.0.1", 10249), ("127.0.0.1", 10256)),
}
"""What each component listens on."""


def missing_capabilities(status: str) -> list[str]:
    """Read a /proc/<pid>/status text and return the names of needed capabilities that are not effective."""
    effective = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    return [name for name, bit in CAPABILITIES.items() if not effective >> bit & 1]


def check_rights() -> None:
    """Raise ClusterError unless we may create namespaces, mounts and network devices."""
    if os.geteuid() != 0:
        raise ClusterError("the cluster must be started by root: run the same command with sudo")
    missing = missing_capabilities(Path("/proc/self/status").read_text())
    if missing:
        raise ClusterError(
            f"this process lacks {', '.join(missing)}: use a virtual machine, or a container started with --privileged"
        )


def check_kernel() -> None:
    """Raise ClusterError unless the kernel has overlayfs, nf_tables, and bridges that pass packets to the firewall."""
    if "overlay" not in Path("/proc/filesystems").read_text() and not succeeds(["modprobe", "overlay"]):
        raise ClusterError("the kernel has no overlayfs: load the module 'overlay' on the host")
    bridge = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if not bridge.exists() and not succeeds(["modprobe", "br_netfilter"]):
        raise ClusterError(
            "the kernel does not show bridged packets to the firewall, so NetworkPolicy could not hold between pods: "
            "load the module 'br_netfilter' on the host"
        )
    bridge.write_text("1\n")
    if not succeeds(["nft", "list", "tables"]):
        raise ClusterError("the kernel has no nf_tables: load the module 'nf_tables' on the host")
    if not Path("/sys/fs/cgroup/memory").exists() and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        raise ClusterError(
            "no control groups are mounted on /sys/fs/cgroup: mount cgroup2 there, "
            "or start the container with --cgroupns=host"
        )


def needed_gigabytes(step: str, *, images_exist: bool, override: str | None) -> int:
    """Return how much space must be free before a step; SPADE_MIN_FREE_GB overrides it."""
    if override:
        return int(override)
    return NEEDED_GIGABYTES["start" if step == "programs" and images_exist else step]


def check_space(layout: Layout, step: str) -> None:
    """Raise ClusterError when the file system of the home folder is too full for a step of NEEDED_GIGABYTES."""
    layout.home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(layout.home).free / 1e9
    images_exist = layout.built_images.exists()
    needed = needed_gigabytes(step, images_exist=images_exist, override=os.environ.get("SPADE_MIN_FREE_GB"))
    if free < needed:
        raise ClusterError(
            f"{layout.home} has {free:.0f} GB free and {needed} GB are needed: free some "
            "(old Go build caches go with 'go clean -cache', uv's with 'uv cache clean'), set SPADE_HOME to a larger "
            "disk, or lower the bound with SPADE_MIN_FREE_GB"
        )


def check_memory() -> None:
    """Raise ClusterError on a machine that is too small for the control plane and one small run."""
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal:"))
    total = int(line.split()[1]) * 1024 / 1e9
    if total < MINIMUM_MEMORY_GIGABYTES:
        raise ClusterError(
            f"this machine has {total:.1f} GB of memory and {MINIMUM_MEMORY_GIGABYTES} GB are needed: use a larger one"
        )


def check_ports(components: Iterable[str]) -> None:
    """Raise ClusterError if a port of a component that is about to be started is taken."""
    for component in components:
        for address, port in PORTS.get(component, ()):
            if _is_taken(address, port):
                raise ClusterError(
                    f"port {port} on {address}, which {component} needs, is in use by {_listener(port)}: "
                    "stop that program first (a cluster of ours with another SPADE_HOME goes with "
                    "'make clean-cluster SPADE_HOME=...')"
                )


def _is_taken(address: str, port: int) -> bool:
    """Tell whether another program listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _listener(port: int) -> str:
    """Name the program behind a port, as far as can be seen."""
    shown = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=False)
    words = shown.stdout.split()
    return words[-1] if words else "an unknown program"
