"""The command answers at once: what a sub-command needs is imported when it is called."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spade_cli.main import app
from spade_contracts import __version__

ROOT = Path(__file__).parents[3]
HEAVY = (
    "numpy",
    "pyarrow",
    "kubernetes",
    "fsspec",
    "aiohttp",
    "spade_sandbox.verify",
    "spade_operator",
    "spade_trainer",
)
LOADED = """
import json, sys
from spade_cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""
COMMANDS = [found.name or found.callback.__name__ for found in app.registered_commands if found.callback]


def loaded_by(*words: str) -> set[str]:
    """Modules that a call of the command loads."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], check=True, capture_output=True, text=True, timeout=120
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("words", [("--help",), ("verify", "--help"), ("--version",)], ids=" ".join)
def test_help_loads_nothing_of_the_commands(words: tuple[str, ...]) -> None:
    assert not loaded_by(*words) & set(HEAVY)


def test_score_loads_neither_cluster_nor_files_of_runs() -> None:
    loaded = loaded_by("score", str(ROOT / "examples" / "scoring" / "regret.json"))
    assert "numpy" in loaded
    assert not loaded & {"pyarrow", "kubernetes", "fsspec", "aiohttp", "spade_sandbox.verify", "spade_operator"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage: " in result.output


@pytest.mark.parametrize("command", ["check", "run", "watch", "report", "export"])
def test_commands_of_the_cluster_take_a_context(command: str) -> None:
    assert "--context" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output


def test_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"spade {__version__}\n"
