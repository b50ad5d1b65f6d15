"""A real etcd and kube-apiserver on loopback, for tests: no kubelet, no controllers, nothing left behind."""

import json
import os
import re
import secrets
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.ports import free_ports

START_SECONDS = 300
STOP_SECONDS = 15
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}


@dataclass(frozen=True)
class ApiServer:
    """A running API server and how to reach it as its administrator."""

    url: str
    token: str
    authority: Path
    """CA certificate of the server."""
    kubeconfig: Path
    binaries: Path
    log: Path
    audit_log: Path
    """One JSON line for each call of a service account; tests/support/audit.py reads it."""

    def kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl to its end; the exit status is the caller's to judge."""
        return subprocess.run(
            [self.binaries / "kubectl", "--kubeconfig", self.kubeconfig, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "HOME": str(self.kubeconfig.parent)},
        )

    def await_kinds(self, *which: str) -> None:
        """Wait until CustomResourceDefinitions (`-f FILE`, or `crd --all`) are served.

        kubectl fails at once on one that has no conditions yet.
        """
        end = time.monotonic() + START_SECONDS
        while (told := self.kubectl("wait", "--for=condition=Established", "--timeout=30s", *which)).returncode:
            assert time.monotonic() < end, told.stderr
            time.sleep(0.2)

    def apply(self, *objects: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """What `kubectl apply -f` does with these objects; stderr holds the server's refusal."""
        text = "\n---\n".join(json.dumps(item) for item in objects)
        return self.kubectl("apply", "-f", "-", stdin=text)

    def refusals(self, *objects: Mapping[str, Any], verb: tuple[str, ...] = ("apply",)) -> list[str]:
        """What the server says of each object, all of which it must refuse; one call, because each costs a second."""
        text = "\n---\n".join(json.dumps(item) for item in objects)
        refused = self.kubectl(*verb, "-f", "-", stdin=text)
        assert refused.stdout == "", f"some are accepted: {refused.stdout}"
        found = re.split(r"^(?=Error from server|The )", refused.stderr, flags=re.MULTILINE)[1:]
        assert len(found) == len(objects), refused.stderr
        return found

    def get(self, kind: str, name: str, namespace: str = "default") -> dict[str, Any]:
        """One object as JSON."""
        found = self.kubectl("get", kind, name, "-n", namespace, "-o", "json")
        assert found.returncode == 0, found.stderr
        item: dict[str, Any] = json.loads(found.stdout)
        return item


def binaries_folder() -> Path:
    """Where the cluster's programs are: SPADE_BIN, or the set that the development cluster was built with."""
    if "SPADE_BIN" in os.environ:
        return Path(os.environ["SPADE_BIN"])
    return Path(os.environ.get("SPADE_HOME") or "/var/lib/spade") / "bin" / "current"


def program(name: str, folder: Path) -> Path:
    """A program of the cluster, else of the system. Raises FileNotFoundError that says how to get it."""
    found = folder / name
    if found.exists():
        return found
    on_path = shutil.which(name)
    if on_path is None:
        raise FileNotFoundError(
            f"{name} is neither in {folder} nor on PATH; `make cluster` builds it, or set SPADE_BIN to its folder"
        )
    return Path(on_path)


def _start(arguments: list[str | Path], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process politely, else at once. One that has ended is no error."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)


def _wait_ready(url: str, token: str, authority: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    request = urllib.request.Request(f"{url}/readyz", headers={"Authorization": f"Bearer {token}"})
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"kube-apiserver ended with {process.returncode}:\n{log.read_text()[-2000:]}")
        try:
            context = ssl.create_default_context(cafile=str(authority))
            with urllib.request.urlopen(request, timeout=5, context=context) as answer:
                if answer.status == 200:
                    return
        except (OSError, urllib.error.URLError):
            pass
        time.sleep(0.1)
    raise TimeoutError(f"kube-apiserver was not ready after {START_SECONDS} s:\n{log.read_text()[-2000:]}")


def _write_kubeconfig(path: Path, url: str, token: str, authority: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(config))
    path.chmod(0o600)


@contextmanager
def running_api_server(folder: Path) -> Iterator[ApiServer]:
    """Start both, wait until the server is ready, and stop both by their process ids at the end.

    Admission of service accounts is off, because no controller makes the `default` account here; RBAC is on, so that
    `kubectl auth can-i --as` and impersonation tell the truth about roles.
    """
    binaries = binaries_folder()
    etcd_port, peer_port, api_port = free_ports(3)
    certificates = folder / "pki"
    certificates.mkdir(parents=True)
    key = certificates / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True, timeout=60)
    token = secrets.token_hex(16)
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{token},admin,admin,system:masters\n")
    audit_policy, audit_log = folder / "audit-policy.json", folder / "audit.log"
    audit_policy.write_text(json.dumps(AUDIT_POLICY))
    etcd_url = f"http://127.0.0.1:{etcd_port}"
    peer_url = f"http://127.0.0.1:{peer_port}"
    etcd = _start(
        [
            program("etcd", binaries),
            f"--data-dir={folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd_url}",
            f"--advertise-client-urls={etcd_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
        ],
        folder / "etcd.log",
    )
    try:
        log = folder / "kube-apiserver.log"
        server = _start(
            [
                program("kube-apiserver", binaries),
                f"--etcd-servers={etcd_url}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
                f"--secure-port={api_port}",
                f"--cert-dir={certificates}",
                f"--token-auth-file={tokens}",
                "--service-cluster-ip-range=10.0.0.0/24",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount",
                "--allow-privileged=true",
                f"--audit-policy-file={audit_policy}",
                f"--audit-log-path={audit_log}",
            ],
            log,
        )
        try:
            url = f"https://127.0.0.1:{api_port}"
            authority = certificates / "apiserver.crt"
            _wait_ready(url, token, authority, server, log)
            kubeconfig = folder / "kubeconfig"
            _write_kubeconfig(kubeconfig, url, token, authority)
            yield ApiServer(url, token, authority, kubeconfig, binaries, log, audit_log)
        finally:
            stop(server)
    finally:
        stop(etcd)
