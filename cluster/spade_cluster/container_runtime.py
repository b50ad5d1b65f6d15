"""containerd, with the leftovers of a crash removed before it starts and everything of it removed when it stops."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from spade_cluster.commands import succeeds, wait_until
from spade_cluster.errors import ClusterError
from spade_cluster.processes import pids_of, start_ticks, terminate
from spade_cluster.settings import Layout

NAMESPACE = "k8s.io"
SHIMS = frozenset({"containerd-shim-runsc-v1", "containerd-shim-runc-v2"})
SANDBOXES = frozenset({"runsc", "runsc-sandbox", "runsc-gofer"})


def ctr(layout: Layout, *arguments: str) -> list[str]:
    """Return a command of containerd's client for the Kubernetes namespace."""
    return ["ctr", "--address", str(layout.containerd_socket), "--namespace", NAMESPACE, *arguments]


def clear_dead_runtime(layout: Layout) -> None:
    """After a crash or a reboot that took the shims too, remove what nobody serves any more: processes, mounts, state.

    Containerd expects its state folder to be empty after a reboot. Live shims keep theirs: containerd finds them again.
    """
    if shim_pids(layout):
        return
    _end(lambda: container_pids(layout))
    unmount_below(layout.containerd / "state")
    shutil.rmtree(layout.containerd / "state", ignore_errors=True)
    shutil.rmtree(layout.containerd / "runsc", ignore_errors=True)


def shim_pids(layout: Layout) -> list[int]:
    """Return ids of this cluster's shims."""
    return pids_of(SHIMS, naming=layout.containerd_socket)


def container_pids(layout: Layout) -> list[int]:
    """Return ids of gVisor's processes, and of those in a control group of one of this cluster's containers."""
    folder = layout.containerd / "state" / "io.containerd.runtime.v2.task" / NAMESPACE
    containers = {one.name for one in folder.iterdir()} if folder.exists() else set()
    found = set(pids_of(SANDBOXES, naming=layout.containerd))
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                groups = (process / "cgroup").read_text().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if any(group.rpartition("/")[2] in containers for group in groups):
                found.add(int(process.name))
    return sorted(found)


def stop_containers(layout: Layout) -> None:
    """Remove every task through containerd, so that networks and mounts are taken down in order.

    Needs a running containerd.
    """
    end = time.monotonic() + 60
    while time.monotonic() < end:
        listed = subprocess.run(
            ctr(layout, "tasks", "list", "-q"), capture_output=True, text=True, timeout=30, check=False
        )
        tasks = listed.stdout.split()
        if listed.returncode != 0 or not tasks:
            return
        removals = [
            subprocess.Popen(
                ctr(layout, "tasks", "rm", "--force", task), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for task in tasks
        ]
        for removal in removals:
            try:
                removal.wait(30)
            except subprocess.TimeoutExpired:
                removal.kill()


def end_runtime_processes(layout: Layout) -> None:
    """End shims and containers that are still there when containerd is not."""
    _end(lambda: shim_pids(layout))
    _end(lambda: container_pids(layout))


def _end(find: Callable[[], list[int]]) -> None:
    """End processes until none is found any more."""
    for pid in find():
        started = start_ticks(pid)
        if started is not None:
            terminate(pid, started, grace_seconds=1)
    wait_until(lambda: not any(start_ticks(pid) for pid in find()), timeout_seconds=10)


def mounts_below(folder: Path) -> list[str]:
    """Return mount points in a folder, the deepest first."""
    points = [line.split()[1].replace("\\040", " ") for line in Path("/proc/mounts").read_text().splitlines()]
    return sorted((point for point in points if Path(point).is_relative_to(folder)), reverse=True)


def unmount_below(folder: Path) -> None:
    """Unmount everything in a folder.

    Raises ClusterError if something stays, because what is removed next must not reach through a mount.
    """
    for point in mounts_below(folder):
        succeeds(["umount", "--lazy", point])
    left = mounts_below(folder)
    if left:
        raise ClusterError(
            f"{left[0]} cannot be unmounted: end the programs that use it (fuser -vm {left[0]}) and try again"
        )


def remove_control_groups() -> None:
    """Remove the empty control groups of pods that a killed kubelet left."""
    for root in (*Path("/sys/fs/cgroup").glob("*/kubepods"), Path("/sys/fs/cgroup/kubepods")):
        if not root.is_dir():
            continue
        for folder, _, _ in os.walk(root, topdown=False):
            # A group that still has members refuses; whoever they are, they are not ours to end.
            succeeds(["rmdir", folder])
