"""Volumes of pods: those that every role is made with, and those that a run adds."""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts import isolation, tasks
from spade_contracts.labels import TASK_ANNOTATION, Role
from spade_contracts.resources.volumes import PodVolume
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import targets_name, tokens_name
from spade_operator.children.owner import STAGING_MOUNT, STORAGE_MOUNT, Owner

HOME = "/home/spade"


@dataclass(frozen=True)
class Volume:
    """A volume and where the one container mounts it."""

    name: str
    source: Manifest
    path: str
    read_only: bool = False


def scratch(size: str, *, of: str = "") -> tuple[Volume, Volume]:
    """Writable HOME and TMPDIR under the read-only root. `of`: begins their names, for a pod's second container."""
    return (
        Volume(f"{of}home", {"emptyDir": {"sizeLimit": size}}, HOME),
        Volume(f"{of}tmp", {"emptyDir": {"sizeLimit": size}}, "/tmp"),  # noqa: S108  # a volume of the pod's own
    )


def shared_memory(size: str) -> Volume:
    """Shared memory of a size; the runtime's 64 MiB are too small for torch. Counts towards the memory limit."""
    return Volume("shm", {"emptyDir": {"medium": "Memory", "sizeLimit": size}}, "/dev/shm")  # noqa: S108


def storage(owner: Owner, *, read_only: bool = False, of: str = "") -> Volume:
    """Run storage, or room for copies of what lies in its bucket. `of`: as for scratch."""
    if owner.storage.s3 is not None:
        return Volume(f"{of}staging", {"emptyDir": {"sizeLimit": owner.storage.staging_size}}, STAGING_MOUNT)
    claim = {"claimName": owner.claim, "readOnly": read_only}
    return Volume("storage", {"persistentVolumeClaim": claim}, STORAGE_MOUNT, read_only)


def task_file(annotation: str = TASK_ANNOTATION, *, of: str = "") -> Volume:
    """The pod's own task annotation as a file: no ConfigMap for each Job."""
    item = {"path": "task.json", "fieldRef": {"fieldPath": f"metadata.annotations['{annotation}']"}}
    return Volume(f"{of}task", {"downwardAPI": {"items": [item]}}, tasks.TASK_PATH.rpartition("/")[0], read_only=True)


def tokens(owner: Owner, role: Role, *, of: str = "") -> Volume:
    """The role's tokens and digests."""
    secret = {"secretName": tokens_name(owner.name, role), "defaultMode": 0o440}
    return Volume(f"{of}tokens", {"secret": secret}, tasks.TOKENS_PATH, read_only=True)


def probe_targets(owner: Owner) -> Volume:
    """Targets of the isolation probe. A pod that starts later sees later targets."""
    source = {"configMap": {"name": targets_name(owner.name), "defaultMode": 0o444}}
    return Volume("probe", source, isolation.TARGETS_PATH.rpartition("/")[0], read_only=True)


def added(wanted: Sequence[PodVolume]) -> tuple[Volume, ...]:
    """A run's own volumes, named by their place in its list."""
    return tuple(
        Volume(f"added-{index}", _source(one), one.mount_path, one.is_read_only) for index, one in enumerate(wanted)
    )


def _source(volume: PodVolume) -> Manifest:
    if volume.persistent_volume_claim is not None:
        # Read-only on the claim too: Kubernetes then leaves the owner of its files alone.
        claim = {"claimName": volume.persistent_volume_claim.claim_name, "readOnly": volume.is_read_only}
        return {"persistentVolumeClaim": claim}
    if volume.empty_dir is not None:
        return {"emptyDir": {"sizeLimit": volume.empty_dir.size_limit}}
    if volume.config_map is not None:
        return {"configMap": {"name": volume.config_map.name, "defaultMode": 0o444}}
    assert volume.secret is not None, "the model refuses a volume without a source"
    return {"secret": {"secretName": volume.secret.secret_name, "defaultMode": 0o440}}
