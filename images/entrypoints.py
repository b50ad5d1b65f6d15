"""Write launchers for console scripts of pyproject.toml into an image, where our code is copied and not installed.

Usage: entrypoints.py PYPROJECT FOLDER NAME...
"""

import sys
import tomllib
from pathlib import Path

LAUNCHER = """#!/opt/spade/venv/bin/python
import sys

from {module} import {function}

sys.exit({function}())
"""


def write_launchers(pyproject: Path, folder: Path, names: list[str]) -> None:
    """Write one executable for each name; a name that pyproject.toml does not have is an error."""
    scripts = tomllib.loads(pyproject.read_text())["project"]["scripts"]
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        module, function = scripts[name].split(":")
        launcher = folder / name
        launcher.write_text(LAUNCHER.format(module=module, function=function))
        launcher.chmod(0o755)


if __name__ == "__main__":
    write_launchers(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
