"""Rendering and packing the chart with the real helm."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from tests.support.api_server import binaries_folder, program

from spade_operator.children.site import Site, load_site

ROOT = Path(__file__).parents[2]
KUBE_VERSION = "1.34.0"


def helm(*arguments: str | Path, values: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm to its end; the exit status is the caller's to judge."""
    extra = ["--values", "-"] if values is not None else []
    return subprocess.run(
        [program("helm", binaries_folder()), *arguments, *extra],
        input=json.dumps(values) if values is not None else None,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
    )


HOOK = "helm.sh/hook"


def render(values: dict[str, Any] | None = None, namespace: str = "spade-system") -> list[dict[str, Any]]:
    """The chart's objects as they are installed, without its hooks."""
    return [item for item in _rendered(values, namespace) if not _is_hook(item)]


def render_hooks(values: dict[str, Any] | None = None, namespace: str = "spade-system") -> list[dict[str, Any]]:
    """What the chart makes for a while when it is removed."""
    return [item for item in _rendered(values, namespace) if _is_hook(item)]


def _rendered(values: dict[str, Any] | None, namespace: str) -> list[dict[str, Any]]:
    done = helm("template", "spade", ".", "--namespace", namespace, "--kube-version", KUBE_VERSION, values=values or {})
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item]


def _is_hook(item: dict[str, Any]) -> bool:
    return HOOK in item["metadata"].get("annotations", {})


def one(objects: list[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    """The only object of a kind, or the one of a name."""
    (found,) = [item for item in objects if item["kind"] == kind and name in ("", item["metadata"]["name"])]
    return found


def site_of(objects: list[dict[str, Any]], folder: Path) -> Site:
    """The site as the operator reads it where it runs."""
    content = json.loads(one(objects, "ConfigMap")["data"]["site.json"])
    key = folder / "key"
    key.write_bytes(base64.b64decode(one(objects, "Secret")["data"]["key"]))
    path = folder / "site.json"
    path.write_text(json.dumps(content | {"installationKeyFile": str(key)}))
    resolv_conf = folder / "resolv.conf"
    resolv_conf.write_text("nameserver 10.96.0.10\n")
    environment = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "SPADE_NODE_ADDRESS": "172.31.255.1"}
    return load_site(path, environment, resolv_conf)
