"""Where the API server is and how to speak to it: the pod's service account, or a kubeconfig file.

Only what we use of a kubeconfig is read: certificates, tokens, and neither plug-ins nor passwords.
"""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from spade_contracts.errors import InvalidInput
from spade_contracts.ports import authority

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Connection:
    """An API server and credentials for it."""

    server: str
    ca: str
    """PEM text of the authorities that may vouch for the server; empty: the system's."""
    token_file: Path | None = None
    """Read again for every request, because kubelets rotate it."""
    token: str = ""
    certificate: str = ""
    """PEM text of our client certificate."""
    private_key: str = ""
    """PEM text of its key."""

    def bearer(self) -> str:
        """The token to present now, or ''."""
        return self.token_file.read_text("ascii").strip() if self.token_file else self.token

    def ssl_context(self) -> ssl.SSLContext | None:
        """TLS settings; None for a server without TLS."""
        if not self.server.startswith("https:"):
            return None
        context = ssl.create_default_context(cadata=self.ca or None)
        if self.certificate:
            # The ssl module reads client certificates from files only.
            with tempfile.TemporaryDirectory() as folder:
                certificate, key = Path(folder, "certificate"), Path(folder, "key")
                certificate.write_text(self.certificate, "ascii")
                key.write_text(self.private_key, "ascii")
                context.load_cert_chain(certificate, key)
        return context


def find_connection(environment: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Connection:
    """From KUBECONFIG if it is set, else as a pod. Raises InvalidInput when there is neither."""
    if kubeconfig := environment.get("KUBECONFIG"):
        return read_kubeconfig(Path(kubeconfig))
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    token = service_account / "token"
    if not host or not token.exists():
        raise InvalidInput("KUBECONFIG", "is not set and this is no pod with a service account", remedy="Set it.")
    server = f"https://{authority(host, port)}"
    return Connection(server, (service_account / "ca.crt").read_text("ascii"), token_file=token)


def read_kubeconfig(path: Path) -> Connection:
    """The current context of a kubeconfig file. Raises InvalidInput naming what it lacks."""
    try:
        content: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
        context = _named(content, "contexts", content["current-context"])["context"]
        cluster = _named(content, "clusters", context["cluster"])["cluster"]
        user = _named(content, "users", context["user"])["user"]
        return Connection(
            server=cluster["server"].rstrip("/"),
            ca=_pem(path, cluster, "certificate-authority"),
            token_file=(path.parent / user["tokenFile"]) if "tokenFile" in user else None,
            token=user.get("token", ""),
            certificate=_pem(path, user, "client-certificate"),
            private_key=_pem(path, user, "client-key"),
        )
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, yaml.YAMLError, ValueError) as error:
        raise InvalidInput(str(path), f"is no kubeconfig that can be used: {error}") from error


def _named(content: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    for entry in content[part]:
        if entry["name"] == name:
            found: dict[str, Any] = entry
            return found
    raise KeyError(f"{part} has no {name!r}")


def _pem(path: Path, holder: dict[str, Any], name: str) -> str:
    if data := holder.get(f"{name}-data"):
        return base64.b64decode(data, validate=True).decode("ascii")
    if file := holder.get(name):
        return (path.parent / str(file)).read_text("ascii")
    return ""
