"""Install the Debian packages that the cluster needs, and only those that are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from spade_cluster.errors import ClusterError

CLUSTER_PACKAGES = (
    "ca-certificates",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "etcd-server",
    "ethtool",
    "iproute2",
    "ipset",
    "iptables",
    "kmod",
    "libc6-dev",
    "mmdebstrap",
    "nftables",
    "openssl",
    "runc",
    "socat",
)
POLICY = Path("/usr/sbin/policy-rc.d")
"""Debian asks this file whether a package may start its service. Ours would start a second containerd and etcd."""


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return those that are not installed."""
    shown = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    installed = {line.split()[0] for line in shown.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in installed]


def install_missing(names: Sequence[str] = CLUSTER_PACKAGES) -> None:
    """Install what is missing, without starting services. Raises ClusterError with apt's last words."""
    missing = missing_packages(names)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise ClusterError(f"this is not Debian; install what these packages hold and try again: {' '.join(missing)}")
    print(f"installing Debian packages: {' '.join(missing)}", flush=True)
    ours = not POLICY.exists()
    if ours:
        POLICY.write_text("#!/bin/sh\nexit 101\n")
        POLICY.chmod(0o755)
    try:
        _apt_get("update")
        _apt_get("install", "--yes", "--no-install-recommends", *missing)
    finally:
        if ours:
            POLICY.unlink()


def _apt_get(*arguments: str) -> None:
    """Run apt-get without questions."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", "-o", "DPkg::Lock::Timeout=120", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1200,
        check=False,
    )
    if done.returncode != 0:
        raise ClusterError(f"apt-get {arguments[0]} failed: {done.stderr.strip()[-1500:]}")
