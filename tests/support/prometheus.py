"""Debian's Prometheus and promtool, for tests of our rules: the system's, or unpacked below SPADE_HOME.

Unpacked and not installed, because the package would start a server.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support.helm import ROOT

RULES = ROOT / "charts" / "monitoring" / "rules" / "spade.yaml"
PACKAGE = "prometheus"
DOWNLOAD_SECONDS = 300


def prometheus_program(name: str) -> Path:
    """`prometheus` or `promtool`. Raises CalledProcessError when the package cannot be had."""
    found = shutil.which(name)
    if found:
        return Path(found)
    folder = Path(os.environ.get("SPADE_HOME") or "/var/lib/spade") / PACKAGE
    if not folder.exists():
        _unpack(folder)
    return folder / "usr" / "bin" / name


def _unpack(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        download = ["apt-get", "download", PACKAGE]
        if subprocess.run(download, cwd=scratch, check=False, timeout=DOWNLOAD_SECONDS).returncode:
            subprocess.run(["apt-get", "update"], check=True, timeout=DOWNLOAD_SECONDS)
            subprocess.run(download, cwd=scratch, check=True, timeout=DOWNLOAD_SECONDS)
        (package,) = Path(scratch).glob("*.deb")
        content = Path(scratch) / "content"
        subprocess.run(["dpkg-deb", "--extract", package, content], check=True, timeout=DOWNLOAD_SECONDS)
        content.rename(folder)
