"""The product's images in a registry, for a cluster that is not ours: built as for ours, then pushed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_cluster.binaries import BINARIES, binaries_folder, build_program, check_go
from spade_cluster.errors import ClusterError
from spade_cluster.images import build_missing, buildctl, running_buildkit, wanted_references
from spade_cluster.packages import install_missing
from spade_cluster.processes import ensure_running, is_alive, read_record, stop
from spade_cluster.programs import programs, write_config
from spade_cluster.settings import Layout

PUSH_SECONDS = 3600
BUILDERS = ("buildkitd", "buildctl")
REGISTRY = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-][a-z0-9]+)*)*")


def check_registry(registry: str) -> None:
    """Raise ClusterError unless it is a host, maybe with port and path, as image references begin."""
    if REGISTRY.fullmatch(registry) is None:
        raise ClusterError(
            f"{registry!r} is no place for images: write HOST[:PORT][/PATH] in small letters, without a scheme or tag"
        )


def push_images(layout: Layout, registry: str, names: list[str], *, plain_http: bool) -> dict[str, str]:
    """Build what is missing of the images and push them to a checked place; returns name → reference by digest.

    They are built in the home folder's containerd, beside those of a cluster there, of which none is removed.

    The password is that of `docker login` (DOCKER_CONFIG, else ~/.docker/config.json). Raises ClusterError if an image
    is unknown, a build fails, or the registry refuses.
    """
    with _containerd(layout):
        built = build_missing(layout, names, wanted_references())
        with running_buildkit(layout):
            return {
                name: _push(layout, local, f"{registry}/{name}:{local.rpartition(':')[2]}", plain_http=plain_http)
                for name, local in built.items()
            }


@contextmanager
def _containerd(layout: Layout) -> Iterator[None]:
    """containerd alone, for as long as it is needed, unless the cluster runs."""
    if is_alive(read_record(layout.processes, "containerd")):
        yield
        return
    print(f"starting containerd in {layout.home} until all is pushed", flush=True)
    install_missing()
    _build_builders(layout)
    for folder in (layout.state, layout.log, layout.processes):
        folder.mkdir(parents=True, exist_ok=True)
    write_config(layout)
    found = next(one for one in programs(layout, binaries_folder(layout)) if one.name == "containerd")
    ensure_running(found, records=layout.processes, logs=layout.log)
    try:
        yield
    finally:
        stop("containerd", records=layout.processes)


def _build_builders(layout: Layout) -> None:
    """Build BuildKit's two programs, if they are missing; the cluster's others are not needed."""
    folder = binaries_folder(layout)
    missing = [one for one in BINARIES if one.name in BUILDERS and not (folder / one.name).exists()]
    if missing:
        check_go()
        folder.mkdir(parents=True, exist_ok=True)
        for one in missing:
            print(f"building {one.name}", flush=True)
            build_program(one, folder)


def _push(layout: Layout, local: str, target: str, *, plain_http: bool) -> str:
    """Push one image of our containerd, compressed; returns its reference by digest."""
    print(f"  compressing and pushing {target}", flush=True)
    insecure = ",registry.insecure=true" if plain_http else ""
    with tempfile.TemporaryDirectory(prefix="spade-push-", dir=layout.state) as scratch:
        folder = Path(scratch)
        (folder / "Dockerfile").write_text(f"FROM {local}\n")
        told = folder / "metadata.json"
        done = subprocess.run(
            [
                *buildctl(layout),
                *("build", "--progress=plain", "--frontend=dockerfile.v0", "--opt", "image-resolve-mode=local"),
                *("--local", f"context={folder}", "--local", f"dockerfile={folder}"),
                # zstd, because gzip takes longer for a trainer image than everything else together.
                "--output",
                f"type=image,name={target},push=true,compression=zstd,force-compression=true,oci-mediatypes=true"
                + insecure,
                *("--metadata-file", str(told)),
            ],
            env={**os.environ},
            capture_output=True,
            text=True,
            timeout=PUSH_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise ClusterError(
                f"{target} could not be pushed: {done.stderr.strip()[-1500:]}\n"
                "Log in with `docker login`; a registry without TLS wants --plain-http."
            )
        digest = json.loads(told.read_text())["containerimage.digest"]
    print(f"  {target}: pushed", flush=True)
    return f"{target.rpartition(':')[0]}@{digest}"
