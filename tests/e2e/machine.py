"""What happens to the machine itself: daemons are killed, everything stops and starts, a disk fills up."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.kube import Cluster, apply, kubectl, run_command

ROOT = Path(__file__).parents[2]
UP_SECONDS = 300
DISK_BYTES = 512 << 20


def kill_daemon(cluster: Cluster, name: str, *, down_seconds: float) -> None:
    """SIGKILL to a daemon of the cluster, which is away for a while and then started again."""
    os.kill(json.loads((cluster.processes / f"{name}.json").read_text())["pid"], signal.SIGKILL)
    time.sleep(down_seconds)
    run_command(ROOT / "cluster" / "up", timeout_seconds=UP_SECONDS)


def reboot(cluster: Cluster) -> None:
    """Every pod and every daemon stops and starts; disks keep what is on them."""
    run_command(ROOT / "cluster" / "down", timeout_seconds=UP_SECONDS)
    run_command(ROOT / "cluster" / "up", timeout_seconds=UP_SECONDS)
    kubectl(cluster, "get", "--raw", "/readyz")


@contextmanager
def small_disk(cluster: Cluster, namespace: str, claim: str, folder: Path) -> Iterator[Path]:
    """A claim on a disk of its own that a test can fill; gone with all that is on it at the end.

    One that an interrupted session left goes first: its folder has gone, and a volume's folder cannot be changed.
    """
    volume = f"{namespace}-{claim}"
    remove_volume(cluster, volume)
    folder.mkdir()
    run_command("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0777", "spade-e2e-disk", folder)
    try:
        node = json.loads(kubectl(cluster, "get", "nodes", "-o", "json"))["items"][0]["metadata"]["name"]
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        shared = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        apply(
            cluster,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {
                    **shared,
                    "capacity": {"storage": str(DISK_BYTES)},
                    "persistentVolumeReclaimPolicy": "Retain",
                    "local": {"path": str(folder)},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                },
            },
        )
        apply(
            cluster,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": namespace},
                "spec": {
                    **shared,
                    "volumeName": volume,
                    "resources": {"requests": {"storage": str(DISK_BYTES)}},
                },
            },
        )
        yield folder
    finally:
        kubectl(cluster, "delete", "pvc", claim, "-n", namespace, "--ignore-not-found", "--wait=false")
        remove_volume(cluster, volume, wait=False)
        run_command("umount", "--lazy", folder)


def remove_volume(cluster: Cluster, name: str, *, wait: bool = True) -> None:
    """A persistent volume gone, if there is one."""
    kubectl(cluster, "delete", "pv", name, "--ignore-not-found", f"--wait={str(wait).lower()}", "--timeout=60s")


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """No byte is free on the disk meanwhile."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        free = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
    try:
        yield
    finally:
        ballast.unlink()
