"""A command that waits for another one says so, and goes on when that ends."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WAITING = """
from spade_cluster.lock import exclusive
from spade_cluster.settings import layout_from_environment
with exclusive(layout_from_environment()):
    print("at work", flush=True)
"""


def test_command_that_waits_names_what_it_waits_for(tmp_path: Path) -> None:
    environment = {**os.environ, "SPADE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "cluster")}
    with (tmp_path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = subprocess.Popen([sys.executable, "-c", WAITING], env=environment, stdout=subprocess.PIPE, text=True)
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == f"waiting for another command of the cluster, which holds {held.name}\n"
    assert waiting.communicate(timeout=60)[0] == "it has ended; going on\nat work\n"
