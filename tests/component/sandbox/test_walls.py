"""Each wall stands, and its own trial finds out when it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spade_sandbox.pod.walls import WALLS

SCRIPT = Path(__file__).with_name("wall_trial.py")
MADE_BY_THE_FILTER = {"sockets", "calls"}


def findings(*left_out: str) -> dict[str, str]:
    """What trying all walls finds when some were not built."""
    done = subprocess.run(
        [sys.executable, SCRIPT, *left_out], capture_output=True, text=True, timeout=60, check=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_nothing_is_found_when_all_walls_are_built() -> None:
    assert findings() == {}


@pytest.mark.parametrize("name", [wall.name for wall in WALLS if wall.build or wall.namespace])
def test_trial_of_a_wall_finds_that_it_was_not_built(name: str) -> None:
    assert name in findings(name)


def test_without_the_filter_all_that_it_denies_is_found() -> None:
    assert findings("calls").keys() >= MADE_BY_THE_FILTER
