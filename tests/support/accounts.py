"""Service accounts of the chart in a test's API server."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.api_server import ApiServer

KINDS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


def rights_of(objects: Iterable[Mapping[str, Any]]) -> str:
    """Service accounts, roles and bindings among the objects, as a List in JSON."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [o for o in objects if o["kind"] in KINDS]})


def kubeconfig_of(server: ApiServer, namespace: str, account: str, path: Path) -> Path:
    """A kubeconfig with a token of this service account, written to the path."""
    token = server.kubectl("create", "token", account, "-n", namespace)
    assert token.returncode == 0, token.stderr
    config = json.loads(server.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": token.stdout.strip()}}]
    path.write_text(json.dumps(config))
    return path
