"""The sandbox image in a machine's own Docker, for `spade verify --backend docker`: same Dockerfile, no cluster."""

from __future__ import annotations

import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

from spade_cluster.base_images import SANDBOX_BASE, root_archive
from spade_cluster.commands import run, succeeds
from spade_cluster.errors import ClusterError
from spade_cluster.image_inputs import REPOSITORY
from spade_cluster.images import BUILD_SECONDS, CERTIFICATES, DEVELOPMENT_TAG
from spade_cluster.settings import CHECKOUT, Layout

IMAGE = f"{REPOSITORY}/sandbox:{DEVELOPMENT_TAG}"
TOOL = "uv:latest"
"""The name by which the Dockerfile mounts the package installer; the image is there only while it is built."""
IMPORT_SECONDS = 600.0
FIRST_WITH_BUILDX = 23
"""Major version from which Docker's command has no builder of its own."""


def build_docker_image(layout: Layout) -> str:
    """Build the image and return its name. Raises ClusterError if Docker does not answer or the build fails."""
    if not succeeds(["docker", "version"]):
        raise ClusterError("Docker does not answer: start its daemon, or use `spade verify --backend runsc`")
    _check_builder()
    if not _present(SANDBOX_BASE.reference):
        run(
            ["docker", "import", root_archive(layout, SANDBOX_BASE), SANDBOX_BASE.reference],
            timeout_seconds=IMPORT_SECONDS,
        )
    if _present(TOOL):
        raise ClusterError(f"Docker has an image {TOOL} of somebody else's: rename it for the time of this build")
    _import_tool()
    try:
        _build()
    finally:
        run(["docker", "image", "rm", TOOL])
    return IMAGE


def _check_builder() -> None:
    """Raise ClusterError where the command is of the kind that needs a component to build, and lacks it."""
    version = run(["docker", "version", "--format", "{{.Client.Version}}"])
    if int(version.split(".", maxsplit=1)[0]) >= FIRST_WITH_BUILDX and not succeeds(["docker", "buildx", "version"]):
        raise ClusterError(
            f"this docker ({version.strip()}) builds with the component buildx, which is missing: install it (package "
            "docker-buildx-plugin or docker-buildx), or use `spade verify --backend runsc`"
        )


def _build() -> None:
    command = [
        *("docker", "build", "--network=host", f"--file={CHECKOUT}/images/sandbox/Dockerfile"),
        *("--build-arg", f"BASE={SANDBOX_BASE.reference}", "--secret", f"id=ca,src={CERTIFICATES}"),
        *("--tag", IMAGE, str(CHECKOUT)),
    ]
    environment = {**os.environ, "DOCKER_BUILDKIT": "1"}  # the mounts of the Dockerfile need BuildKit
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, timeout=BUILD_SECONDS, check=False)
    if done.returncode != 0:
        raise ClusterError("building the sandbox image with Docker failed (see above)")


def _import_tool() -> None:
    """Make an image that holds uv and nothing else."""
    program = CHECKOUT / ".venv" / "bin" / "uv"
    if not program.exists():
        raise ClusterError(f"{program} is missing: run make install first")
    with tempfile.TemporaryDirectory(prefix="spade-docker-") as scratch:
        archive = Path(scratch) / "uv.tar"
        with tarfile.open(archive, "w") as file:
            file.add(program, "uv")
        run(["docker", "import", archive, TOOL], timeout_seconds=IMPORT_SECONDS)


def _present(image: str) -> bool:
    return succeeds(["docker", "image", "inspect", image])
