"""A control plane with pretended nodes, for the benchmark of scale: etcd, API server, controllers, scheduler, kwok.

All of it is this benchmark's own, in a network namespace of its own, and gone at the end.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.api_server import ApiServer, program, running_api_server, stop
from tests.support.ports import free_ports

ROOT = Path(__file__).parents[3]
KWOK = Path(__file__).parent / "kwok"
BUILD_SECONDS = 1200
PODS_CIDR = "127.64.0.1/10"
CONTROLLERS = ("deployment-controller", "replicaset-controller", "job-controller", "garbage-collector-controller")
PROGRAMS = {"etcd": "go.etcd.io/etcd/server/v3", "kwok": "sigs.k8s.io/kwok/cmd/kwok"}
"""kwok's watches need an etcd of version 3.6, which distributions do not have yet."""
QPS = ("--kube-api-qps=1000", "--kube-api-burst=2000")
Processes = Mapping[str, subprocess.Popen[bytes]]
"""By the name of their log."""


@dataclass(frozen=True)
class ControlPlane:
    """A running one."""

    server: ApiServer
    folder: Path
    processes: Processes
    """What runs beside the API server, by name."""

    @property
    def go_file(self) -> Path:
        """Workers on pretended nodes wait for it."""
        return self.folder / "go"

    def go(self) -> None:
        """Let workers end."""
        self.go_file.touch()


def enter_own_network(marker: str, module: str) -> None:
    """Start this program again in a network namespace of its own, where every loopback address is free."""
    if marker not in sys.argv:
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-m", module, *sys.argv[1:], marker])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def pretending_programs() -> Path:
    """Folder with kwok and an etcd that it can watch, built from their Go modules the first time."""
    home = Path(os.environ.get("SPADE_HOME") or "/var/lib/spade") / "kwok"
    for name, package in PROGRAMS.items():
        if (home / name).exists():
            continue
        if shutil.which("go") is None:
            raise SystemExit(f"Go is not installed: {name} is built from its Go module")
        home.mkdir(parents=True, exist_ok=True)
        part = home / f"{name}.part"
        command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(part), package]
        subprocess.run(command, cwd=KWOK, check=True, timeout=BUILD_SECONDS)
        part.rename(home / name)
    return home


@contextlib.contextmanager
def running(
    name: str, command: list[str | Path], folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its log in the folder; stopped at the end."""
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        stop(process)


def require_all(processes: Processes) -> None:
    """Raises RuntimeError when one of them has ended."""
    for name, process in processes.items():
        if process.poll() is not None:
            raise RuntimeError(f"the process {name} ended with {process.returncode}")


@contextlib.contextmanager
def control_plane(folder: Path, nodes: int) -> Iterator[ControlPlane]:
    """All of it, with so many nodes that take every pod."""
    programs = pretending_programs()
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_api_server(folder))
        common: list[str | Path] = [f"--kubeconfig={server.kubeconfig}", "--leader-elect=false", *QPS]
        manager = program("kube-controller-manager", server.binaries)
        scheduler = program("kube-scheduler", server.binaries)
        managing, scheduling = (f"--secure-port={port}" for port in free_ports(2))
        commands: dict[str, list[str | Path]] = {
            "controllers": [manager, *common, managing, f"--controllers={','.join(CONTROLLERS)}"],
            "scheduler": [scheduler, *common, scheduling],
        }
        commands["kwok"] = [
            programs / "kwok", f"--kubeconfig={server.kubeconfig}", f"--config={KWOK / 'stages.yaml'}",
            "--manage-all-nodes=true", f"--cidr={PODS_CIDR}", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=0",
        ]  # fmt: skip
        processes = {name: stack.enter_context(running(name, command, folder)) for name, command in commands.items()}
        made = server.apply(
            *({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{n}"}} for n in range(nodes))
        )
        if made.returncode:
            raise RuntimeError(f"nodes cannot be made: {made.stderr}")
        # Admission marks new nodes as not ready, and the controller that takes the mark away is not here.
        server.kubectl("taint", "nodes", "--all", "node.kubernetes.io/not-ready-")
        yield ControlPlane(server, folder, processes)
