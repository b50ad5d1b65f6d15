"""Kubernetes' own controllers beside a test's API server: those that a test names, and no others."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.api_server import ApiServer, program, stop
from tests.support.ports import free_port


@contextmanager
def running_controllers(server: ApiServer, folder: Path, *names: str, options: tuple[str, ...] = ()) -> Iterator[Path]:
    """kube-controller-manager with these controllers, as administrator; gives its log, and ends with the block."""
    port = free_port()
    command = [
        program("kube-controller-manager", server.binaries),
        f"--kubeconfig={server.kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--controllers={','.join(names)}",
        *options,
    ]
    log = folder / "kube-controller-manager.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield log
    finally:
        stop(process)
