"""Write a root file system as an image archive that containerd imports."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_image_archive(
    archive: Path, *, name: str, layer: Path, command: Sequence[str], environment: Mapping[str, str], user: str = "0"
) -> None:
    """Write an archive with one image of one uncompressed layer. The same layer gives the same image."""
    with layer.open("rb") as file:
        layer_digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Entrypoint": list(command),
                "Env": [f"{key}={value}" for key, value in environment.items()],
                "User": user,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
            "history": [{"created_by": "cluster/spade_cluster/archive.py"}],
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(archive, "w") as tar:
        for member, content in ((config_name, config), ("manifest.json", manifest)):
            tar.addfile(_file(member, len(content)), io.BytesIO(content))
        with layer.open("rb") as file:
            tar.addfile(_file("layer.tar", layer.stat().st_size), file)


def write_layer(layer: Path, files: Mapping[str, Path]) -> None:
    """Write a root file system that holds only these executables: path inside → file on this machine."""
    with tarfile.open(layer, "w") as tar:
        for member, path in sorted(files.items()):
            info = _file(member, path.stat().st_size)
            info.mode = 0o755
            with path.open("rb") as file:
                tar.addfile(info, file)


def _file(name: str, size_bytes: int) -> tarfile.TarInfo:
    """Return a member's header without owner and time, so that archives are reproducible."""
    info = tarfile.TarInfo(name)
    info.size = size_bytes
    info.mode = 0o644
    return info
