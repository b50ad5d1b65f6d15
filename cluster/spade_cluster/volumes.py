"""The local volumes: folders of this machine offered as PersistentVolumes of StorageClass spade-local.

A volume whose claim was deleted is Released and holds somebody's data. It is offered again with an empty folder; the
data is moved to volumes/retained and stays there until it is deleted on purpose.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from spade_cluster.kubectl import get, kubectl
from spade_cluster.settings import NODE_NAME, VOLUME_COUNT, VOLUME_SIZE, Layout

STORAGE_CLASS = "spade-local"
FOLDER_MODE = 0o777
"""Every pod of ours runs as an unprivileged user of its own."""


def volume(name: str, path: Path) -> dict[str, Any]:
    """Return the PersistentVolume for one folder of the node."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE_NAME]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "capacity": {"storage": VOLUME_SIZE},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": STORAGE_CLASS,
            "local": {"path": str(path)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def released(volumes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return our volumes whose claim is gone."""
    return [
        one
        for one in volumes
        if one["spec"].get("storageClassName") == STORAGE_CLASS and one["status"].get("phase") == "Released"
    ]


def ensure_volumes(layout: Layout, *, delete_data: bool = False) -> None:
    """Create missing volumes and offer released ones again."""
    names = [f"spade-local-{number}" for number in range(VOLUME_COUNT)]
    present = get(layout, "persistentvolumes")["items"]
    for name in names:
        _ensure_folder(layout.volumes / name)
    for one in released(present):
        _offer_again(layout, one, delete_data=delete_data)
    missing = [name for name in names if name not in {one["metadata"]["name"] for one in present}]
    if missing:
        items = [volume(name, layout.volumes / name) for name in missing]
        kubectl(
            layout, "apply", "--filename", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        )


def _ensure_folder(folder: Path) -> None:
    """Make a volume's folder writable for everybody."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o777 != FOLDER_MODE:
        folder.chmod(FOLDER_MODE)


def _offer_again(layout: Layout, one: dict[str, Any], *, delete_data: bool) -> None:
    """Move the data of a released volume aside, or delete it, and make the volume available."""
    name, claim = one["metadata"]["name"], one["spec"]["claimRef"]
    folder = layout.volumes / name
    if any(folder.iterdir()):
        if delete_data:
            shutil.rmtree(folder)
        else:
            kept = (
                layout.volumes / "retained" / f"{claim['namespace']}-{claim['name']}-{time.strftime('%Y%m%d-%H%M%S')}"
            )
            kept.parent.mkdir(exist_ok=True)
            folder.rename(kept)
            print(
                f"volume {name}: the data of claim {claim['namespace']}/{claim['name']} is kept in {kept}", flush=True
            )
        _ensure_folder(folder)
    # The test makes the patch fail if the volume was bound again in the meantime.
    patch = [
        {"op": "test", "path": "/spec/claimRef/uid", "value": claim["uid"]},
        {"op": "remove", "path": "/spec/claimRef"},
    ]
    kubectl(layout, "patch", "persistentvolume", name, "--type", "json", "--patch", json.dumps(patch))
