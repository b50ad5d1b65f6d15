"""The whole tree is typed strictly, as `make check` has it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
assert RECIPE is not None
COMMANDS = [line.strip().replace("$(BIN)", ".venv/bin") for line in RECIPE[1].splitlines() if "/mypy" in line]


@pytest.mark.parametrize("command", COMMANDS)
def test_types_agree(command: str) -> None:
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, check=False, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
