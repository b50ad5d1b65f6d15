"""Base images, made from Debian's packages on this machine, so that no registry of images is needed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from spade_cluster.errors import ClusterError
from spade_cluster.settings import Layout
from spade_cluster.system_images import image_names, import_layer

SUITE = "bookworm"
USER_ID = 65532
BUILD_SECONDS = 900
TIMESTAMP = "1735689600"
"""All files bear this time (2025-01-01), so that the same packages give the same image."""

_USER_HOOK = (
    f'echo "spade:x:{USER_ID}:{USER_ID}:spade:/home/spade:/usr/sbin/nologin" >> "$1/etc/passwd"; '
    f'echo "spade:x:{USER_ID}:" >> "$1/etc/group"; '
    f'mkdir -p "$1/home/spade" "$1/opt/spade"; chown {USER_ID}:{USER_ID} "$1/home/spade"; '
    'cd "$1" && rm -rf usr/share/doc usr/share/man usr/share/locale var/lib/apt/lists var/cache/* var/log/*'
)


@dataclass(frozen=True)
class Base:
    """A base image: its name, and the Debian packages on top of the essential ones."""

    name: str
    packages: tuple[str, ...]

    @property
    def definition_hash(self) -> str:
        """Hash of what the image is made from, the state of Debian's archive excepted."""
        return hashlib.sha256(json.dumps([SUITE, self.packages, _USER_HOOK]).encode()).hexdigest()[:12]

    @property
    def reference(self) -> str:
        """The image's name in the cluster."""
        return f"spade.local/{self.name}:{self.definition_hash}"


SANDBOX_BASE = Base("base-sandbox", ("libseccomp2", "libstdc++6", "python3"))
RUNTIME_BASE = Base("base", ("ca-certificates", "libnuma1", "libstdc++6", "python3"))


def ensure_base(layout: Layout, base: Base) -> None:
    """Make a base image unless the cluster has it."""
    if base.reference in image_names(layout):
        return
    root = root_archive(layout, base)
    with tempfile.TemporaryDirectory(prefix="spade-base-", dir=layout.base) as scratch:
        import_layer(layout, Path(scratch) / "image.tar", name=base.reference, layer=root, command=())


def root_archive(layout: Layout, base: Base) -> Path:
    """Return a tar file of a base image's root file system. It is kept on disk, so a new cluster gets it at once."""
    layout.base.mkdir(parents=True, exist_ok=True)
    root = layout.base / f"{base.name}-{base.definition_hash}.tar"
    if not root.exists():
        _bootstrap(base, root)
    return root


def _bootstrap(base: Base, root: Path) -> None:
    """Unpack Debian packages into a tar file and move it into place when complete."""
    begin = time.monotonic()
    partial = root.with_suffix(".partial.tar")
    done = subprocess.run(
        [
            *("mmdebstrap", "--mode=root", "--variant=essential", "--quiet", f"--include={','.join(base.packages)}"),
            *(
                '--aptopt=Acquire::Languages "none"',
                "--dpkgopt=path-exclude=/usr/share/doc/*",
                "--dpkgopt=path-exclude=/usr/share/man/*",
            ),
            *(f"--customize-hook={_USER_HOOK}", SUITE, str(partial)),
        ],
        env={**os.environ, "SOURCE_DATE_EPOCH": TIMESTAMP},
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise ClusterError(f"mmdebstrap could not make {base.name}: {done.stderr.strip()[-1500:]}")
    partial.replace(root)
    print(f"  {base.reference} made from Debian {SUITE}: {time.monotonic() - begin:.0f} s", flush=True)
