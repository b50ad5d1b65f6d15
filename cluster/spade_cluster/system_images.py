"""The two images that the cluster itself needs, each a single static program."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from spade_cluster.archive import write_image_archive, write_layer
from spade_cluster.binaries import COREDNS_VERSION
from spade_cluster.commands import run
from spade_cluster.container_runtime import ctr
from spade_cluster.errors import ClusterError
from spade_cluster.settings import CLUSTER_SOURCE, Layout

PAUSE_IMAGE = "spade.local/pause:1"
COREDNS_IMAGE = f"spade.local/coredns:{COREDNS_VERSION}"
PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def image_names(layout: Layout) -> set[str]:
    """Return the names of all images in the cluster. Needs a running containerd."""
    return set(run(ctr(layout, "images", "list", "-q")).split())


def ensure_system_images(layout: Layout, binaries: Path) -> None:
    """Import the pause and the CoreDNS image if they are missing."""
    present = image_names(layout)
    with tempfile.TemporaryDirectory(prefix="spade-images-", dir=layout.state) as name:
        scratch = Path(name)
        if PAUSE_IMAGE not in present:
            pause = scratch / "pause"
            if shutil.which("gcc") is None:
                raise ClusterError("gcc is not installed: apt-get install gcc libc6-dev")
            run(["gcc", "-static", "-O2", "-o", pause, CLUSTER_SOURCE / "pause" / "pause.c"])
            _import(layout, scratch, PAUSE_IMAGE, pause)
        if COREDNS_IMAGE not in present:
            _import(layout, scratch, COREDNS_IMAGE, binaries / "coredns")


def import_layer(layout: Layout, archive: Path, *, name: str, layer: Path, command: tuple[str, ...]) -> None:
    """Import a root file system as an image."""
    write_image_archive(archive, name=name, layer=layer, command=command, environment=PATH)
    with archive.open("rb") as file:
        done = subprocess.run(
            ctr(layout, "images", "import", "-"), stdin=file, capture_output=True, text=True, timeout=600, check=False
        )
    if done.returncode != 0:
        raise ClusterError(f"containerd did not import {name}: {done.stderr.strip()[-1000:]}")


def _import(layout: Layout, scratch: Path, name: str, program: Path) -> None:
    """Import an image that holds one program."""
    layer = scratch / "layer.tar"
    write_layer(layer, {program.name: program})
    import_layer(layout, scratch / "image.tar", name=name, layer=layer, command=(f"/{program.name}",))
