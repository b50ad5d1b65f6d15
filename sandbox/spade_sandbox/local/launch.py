"""What a back-end hands over to be started: one command with its surroundings, and what undoes it."""

import importlib
import json
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from spade_contracts.errors import InfrastructureFault
from spade_sandbox.local.keeper import ORDER
from spade_sandbox.pod.settings import PREFIX
from spade_sandbox.pod.stdio import TOKEN

MODULE = "spade_sandbox.pod.stdio"
SPARES = 2


class Backend(StrEnum):
    """Where programs run on this machine."""

    DOCKER = "docker"
    """A container of the sandbox image, with gVisor as Docker's runtime `runsc`."""
    RUNSC = "runsc"
    """gVisor without Docker, around this Python environment."""
    CELLS = "cells"
    """Namespaces and seccomp of this machine's own kernel: for programs that are trusted."""


class BackendUnusable(InfrastructureFault):
    """A back-end does not work on this machine; the message says why, the remedy what to do."""


@dataclass(frozen=True)
class Launch:
    """One pod to start. The command speaks pod/stdio.py over its standard input and output."""

    command: tuple[str, ...]
    environment: dict[str, str]
    """All of the command's environment."""
    clean_up: tuple[tuple[str, ...], ...] = ()
    """Commands that remove what the command may leave behind when it is killed."""
    gvisor: bool = True
    """Whether the pod must show gVisor's marks and no network device but loopback."""


def keeper_start(launch: Launch, folder: Path, lifeline: int) -> tuple[list[str], dict[str, str]]:
    """The words that start a keeper for this launch, and its environment, which holds what no process list may show.

    `lifeline` is the descriptor that it inherits.
    """
    order = {
        "command": launch.command,
        "environment": launch.environment,
        "clean_up": launch.clean_up,
        "folder": str(folder),
        "lifeline": lifeline,
    }
    command = [sys.executable, "-I", str(Path(__file__).with_name("keeper.py"))]
    return command, {**os.environ, ORDER: json.dumps(order)}


def pod_environment(token: str, capacity: int) -> dict[str, str]:
    """The pod's settings as variables."""
    return {
        TOKEN: token,
        f"{PREFIX}CAPACITY": str(capacity),
        f"{PREFIX}SPARES": str(min(SPARES, capacity)),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def package_folders() -> tuple[Path, ...]:
    """The folders that hold our packages, installed or in a checkout."""
    folders = []
    for name in ("spade_contracts", "spade_sandbox"):
        file = importlib.import_module(name).__file__
        assert file is not None
        folder = Path(file).resolve().parents[1]
        if folder not in folders:
            folders.append(folder)
    return tuple(folders)


def python_path() -> str:
    """PYTHONPATH with which this interpreter finds our packages, also from a checkout."""
    return os.pathsep.join(map(str, package_folders()))
