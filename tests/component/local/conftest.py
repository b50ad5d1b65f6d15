"""Back-ends of this machine, and what runs because of a test."""

import os
import sys
from pathlib import Path

import pytest
from tests.support.sandbox_pods import ROOT, descendants, find_runsc

from spade_sandbox.local import Backend

PROGRAMS = ROOT / "tests" / "data" / "programs"
BACKENDS = (Backend.RUNSC, Backend.CELLS)
COMMAND = (sys.executable, "-m", "spade_cli.main")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """runsc is where the tests have it, and child processes find our packages."""
    monkeypatch.setenv("SPADE_RUNSC", str(find_runsc()))
    folders = (str(ROOT / name) for name in ("contracts", "sandbox", "trainer", "operator", "cli"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))


def running(process_ids: set[int]) -> set[int]:
    """Those that still run; one that has ended and was not waited for does not."""
    found = set()
    for number in process_ids:
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            found.add(number)
    return found


def started_by(process_id: int, word: str) -> set[int]:
    """Descendants of a process whose command line holds a word."""
    found = set()
    for number in descendants(process_id):
        try:
            line = Path(f"/proc/{number}/cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if word in line:
            found.add(number)
    return found


POD_MARK = {Backend.RUNSC: "--bundle", Backend.CELLS: "spade_sandbox.pod.stdio"}
"""What the command line of a pod's first process holds."""
