"""Real sandbox pods for tests: the pod's own entry point, in namespaces, in gVisor or in runc, on loopback.

In a container the pod runs as in Kubernetes: an unprivileged user, no capabilities, a read-only root file system.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tests.support.api_server import binaries_folder
from tests.support.ports import free_ports

from spade_contracts.statuses import SandboxStatus
from spade_sandbox.local import runsc

ROOT = Path(__file__).parents[2]
TOKEN = "a token of the tests"
START_SECONDS = 600.0
STOP_SECONDS = 30.0
UNPRIVILEGED = 65532
Found = TypeVar("Found")


@dataclass(frozen=True)
class RunningPod:
    """A pod that serves its status."""

    session_port: int
    status_port: int
    process: "subprocess.Popen[bytes]"
    log: Path
    signal: Callable[[int], None]
    """Sends a signal to the pod's server."""
    within: tuple[str, ...] = ()
    """Words before a command that run it in the same place."""

    @property
    def target(self) -> str:
        """What a SandboxPool is given."""
        return f"127.0.0.1:{self.session_port}"

    def get(self, path: str) -> tuple[int, str]:
        """Status code and body of a request to the status port."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def status(self) -> SandboxStatus:
        """The pod's status, validated."""
        return SandboxStatus.model_validate_json(self.get("/status")[1])

    def tried(self) -> SandboxStatus:
        """The status once the walls have been tried."""
        return eventually("the walls are tried", lambda: status if (status := self.status()).walls else None)


def eventually(what: str, look: Callable[[], Found | None], seconds: float = START_SECONDS) -> Found:
    """What `look` gives as soon as it gives something; an AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


@contextmanager
def pod_in_namespaces(*, launcher: Sequence[str] = (), **settings: object) -> Iterator[RunningPod]:
    """A pod whose cells are namespaces of this machine. Needs root or unprivileged user namespaces.

    `settings`: SPADE_SANDBOX_* by lower-case name; `launcher`: words before the command.
    """
    with _folder(settings) as (folder, environment):
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*launcher, sys.executable, "-m", "spade_sandbox.pod"],
                env={**environment, "PATH": os.environ["PATH"]},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        pod = _pod(environment, process, folder, process.send_signal)
        try:
            yield _started(pod)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(STOP_SECONDS)


@contextmanager
def pod_in_gvisor(*, launcher: Sequence[str] = (), **settings: object) -> Iterator[RunningPod]:
    """A pod in gVisor, on this machine's network. `launcher`: words before the command that starts gVisor."""
    with _pod_in_container((str(find_runsc()), "--network=host", "--ignore-cgroups"), launcher, settings) as pod:
        yield pod


@contextmanager
def pod_in_runc(*, launcher: Sequence[str] = (), **settings: object) -> Iterator[RunningPod]:
    """The same container on this machine's own kernel. Needs root."""
    with _pod_in_container((str(find_runc()),), launcher, settings) as pod:
        yield pod


@contextmanager
def _pod_in_container(
    runtime: Sequence[str], launcher: Sequence[str], settings: dict[str, object]
) -> Iterator[RunningPod]:
    """A pod as an OCI runtime runs it, with its command and flags."""
    with _folder(settings) as (folder, environment):
        (folder / "root").mkdir()
        (folder / "config.json").write_text(json.dumps(_bundle(folder, environment)))
        command = [runtime[0], f"--root={folder / 'state'}", *runtime[1:]]
        name = folder.name
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*launcher, *command, "run", "--bundle", str(folder), name],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

        def send(number: int) -> None:
            subprocess.run([*command, "kill", name, signal.Signals(number).name], check=True, timeout=STOP_SECONDS)

        within = (*command, "exec", "--cwd", "/", name)
        pod = replace(_pod(environment, process, folder, send), within=within)
        try:
            yield _started(pod)
        finally:
            subprocess.run(
                [*command, "delete", "--force", name], check=False, timeout=STOP_SECONDS, capture_output=True
            )
            process.wait(STOP_SECONDS)


def find_runsc() -> Path:
    """runsc: SPADE_RUNSC, the development cluster's, or PATH; built if it is nowhere."""
    named = os.environ.get("SPADE_RUNSC")
    if named:
        return Path(named)
    built = binaries_folder() / "runsc"
    if built.exists():
        return built
    on_path = shutil.which("runsc")
    if on_path:
        return Path(on_path)
    subprocess.run([str(ROOT / "cluster" / "build")], check=True, timeout=3600)
    return built


def find_runc() -> Path:
    """runc: in PATH or where Debian puts it; installed if it is nowhere."""
    folders = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    if shutil.which("runc", path=folders) is None:
        subprocess.run([str(ROOT / "cluster" / "packages"), "runc"], check=True, timeout=600)
    found = shutil.which("runc", path=folders)
    assert found is not None
    return Path(found)


def descendants(process_id: int) -> set[int]:
    """All processes below one, as this machine sees them."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text[text.rindex(")") + 1 :].split()[1])
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {process_id}} - found:
        found |= more
    return found


def alive(process_ids: set[int]) -> set[int]:
    """Those that still run."""
    return {number for number in process_ids if Path(f"/proc/{number}").exists()}


def _pod(
    environment: dict[str, str], process: "subprocess.Popen[bytes]", folder: Path, send: Callable[[int], None]
) -> RunningPod:
    ports = (int(environment["SPADE_SANDBOX_SESSION_PORT"]), int(environment["SPADE_SANDBOX_STATUS_PORT"]))
    return RunningPod(*ports, process, folder / "log", send)


@contextmanager
def _folder(settings: dict[str, object]) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder that the unprivileged user can read, and the pod's environment."""
    with tempfile.TemporaryDirectory(prefix="spade-pod-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "digest").write_text(hashlib.sha256(TOKEN.encode()).hexdigest())
        session_port, status_port = free_ports(2)
        wanted: dict[str, object] = {
            "host": "127.0.0.1",
            "session_port": session_port,
            "status_port": status_port,
            "admit": "unproven",
            "token_digest_file": folder / "digest",
            "spares": 2,
            **settings,
        }
        if isinstance(wanted.get("targets"), str):
            (folder / "targets.json").write_text(str(wanted.pop("targets")))
            wanted["targets_file"] = folder / "targets.json"
        environment = {f"SPADE_SANDBOX_{key.upper()}": str(value) for key, value in wanted.items()}
        environment["PYTHONPATH"] = f"{ROOT / 'contracts'}{os.pathsep}{ROOT / 'sandbox'}"
        yield folder, environment


def _started(pod: RunningPod) -> RunningPod:
    def serving() -> bool | None:
        if pod.process.poll() is not None:
            raise AssertionError(f"the pod ended with {pod.process.returncode}:\n{pod.log.read_text()[-3000:]}")
        try:
            return pod.get("/healthz")[0] == 200
        except OSError:
            return None

    eventually("the pod serves its status", serving)
    return pod


def _bundle(folder: Path, environment: dict[str, str]) -> dict[str, object]:
    """Of this machine's files only what the pod needs, so that it does not matter who may enter the folders above."""
    root = folder / "root"
    nothing: dict[str, list[str]] = {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted")}
    return {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": UNPRIVILEGED, "gid": UNPRIVILEGED},
            "args": [sys.executable, "-m", "spade_sandbox.pod"],
            "env": ["PATH=/usr/bin:/bin", *(f"{key}={value}" for key, value in environment.items())],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": nothing,
        },
        "root": {"path": str(root), "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            *runsc.mounts(root, runsc.outermost((*runsc.needed(), ROOT, folder))),
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]},
    }
