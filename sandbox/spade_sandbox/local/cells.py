"""Back-end `cells`: the pod is a process of this machine, its cells are namespaces of this machine's kernel."""

import os
import sys
from pathlib import Path

from spade_sandbox.local.launch import MODULE, Launch, pod_environment, python_path

WARNING = (
    "programs run in namespaces of this machine's own kernel, WITHOUT gVisor: a kernel bug is all that a hostile "
    "program needs. Use --backend cells for programs that you trust only."
)


def launch(folder: Path, token: str, capacity: int) -> Launch:
    """The pod as a process; needs root or unprivileged user namespaces, which the pod's trial of its walls shows."""
    environment = {
        **pod_environment(token, capacity),
        "PYTHONPATH": python_path(),
        "TMPDIR": str(folder),
        "PATH": os.environ.get("PATH", os.defpath),
    }
    return Launch((sys.executable, "-s", "-P", "-m", MODULE), environment, gvisor=False)
