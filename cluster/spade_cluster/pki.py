"""Keys, certificates and kubeconfigs. Certificates are made once and again when they are about to expire."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from spade_cluster.commands import run, succeeds
from spade_cluster.settings import API_PORT, API_SERVICE_ADDRESS, NODE_ADDRESS, NODE_NAME, Layout

CA_DAYS = 3650
CERTIFICATE_DAYS = 730
RENEW_SECONDS = 30 * 86400


@dataclass(frozen=True)
class Identity:
    """A certificate: its file name, its subject, and the names a server is called by."""

    name: str
    subject: str
    alternative_names: str = "DNS:localhost"


IDENTITIES = (
    Identity(
        "apiserver",
        "/CN=kube-apiserver",
        "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,"
        f"IP:127.0.0.1,IP:{API_SERVICE_ADDRESS},IP:{NODE_ADDRESS}",
    ),
    Identity("apiserver-kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client"),
    Identity("admin", "/O=system:masters/CN=admin"),
    Identity("controller-manager", "/CN=system:kube-controller-manager"),
    Identity("scheduler", "/CN=system:kube-scheduler"),
    Identity("kubelet", f"/O=system:nodes/CN=system:node:{NODE_NAME}", f"DNS:{NODE_NAME},IP:{NODE_ADDRESS}"),
    Identity("kube-proxy", "/CN=system:kube-proxy"),
    Identity("kube-router", "/CN=spade:kube-router"),
)


def ensure_pki(layout: Layout) -> None:
    """Make what is missing or about to expire, and the kubeconfigs that go with it."""
    folder = layout.pki
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    previous_mask = os.umask(0o077)
    try:
        if not _is_valid(folder / "ca.crt"):
            _make_authority(folder)
        if not (folder / "sa.key").exists():
            _make_service_account_key(folder)
        for identity in IDENTITIES:
            certificate = folder / f"{identity.name}.crt"
            if not _is_valid(certificate) or certificate.stat().st_mtime < (folder / "ca.crt").stat().st_mtime:
                _issue(folder, identity)
            (folder / f"{identity.name}.kubeconfig").write_text(_kubeconfig(folder, identity))
        layout.kubeconfig.write_text(_kubeconfig(folder, next(one for one in IDENTITIES if one.name == "admin")))
    finally:
        os.umask(previous_mask)


def _is_valid(certificate: Path) -> bool:
    """Tell whether a certificate exists and lasts for a while."""
    return certificate.exists() and succeeds(
        ["openssl", "x509", "-in", certificate, "-noout", "-checkend", str(RENEW_SECONDS)]
    )


def _make_authority(folder: Path) -> None:
    """Make the certificate authority. The key is moved into place first, so a certificate is never without one."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        key, certificate = Path(scratch) / "ca.key", Path(scratch) / "ca.crt"
        run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate),
                *("-days", str(CA_DAYS), "-subj", "/CN=spade-development-ca"),
            ]
        )
        key.replace(folder / "ca.key")
        certificate.replace(folder / "ca.crt")


def _make_service_account_key(folder: Path) -> None:
    """Make the key pair that signs service account tokens."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        key, public = Path(scratch) / "sa.key", Path(scratch) / "sa.pub"
        run(["openssl", "genrsa", "-out", key, "2048"])
        run(["openssl", "rsa", "-in", key, "-pubout", "-out", public])
        public.replace(folder / "sa.pub")
        key.replace(folder / "sa.key")


def _issue(folder: Path, identity: Identity) -> None:
    """Make a key and a certificate signed by the authority, for use as server and as client."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        scratch = Path(name)
        key, request, certificate, extensions = (scratch / part for part in ("key", "csr", "crt", "extensions"))
        run(
            [
                "openssl",
                "req",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-keyout",
                key,
                "-out",
                request,
                "-subj",
                identity.subject,
            ]
        )
        extensions.write_text(f"subjectAltName={identity.alternative_names}\nextendedKeyUsage=serverAuth,clientAuth\n")
        run(
            [
                *("openssl", "x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key"),
                *("-set_serial", f"0x{os.urandom(16).hex()}", "-days", str(CERTIFICATE_DAYS)),
                *("-out", certificate, "-extfile", extensions),
            ]
        )
        key.replace(folder / f"{identity.name}.key")
        certificate.replace(folder / f"{identity.name}.crt")


def _kubeconfig(folder: Path, identity: Identity) -> str:
    """Return a self-contained kubeconfig (JSON is YAML)."""

    def embedded(name: str) -> str:
        return base64.b64encode((folder / name).read_bytes()).decode()

    name = "spade"
    server = {"server": f"https://{NODE_ADDRESS}:{API_PORT}", "certificate-authority-data": embedded("ca.crt")}
    user = {
        "client-certificate-data": embedded(f"{identity.name}.crt"),
        "client-key-data": embedded(f"{identity.name}.key"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": identity.name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": identity.name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=1) + "\n"
