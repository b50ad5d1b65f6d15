"""Volumes that a run may add to its trusted pods: never a folder of the node, never over what pods have already."""

from typing import Annotated

from pydantic import StringConstraints, field_validator, model_validator

from spade_contracts.base import Document
from spade_contracts.resources import reserved
from spade_contracts.resources.scalars import ObjectName, Size

MOUNT_PATTERN = r"^/mnt(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$"
"""One tree of our choice: a list of all paths that the images use would never be complete."""
HUB_MOUNT = "/mnt/hub"
"""Where a volume of `workers.pod` takes the hub's downloads, which then outlive the Job."""
SOURCES = ("persistentVolumeClaim", "emptyDir", "configMap", "secret")
ONE_SOURCE = f"a volume has exactly one source: write one of {', '.join(SOURCES)}"
ALWAYS_READ_ONLY = "a configMap or secret is read-only: remove readOnly, or write true"

MountPath = Annotated[str, StringConstraints(max_length=256, pattern=MOUNT_PATTERN)]


class ClaimSource(Document):
    """An existing PersistentVolumeClaim of the run's namespace."""

    claim_name: ObjectName
    """Its name."""


class ScratchSource(Document):
    """An empty folder that goes with the pod."""

    size_limit: Size
    """More than this, and the pod is evicted. Counts as ephemeral storage."""


class ConfigMapSource(Document):
    """A ConfigMap of the run's namespace: a file for each key."""

    name: ObjectName
    """Its name."""


class SecretSource(Document):
    """A Secret of the run's namespace: a file for each key."""

    secret_name: ObjectName
    """Its name; not one of the operator's."""

    @field_validator("secret_name")
    @classmethod
    def _is_not_ours(cls, value: str) -> str:
        return not_ours(value)


class SecretKey(Document):
    """One key of a Secret of the run's namespace."""

    secret: ObjectName
    """The Secret's name; not one of the operator's."""
    key: Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
    """The key."""

    @field_validator("secret")
    @classmethod
    def _is_not_ours(cls, value: str) -> str:
        return not_ours(value)


def not_ours(secret: str) -> str:
    """The Secret's name. ValueError for one that holds the operator's tokens or key."""
    if problem := reserved.refused([secret], [reserved.SECRETS]):
        raise ValueError(problem)
    return secret


class PodVolume(Document):
    """A volume and where it is mounted. One of the sources is written."""

    mount_path: MountPath
    """A folder below /mnt."""
    read_only: bool | None = None
    """Left out: true, but false for an emptyDir. A configMap or secret is always read-only."""
    persistent_volume_claim: ClaimSource | None = None
    """An existing claim."""
    empty_dir: ScratchSource | None = None
    """An empty folder."""
    config_map: ConfigMapSource | None = None
    """A ConfigMap."""
    secret: SecretSource | None = None
    """A Secret."""

    @property
    def is_read_only(self) -> bool:
        """Whether it is mounted read-only."""
        return self.empty_dir is None if self.read_only is None else self.read_only

    @model_validator(mode="after")
    def _fits_together(self) -> "PodVolume":
        given = [self.persistent_volume_claim, self.empty_dir, self.config_map, self.secret]
        if sum(source is not None for source in given) != 1:
            raise ValueError(ONE_SOURCE)
        if self.read_only is False and (self.config_map is not None or self.secret is not None):
            raise ValueError(ALWAYS_READ_ONLY)
        return self
