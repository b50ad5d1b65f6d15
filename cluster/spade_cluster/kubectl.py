"""Talk to the API server as administrator."""

from __future__ import annotations

import json
import time
from pathlib import Path
from string import Template
from typing import Any

from spade_cluster.commands import run
from spade_cluster.errors import ClusterError
from spade_cluster.settings import Layout

APPLY_ATTEMPTS = 3
APPLY_PAUSE_SECONDS = 3.0


def kubectl(layout: Layout, *arguments: str, stdin: str | None = None, timeout_seconds: float = 60.0) -> str:
    """Run kubectl of the current binaries and return its output."""
    command = [str(layout.current_binaries / "kubectl"), "--kubeconfig", str(layout.kubeconfig), *arguments]
    return run(command, stdin=stdin, timeout_seconds=timeout_seconds)


def get(layout: Layout, *arguments: str) -> Any:
    """Return objects as parsed JSON."""
    return json.loads(kubectl(layout, "get", *arguments, "--output", "json"))


def apply(layout: Layout, manifest: Path, values: dict[str, str]) -> None:
    """Fill a manifest's placeholders and apply it from the server's side; a no-op if nothing differs.

    Tried APPLY_ATTEMPTS times: on a busy machine a server that has just started may not answer in time.
    """
    text = Template(manifest.read_text()).substitute(values)
    words = ("apply", "--server-side", "--force-conflicts", "--field-manager", "spade-cluster", "--filename", "-")
    for left in reversed(range(APPLY_ATTEMPTS)):
        try:
            kubectl(layout, *words, stdin=text)
            return
        except ClusterError:
            if not left:
                raise
            time.sleep(APPLY_PAUSE_SECONDS)
