"""Build the product's images straight into the cluster's containerd, as far as their inputs have changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spade_cluster.base_images import ensure_base
from spade_cluster.binaries import binaries_folder
from spade_cluster.commands import run, succeeds
from spade_cluster.container_runtime import ctr
from spade_cluster.errors import ClusterError
from spade_cluster.image_inputs import IMAGES, REPOSITORY, Image, content_tag, dependencies_reference, reference
from spade_cluster.kubectl import get
from spade_cluster.preflight import check_space
from spade_cluster.processes import Program, ensure_running, is_alive, read_record, stop
from spade_cluster.settings import CHECKOUT, Layout
from spade_cluster.system_images import image_names

BUILD_SECONDS = 3600
DEVELOPMENT_TAG = "dev"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def wanted_references(checkout: Path = CHECKOUT) -> dict[str, str]:
    """Return the name of each image for the present state of the checkout."""
    return {image.name: reference(image, content_tag(image, checkout)) for image in IMAGES}


def build_images(layout: Layout, names: list[str]) -> dict[str, str]:
    """Build the named images (all without names) that the cluster lacks, tag them, and remove old ones.

    Returns name → reference of the images asked for. Raises what `build_missing` raises.
    """
    wanted = wanted_references()
    built = build_missing(layout, names, wanted)
    for image in IMAGES:
        if image.name in built:
            run(ctr(layout, "images", "tag", "--force", built[image.name], reference(image, DEVELOPMENT_TAG)))
    layout.built_images.write_text(json.dumps({**_recorded(layout), **built}, indent=1))
    dependencies = {dependencies_reference(image, CHECKOUT) for image in IMAGES}
    remove_old_images(layout, keep={*wanted.values(), *dependencies})
    return built


def build_missing(layout: Layout, names: list[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Build the named images (all without names) that containerd lacks; nothing else in it changes.

    wanted: what `wanted_references` gives. Returns name → reference of the images asked for.

    Raises ClusterError if containerd does not run, an image is unknown, space is short, or a build fails.
    """
    unknown = set(names) - {image.name for image in IMAGES}
    if unknown:
        raise ClusterError(
            f"there is no image {', '.join(sorted(unknown))}; images are {', '.join(image.name for image in IMAGES)}"
        )
    if not is_alive(read_record(layout.processes, "containerd")):
        raise ClusterError("the cluster does not run: run cluster/up (or make cluster) first")
    present = image_names(layout)
    chosen = [image for image in IMAGES if not names or image.name in names]
    missing = [image for image in chosen if wanted[image.name] not in present]
    if missing:
        trainer = next(image for image in IMAGES if image.name == "trainer")
        packages_too = trainer in missing and dependencies_reference(trainer, CHECKOUT) not in present
        check_space(layout, "images" if packages_too else "start")
        _build_with_buildkit(layout, missing, wanted)
    return {image.name: wanted[image.name] for image in chosen}


def remove_old_images(layout: Layout, *, keep: set[str]) -> None:
    """Remove tags of our images that are neither wanted nor used by a pod; containerd then frees their layers.

    Without a running API server nothing is known of pods, and nothing is removed.
    """
    if not is_alive(read_record(layout.processes, "kube-apiserver")):
        return
    used = {
        container["image"]
        for pod in get(layout, "pods", "--all-namespaces")["items"]
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", []))
    }
    ours = tuple(f"{REPOSITORY}/{image.name}{suffix}:" for image in IMAGES for suffix in ("", "-dependencies"))
    for name in image_names(layout):
        if name.startswith(ours) and not name.endswith(f":{DEVELOPMENT_TAG}") and name not in keep | used:
            run(ctr(layout, "images", "remove", "--sync", name))
            print(f"  removed {name}, which nothing uses any more", flush=True)


def _recorded(layout: Layout) -> dict[str, str]:
    """Return which images were built last."""
    return dict(json.loads(layout.built_images.read_text())) if layout.built_images.exists() else {}


def _build_with_buildkit(layout: Layout, images: list[Image], wanted: Mapping[str, str]) -> None:
    """Run BuildKit for as long as the builds take."""
    tools, present = _tools(layout), image_names(layout)
    for base in sorted({image.base for image in images}, key=lambda one: one.name):
        ensure_base(layout, base)
    with running_buildkit(layout):
        for image in images:
            dependencies = dependencies_reference(image, CHECKOUT)
            if dependencies not in present:
                _timed(layout, image, dependencies, tools, ("--opt", "target=dependencies"))
            # The stage is replaced by the image kept from it, so that no build cache is needed beside the images.
            context = f"context:dependencies=docker-image://{dependencies}"
            _timed(layout, image, wanted[image.name], tools, ("--opt", context))


@contextmanager
def running_buildkit(layout: Layout) -> Iterator[None]:
    """BuildKit in our containerd, which must run."""
    ensure_running(_buildkit(layout), records=layout.processes, logs=layout.log)
    try:
        yield
    finally:
        stop("buildkitd", records=layout.processes)


def _buildkit(layout: Layout) -> Program:
    """Return BuildKit as a program that works in the cluster's containerd."""
    return Program(
        "buildkitd",
        (
            str(binaries_folder(layout) / "buildkitd"),
            *("--config", str(layout.config / "buildkitd.toml"), "--root", str(layout.buildkit)),
            *("--addr", f"unix://{layout.buildkit_socket}"),
        ),
        ready=lambda: succeeds([*buildctl(layout), "debug", "workers"]),
        config_files=(layout.config / "buildkitd.toml",),
        environment=(("PATH", f"{binaries_folder(layout)}:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/root")),
    )


def buildctl(layout: Layout) -> list[str]:
    """Return BuildKit's client."""
    return [str(binaries_folder(layout) / "buildctl"), "--addr", f"unix://{layout.buildkit_socket}"]


def _tools(layout: Layout) -> Path:
    """Put uv alone into a folder, so that builds can mount it and no layer holds it."""
    program = CHECKOUT / ".venv" / "bin" / "uv"
    if not program.exists():
        raise ClusterError(f"{program} is missing: run make install first")
    folder = layout.base / "uv"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, folder / "uv")
    return folder


def _timed(layout: Layout, image: Image, name: str, tools: Path, options: tuple[str, ...]) -> None:
    """Build one image, drop what the build cached, and say how long it took.

    BuildKit keeps every layer a second time under names of its own: 7 GB for the trainer image.
    """
    begin = time.monotonic()
    print(f"  building {name}", flush=True)
    _build(layout, image, name, tools, options)
    run([*buildctl(layout), "prune", "--all"], timeout_seconds=600)
    print(f"  {name}: {time.monotonic() - begin:.0f} s", flush=True)


def _build(layout: Layout, image: Image, name: str, tools: Path, options: tuple[str, ...]) -> None:
    """Build one image uncompressed, because compressing a trainer image takes longer than everything else."""
    command = [
        *buildctl(layout),
        *("build", "--progress=plain", "--frontend=dockerfile.v0"),
        *(
            "--local",
            f"context={CHECKOUT}",
            "--local",
            f"dockerfile={CHECKOUT}",
            "--opt",
            f"filename={image.dockerfile}",
        ),
        *("--local", f"uv={tools}", "--opt", "context:uv=local:uv"),
        *("--opt", f"build-arg:BASE={image.base.reference}", "--opt", "image-resolve-mode=local"),
        *("--secret", f"id=ca,src={CERTIFICATES}"),
        *("--output", f"type=image,name={name},unpack=true,compression=uncompressed"),
        *options,
    ]
    log = layout.log / f"image-{image.name}.log"
    with log.open("w") as output:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=BUILD_SECONDS,
            check=False,
        )
    if done.returncode != 0:
        raise ClusterError(f"building {image.name} failed. The end of {log}:\n{log.read_text()[-3000:]}")
