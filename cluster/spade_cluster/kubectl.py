"""Talk to the API server as administrator."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template
from typing import Any

from spade_cluster.commands import run
from spade_cluster.settings import Layout


def kubectl(layout: Layout, *arguments: str, stdin: str | None = None, timeout_seconds: float = 60.0) -> str:
    """Run kubectl of the current binaries and return its output."""
    command = [str(layout.current_binaries / "kubectl"), "--kubeconfig", str(layout.kubeconfig), *arguments]
    return run(command, stdin=stdin, timeout_seconds=timeout_seconds)


def get(layout: Layout, *arguments: str) -> Any:
    """Return objects as parsed JSON."""
    return json.loads(kubectl(layout, "get", *arguments, "--output", "json"))


def apply(layout: Layout, manifest: Path, values: dict[str, str]) -> None:
    """Fill a manifest's placeholders and apply it from the server's side; a no-op if nothing differs."""
    kubectl(
        layout,
        *("apply", "--server-side", "--force-conflicts", "--field-manager", "spade-cluster", "--filename", "-"),
        stdin=Template(manifest.read_text()).substitute(values),
    )
