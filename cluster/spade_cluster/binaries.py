"""Build the cluster's programs from their Go modules, once for each state of the module files.

The programs lie in bin/<hash of the module files, the patches and this file>. Each is built by itself and moved into
place when complete, so an interrupted build goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from spade_cluster.commands import run
from spade_cluster.errors import ClusterError
from spade_cluster.settings import CLUSTER_SOURCE, Layout

KUBERNETES_VERSION = "1.34.4"
COREDNS_VERSION = "1.14.3"
MINIMUM_GO = (1, 25, 5)
MODULES = CLUSTER_SOURCE / "modules"
PATCHES = CLUSTER_SOURCE / "patches"
BUILD_SECONDS = 3600.0

_KUBERNETES_FLAGS = " ".join(
    f"-X k8s.io/component-base/version.{name}={value}"
    for name, value in (("gitVersion", f"v{KUBERNETES_VERSION}"), ("gitMajor", "1"), ("gitMinor", "34"))
)


@dataclass(frozen=True)
class Binary:
    """One program: its file name, the module folder it is built in, its package, and what is special about it."""

    name: str
    module: str
    package: str
    link_flags: str = ""
    overlay: tuple[tuple[str, str], ...] = ()
    """Files of the vendored module replaced at build time: (path below vendor/, file in patches/)."""


RUNSC = Binary("runsc", "gvisor", "gvisor.dev/gvisor/runsc")
BINARIES = (
    *(
        Binary(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_FLAGS)
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
    ),
    RUNSC,
    # The shim lowers its OOM score and gives up on machines that do not grant CAP_SYS_RESOURCE, unless it believes
    # itself in a user namespace.
    Binary(
        "containerd-shim-runsc-v1",
        "gvisor",
        "gvisor.dev/gvisor/shim",
        overlay=(("github.com/containerd/containerd/pkg/userns/userns_linux.go", "userns_linux.go"),),
    ),
    Binary("kube-router", "kube-router", "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"),
    Binary("buildkitd", "buildkit", "github.com/moby/buildkit/cmd/buildkitd"),
    Binary("buildctl", "buildkit", "github.com/moby/buildkit/cmd/buildctl"),
    Binary("coredns", "coredns", "github.com/coredns/coredns"),
    Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm"),
)


def binaries_hash() -> str:
    """Hash everything the programs are made from."""
    digest = hashlib.sha256()
    for path in sorted([*MODULES.glob("*/go.*"), *PATCHES.iterdir(), Path(__file__)]):
        digest.update(f"{path.relative_to(CLUSTER_SOURCE)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def binaries_folder(layout: Layout) -> Path:
    """Return the folder of the set that this checkout wants."""
    return layout.binaries / binaries_hash()


def missing_binaries(layout: Layout) -> list[Binary]:
    """Return the programs that are not built yet."""
    folder = binaries_folder(layout)
    return [binary for binary in BINARIES if not (folder / binary.name).exists()]


def parse_go_version(text: str) -> tuple[int, int, int]:
    """Read 'go1.26.8' or 'go1.25' or 'go1.26rc1'. Raises ClusterError on anything else."""
    match = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", text.strip())
    if match is None:
        raise ClusterError(f"cannot read Go's version from {text!r}")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def check_go() -> None:
    """Raise ClusterError unless a Go that can build the modules is there."""
    remedy = (
        f"install Go {'.'.join(map(str, MINIMUM_GO))} or newer and put it first in PATH "
        "(Debian 12 has a newer Go in its backports)"
    )
    if shutil.which("go") is None:
        raise ClusterError(f"Go is not installed: {remedy}")
    if shutil.which("gcc") is None:
        raise ClusterError("gcc is not installed: apt-get install gcc libc6-dev")
    found = run(["go", "env", "GOVERSION"])
    if parse_go_version(found) < MINIMUM_GO:
        raise ClusterError(f"{found.strip()} is too old: {remedy}")


def build_missing(layout: Layout) -> None:
    """Build every program that is not there, one after the other."""
    folder = binaries_folder(layout)
    missing = missing_binaries(layout)
    if not missing:
        return
    check_go()
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"building {len(missing)} of {len(BINARIES)} programs into {folder} "
        "(about 13 minutes on 2 cores with empty caches)",
        flush=True,
    )
    for binary in missing:
        begin = time.monotonic()
        build_program(binary, folder)
        print(f"  {binary.name}: {time.monotonic() - begin:.0f} s", flush=True)


def build_program(binary: Binary, folder: Path) -> None:
    """Build one program and move it into the folder when it is complete. Raises ClusterError."""
    with tempfile.TemporaryDirectory(prefix="spade-build-", dir=folder) as scratch:
        target = Path(scratch) / binary.name
        source = MODULES / binary.module
        command = ["go", "build", "-trimpath", "-ldflags", f"-s -w {binary.link_flags}".strip(), "-o", str(target)]
        if binary.overlay:
            source = _vendored_copy(source, Path(scratch) / "module")
            replace = {str(source / "vendor" / path): str(PATCHES / patch) for path, patch in binary.overlay}
            overlay = Path(scratch) / "overlay.json"
            overlay.write_text(json.dumps({"Replace": replace}))
            command += ["-mod=vendor", "-overlay", str(overlay)]
        else:
            command += ["-mod=readonly"]
        # Only Kubernetes is built with cgo, as its own defaults have it here; the rest must also run inside images
        # without a C library.
        environment = {**os.environ, "CGO_ENABLED": "1" if binary.module == "kubernetes" else "0"}
        done = subprocess.run(
            [*command, binary.package], cwd=source, env=environment, timeout=BUILD_SECONDS, check=False
        )
        if done.returncode != 0:
            raise ClusterError(f"building {binary.name} failed (see above); run the same command again to go on")
        target.replace(folder / binary.name)


def remove_old_binaries(layout: Layout) -> None:
    """Remove sets that neither this checkout nor the running cluster uses."""
    keep = {binaries_hash()}
    if layout.current_binaries.is_symlink():
        keep.add(layout.current_binaries.readlink().name)
    for folder in layout.binaries.iterdir():
        if folder.is_dir() and not folder.is_symlink() and folder.name not in keep:
            shutil.rmtree(folder)


def _vendored_copy(source: Path, copy: Path) -> Path:
    """Copy a module and vendor its packages, because Go refuses overlays of files in its module cache."""
    shutil.copytree(source, copy)
    run(["go", "mod", "vendor"], folder=copy, timeout_seconds=BUILD_SECONDS)
    return copy
