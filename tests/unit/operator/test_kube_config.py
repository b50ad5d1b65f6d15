"""The API server is found by KUBECONFIG or by the pod's service account, whose token is read again each time."""

import base64
from pathlib import Path

import pytest

from spade_contracts.errors import InvalidInput
from spade_operator.kube_config import find_connection, read_kubeconfig


def kubeconfig(folder: Path, cluster: str, user: str) -> Path:
    path = folder / "config"
    path.write_text(
        f"""
current-context: here
contexts: [{{name: other, context: {{cluster: x, user: x}}}}, {{name: here, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {cluster}}}]
users: [{{name: u, user: {user}}}]
"""
    )
    return path


def test_current_context_is_read_with_data_or_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    data = base64.b64encode(b"CERT").decode()
    path = kubeconfig(
        tmp_path,
        "{server: 'https://host:6443/', certificate-authority: ca.pem}",
        f"{{client-certificate-data: {data}}}",
    )
    found = find_connection({"KUBECONFIG": str(path)})
    assert (found.server, found.ca, found.certificate) == ("https://host:6443", "CA", "CERT")


def test_pod_uses_its_service_account_and_reads_a_rotated_token(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "token").write_text("one\n")
    found = find_connection({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    assert found.server == "https://[fd00::1]:443"
    assert found.bearer() == "one"
    (tmp_path / "token").write_text("two")
    assert found.bearer() == "two"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="KUBECONFIG"):
        find_connection({}, tmp_path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_kubeconfig(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match="server"):
        read_kubeconfig(kubeconfig(tmp_path, "{}", "{}"))
