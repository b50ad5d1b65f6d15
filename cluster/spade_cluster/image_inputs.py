"""What each image is made from, and the tag that follows from it. Pure: reads the checkout, touches nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spade_cluster.base_images import RUNTIME_BASE, SANDBOX_BASE, Base

REPOSITORY = "spade.local"
_COMMON = ("images/entrypoints.py", "pyproject.toml", "contracts/spade_contracts")
_TRAINER_CODE = (
    "sandbox/spade_sandbox/__init__.py",
    "sandbox/spade_sandbox/client",
    "sandbox/spade_sandbox/verify",
    "trainer/spade_trainer",
)


@dataclass(frozen=True)
class Image:
    """One image of the product: its name, its base, and the paths of the checkout that its Dockerfile reads.

    Its Dockerfile has a stage `dependencies`, made from the constraint file alone, and a last stage that adds our code.
    """

    name: str
    base: Base
    code: tuple[str, ...]

    @property
    def dockerfile(self) -> str:
        """Path of the Dockerfile in the checkout."""
        return f"images/{self.name}/Dockerfile"

    @property
    def constraints(self) -> str:
        """Path of the constraint file with the image's Python packages."""
        return f"constraints/{self.name}.txt"

    @property
    def inputs(self) -> tuple[str, ...]:
        """All paths that the image is made from."""
        return (self.dockerfile, self.constraints, *self.code)


IMAGES = (
    Image("operator", RUNTIME_BASE, (*_COMMON, "operator/spade_operator")),
    Image("sandbox", SANDBOX_BASE, (*_COMMON, "sandbox/spade_sandbox/__init__.py", "sandbox/spade_sandbox/pod")),
    Image("worker", RUNTIME_BASE, (*_COMMON, *_TRAINER_CODE)),
    Image("trainer", RUNTIME_BASE, (*_COMMON, *_TRAINER_CODE)),
)


def dependencies_tag(image: Image, checkout: Path) -> str:
    """Return the tag of the stage with the Python packages: a hash of the Dockerfile up to its end, and of the pins."""
    stage = (checkout / image.dockerfile).read_text().partition("\nFROM dependencies\n")[0]
    digest = hashlib.sha256(f"{image.base.reference}\0{stage}\0".encode())
    digest.update((checkout / image.constraints).read_bytes())
    return digest.hexdigest()[:12]


def content_tag(image: Image, checkout: Path) -> str:
    """Return the tag for the present state of an image's inputs."""
    digest = hashlib.sha256(image.base.reference.encode())
    for path in sorted(_files(checkout, image.inputs)):
        executable = os.access(path, os.X_OK)
        digest.update(f"\0{path.relative_to(checkout)}\0{executable:d}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def reference(image: Image, tag: str, suffix: str = "") -> str:
    """Return an image's name with a tag."""
    return f"{REPOSITORY}/{image.name}{suffix}:{tag}"


def dependencies_reference(image: Image, checkout: Path) -> str:
    """Return the name under which the stage with the Python packages is kept as an image of its own."""
    return reference(image, dependencies_tag(image, checkout), "-dependencies")


def _files(checkout: Path, paths: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files below paths, as the build context has them.

    A path that is missing is passed over; the build will name it.
    """
    for path in paths:
        full = checkout / path
        if full.is_file():
            yield full
        for file in full.rglob("*") if full.is_dir() else ():
            relative = file.relative_to(checkout)
            if file.is_file() and "__pycache__" not in relative.parts:
                yield file
