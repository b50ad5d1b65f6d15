"""Launchers in images start the functions that pyproject.toml names."""

import runpy
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
MODULE = runpy.run_path(str(CHECKOUT / "images/entrypoints.py"))


def test_launcher_is_executable_and_calls_the_named_function(tmp_path: Path) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[project.scripts]\nspade-x = "some.module:main"\n')
    MODULE["write_launchers"](pyproject, tmp_path / "bin", ["spade-x"])
    launcher = tmp_path / "bin/spade-x"
    assert launcher.stat().st_mode & 0o111 == 0o111
    assert "from some.module import main" in launcher.read_text()


def test_unknown_script_fails_the_build(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="spade-y"):
        MODULE["write_launchers"](CHECKOUT / "pyproject.toml", tmp_path, ["spade-y"])
