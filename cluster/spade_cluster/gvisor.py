"""gVisor without the cluster: one program, for `spade verify` and, as a runtime, for Docker."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

from spade_cluster.binaries import MODULES, RUNSC, binaries_folder, build_program, check_go
from spade_cluster.commands import run, wait_until
from spade_cluster.errors import ClusterError
from spade_cluster.settings import Layout

RUNTIME = "runsc"
DOCKER_SECONDS = 30.0


def installed_runsc(layout: Layout) -> Path:
    """Return where `install_runsc` puts the program. The path stays, whatever version is there."""
    return layout.home / "gvisor" / "runsc"


def install_runsc(layout: Layout) -> bool:
    """Put the version that this checkout names in place; False if it was there. Raises ClusterError."""
    target = installed_runsc(layout)
    stamp = target.with_name("version")
    wanted = (MODULES / "gvisor" / "go.sum").read_text()
    if target.exists() and stamp.exists() and stamp.read_text() == wanted:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name("runsc.partial")
    built = binaries_folder(layout) / RUNSC.name  # the cluster's, from the same module
    if built.exists():
        shutil.copy2(built, partial)
        partial.replace(target)
    else:
        check_go()
        print("building runsc (about two minutes on 2 cores with empty caches)", flush=True)
        build_program(RUNSC, target.parent)
    stamp.write_text(wanted)
    return True


def register_with_docker(layout: Layout) -> str:
    """Make the program a runtime of this machine's Docker, if Docker is there. Returns what happened, for people."""
    if shutil.which("docker") is None:
        return "Docker is not installed; nothing to register."
    runtimes = _docker_runtimes()
    if runtimes is None:
        return "Docker does not answer, so runsc is not registered: start its daemon and run this again."
    target = str(installed_runsc(layout))
    if runtimes.get(RUNTIME, {}).get("path") == target:
        return "Docker has the runtime already."
    if os.geteuid() != 0:
        raise ClusterError(
            f"registering a runtime with Docker needs root: run this as root, or `{target} install` and reload Docker"
        )
    run([target, "install", f"--runtime={RUNTIME}", "--", "--platform=systrap"])
    _reload_docker()
    if not wait_until(lambda: (_docker_runtimes() or {}).get(RUNTIME, {}).get("path") == target, timeout_seconds=10):
        raise ClusterError("Docker's configuration names runsc, but Docker has not read it: restart Docker")
    return f"Docker has the runtime {RUNTIME} now."


def _docker_runtimes() -> dict[str, dict[str, str]] | None:
    """Return Docker's runtimes by name, or None if it does not answer."""
    try:
        text = run(["docker", "info", "--format", "{{json .Runtimes}}"], timeout_seconds=DOCKER_SECONDS)
        found = json.loads(text)
    except (ClusterError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _reload_docker() -> None:
    """Let Docker read its configuration again; running containers go on."""
    pid_file = Path("/var/run/docker.pid")
    try:
        os.kill(int(pid_file.read_text()), signal.SIGHUP)
    except (OSError, ValueError) as error:
        raise ClusterError(f"Docker's process cannot be found in {pid_file}: restart Docker") from error
