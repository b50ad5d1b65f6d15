"""Stop the cluster and take away all that it put on the machine, its state and data excepted."""

from __future__ import annotations

import shutil
from pathlib import Path

from spade_cluster.container_runtime import (
    clear_dead_runtime,
    end_runtime_processes,
    remove_control_groups,
    stop_containers,
    unmount_below,
)
from spade_cluster.network import remove_network, was_started
from spade_cluster.preflight import check_rights
from spade_cluster.processes import is_alive, read_record, stop
from spade_cluster.programs import STOP_ORDER
from spade_cluster.settings import Layout

POD_LOG_LINKS = Path("/var/log/containers")
CNI_CACHE = Path("/var/lib/cni/results")


def stop_cluster(layout: Layout) -> None:
    """Stop everything in the reverse order of a start. Safe to repeat, and after a crash."""
    check_rights()
    if not layout.state.exists():
        return
    stop("kubelet", records=layout.processes)
    stop("buildkitd", records=layout.processes)
    if is_alive(read_record(layout.processes, "containerd")):
        stop_containers(layout)
    for name in STOP_ORDER:
        stop(name, records=layout.processes)
    stop("containerd", records=layout.processes)
    end_runtime_processes(layout)
    clear_dead_runtime(layout)
    unmount_below(layout.state)
    if was_started(layout):
        remove_control_groups()
        remove_network(layout)
    for cached in CNI_CACHE.glob("*"):
        if str(layout.state) in cached.read_text():
            cached.unlink()
    for name in ("containerd.sock", "containerd.sock.ttrpc", "buildkit.sock"):
        (layout.state / name).unlink(missing_ok=True)


def purge(layout: Layout) -> None:
    """Remove all state, images, volumes and binaries. The cluster must be stopped."""
    unmount_below(layout.state)
    for link in POD_LOG_LINKS.glob("*.log"):
        if link.is_symlink() and link.readlink().is_relative_to(layout.state):
            link.unlink()
    for folder in (layout.state, layout.base, layout.binaries):
        if folder.exists():
            shutil.rmtree(folder)
