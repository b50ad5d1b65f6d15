"""Kueue itself, built from its Go module and run beside a test's API server, with its webhooks."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from tests.support.api_server import ApiServer, stop
from tests.support.ports import free_ports

MODULE = "sigs.k8s.io/kueue"
VERSION = "v0.17.0"
"""The release that tests/data/kueue/crds.json is from."""
GROUP = "kueue.x-k8s.io"
BUILD_SECONDS = 2400
START_SECONDS = 300
OWN_ETC = 'mount -t tmpfs tmpfs /etc && mkdir -p /etc/kueue/metrics && cp -r "$0" /etc/kueue/metrics/certs && exec "$@"'
"""It reads its metrics certificate from a fixed place: that is a file system of the process's own."""


def kueue_program() -> Path:
    """The controllers, built the first time. Raises FileNotFoundError where Go is missing."""
    built = Path(os.environ.get("SPADE_HOME") or "/var/lib/spade") / "kueue" / f"kueue-{VERSION}"
    if built.exists():
        return built
    if shutil.which("go") is None:
        raise FileNotFoundError("Go is not installed: Kueue is built from its Go module")
    built.parent.mkdir(parents=True, exist_ok=True)
    part = built.with_suffix(".part")
    # As its own main module, because a module that another one requires ignores its `replace` lines.
    command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(part), "./cmd/kueue"]
    subprocess.run(command, cwd=module_folder(), check=True, timeout=BUILD_SECONDS)
    part.rename(built)
    return built


def module_folder() -> Path:
    """The module's source in Go's module cache."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return Path(json.loads(told.stdout)["Dir"])


@contextmanager
def running_kueue(server: ApiServer, folder: Path) -> Iterator[Path]:
    """Its controllers and its scheduler, answering the API server's webhook calls; yields the log's path.

    All its kinds are installed. No integration with other kinds of jobs is on.
    """
    folder.mkdir()
    _install_kinds(server)
    webhook_port, health_port, metrics_port = free_ports(3)
    certificates = _certificates(folder / "certificates")
    settings = {
        "apiVersion": f"config.{GROUP}/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics_port}"},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "waitForPodsReady": {"timeout": "5m", "blockAdmission": False},
        "integrations": {"frameworks": ["batch/job"]},
        "featureGates": {"VisibilityOnDemand": False},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    log = folder / "kueue.log"
    command = ["unshare", "--mount", "sh", "-c", OWN_ETC, certificates, kueue_program(),
               f"--config={folder / 'config.yaml'}", f"--kubeconfig={server.kubeconfig}"]  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        _apply(server, *_webhooks(webhook_port, (certificates / "tls.crt").read_bytes()))
        _await_webhooks(server, process, log)
        yield log
    finally:
        stop(process)
        server.kubectl("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "-l", f"test={GROUP}")


def _certificates(folder: Path) -> Path:
    """A key and a certificate for loopback, named as Kubernetes names them."""
    folder.mkdir()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", folder / "tls.key", "-out", folder / "tls.crt"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder


def _webhooks(port: int, authority: bytes) -> list[dict[str, Any]]:
    """The module's webhook configurations for its own kinds, called by address."""
    text = (module_folder() / "config" / "components" / "webhook" / "manifests.yaml").read_text()
    found = [item for item in yaml.safe_load_all(text) if item]
    for item in found:
        item["metadata"]["labels"] = {"test": GROUP}
        item["webhooks"] = [hook for hook in item["webhooks"] if hook["rules"][0]["apiGroups"] == [GROUP]]
        for hook in item["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {
                "url": f"https://127.0.0.1:{port}{path}",
                "caBundle": base64.b64encode(authority).decode(),
            }
    return found


def _apply(server: ApiServer, *objects: dict[str, Any]) -> None:
    made = server.apply(*objects)
    assert made.returncode == 0, made.stderr


def _install_kinds(server: ApiServer) -> None:
    kinds = str(module_folder() / "config" / "components" / "crd" / "bases")
    applied = server.kubectl("apply", "--server-side", "--force-conflicts", "-f", kinds)
    assert applied.returncode == 0, applied.stderr
    server.await_kinds("-f", kinds)


def _await_webhooks(server: ApiServer, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until a flavor passes through them, on trial."""
    trial = {"apiVersion": f"{GROUP}/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "trial"}}
    end = time.monotonic() + START_SECONDS
    while (told := server.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(trial))).returncode:
        assert process.poll() is None, f"Kueue has ended:\n{log.read_text()[-3000:]}"
        assert time.monotonic() < end, told.stderr + log.read_text()[-3000:]
        time.sleep(0.5)
