"""What a user may say about pods: bounded, and nothing that weakens isolation.

Sandbox pods take less than others: what lets a program see or reach more does not exist for them.
"""

from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import Field, StringConstraints, field_validator, model_validator

from spade_contracts.base import Document
from spade_contracts.resources import reserved
from spade_contracts.resources.placement import Affinity, Toleration, TopologySpread
from spade_contracts.resources.scalars import (
    ANNOTATION_KEYS,
    LABEL_KEYS,
    RESOURCE_NAMES,
    VARIABLES,
    AnnotationKey,
    LabelKey,
    LabelValue,
    ObjectName,
    Quantity,
    ResourceName,
    VariableName,
)
from spade_contracts.resources.volumes import PodVolume, SecretKey

SPREAD_TWICE = "topologySpread names a topologyKey twice: use each once"
SYSTEM_PRIORITY = "priority classes of the system are not for runs: use one of your cluster's own"
MOUNTED_TWICE = "volumes name a mountPath twice: use each once"
DEVICES_IN_SANDBOXES = "sandbox pods have no devices: resources are cpu, memory and ephemeral-storage, names without /"
SET_TWICE = "environment and secretEnvironment name the same variable: use each name once"
V = TypeVar("V")


class Resources(Document):
    """Requests and limits of a role's container. What is left out gets the role's default."""

    requests: dict[ResourceName, Quantity] = Field(default={}, max_length=16, json_schema_extra=RESOURCE_NAMES)
    """Resource name to quantity, such as `cpu: 500m`."""
    limits: dict[ResourceName, Quantity] = Field(default={}, max_length=16, json_schema_extra=RESOURCE_NAMES)
    """Resource name to quantity."""


class SandboxPodSettings(Document):
    """Settings that pods of every role take."""

    resources: Resources = Resources()
    """Requests and limits."""
    node_selector: dict[LabelKey, LabelValue] = Field(default={}, max_length=16, json_schema_extra=LABEL_KEYS)
    """Labels a node must carry."""
    tolerations: tuple[Toleration, ...] = Field(default=(), max_length=16)
    """Taints that the pods tolerate."""
    affinity: Affinity = Affinity()
    """Nodes and neighbours that they want or avoid."""
    topology_spread: tuple[TopologySpread, ...] = Field(default=(), max_length=4)
    """How evenly the role's pods are spread."""
    priority_class_name: ObjectName | None = None
    """An existing PriorityClass; left out, the cluster's default."""

    @field_validator("topology_spread")
    @classmethod
    def _spreads_once(cls, value: tuple[TopologySpread, ...]) -> tuple[TopologySpread, ...]:
        return _distinct(value, (one.topology_key for one in value), SPREAD_TWICE)

    @field_validator("priority_class_name")
    @classmethod
    def _is_not_the_systems(cls, value: str | None) -> str | None:
        if value is not None and value.startswith("system-"):
            raise ValueError(SYSTEM_PRIORITY)
        return value

    def placement(self) -> "SandboxPodSettings":
        """Nodes, neighbours, taints and priority alone, for a pod that goes with the role's."""
        names = ("node_selector", "tolerations", "affinity", "priority_class_name")
        return SandboxPodSettings(**{name: getattr(self, name) for name in names})


def without_devices(settings: SandboxPodSettings) -> SandboxPodSettings:
    """The settings of a sandbox pod. Raises ValueError for a device plugin's resource: a device leads past gVisor."""
    resources = settings.resources
    if any("/" in name for name in resources.requests.keys() | resources.limits.keys()):
        raise ValueError(DEVICES_IN_SANDBOXES)
    return settings


class PodSettings(SandboxPodSettings):
    """Settings that pods of trusted roles take beside."""

    labels: dict[LabelKey, LabelValue] = Field(default={}, max_length=16, json_schema_extra=LABEL_KEYS)
    """More labels, for quotas, costs or policies of the cluster."""
    annotations: dict[AnnotationKey, Annotated[str, StringConstraints(max_length=2048)]] = Field(
        default={}, max_length=16, json_schema_extra=ANNOTATION_KEYS
    )
    """More annotations."""
    environment: dict[VariableName, Annotated[str, StringConstraints(max_length=2048)]] = Field(
        default={}, max_length=32, json_schema_extra=VARIABLES
    )
    """More environment variables. What is secret belongs into secretEnvironment."""
    secret_environment: dict[VariableName, SecretKey] = Field(default={}, max_length=16, json_schema_extra=VARIABLES)
    """Environment variables with values from Secrets."""
    volumes: tuple[PodVolume, ...] = Field(default=(), max_length=16)
    """More volumes."""

    @field_validator("labels")
    @classmethod
    def _labels_are_free(cls, value: dict[str, str]) -> dict[str, str]:
        return _free(value, reserved.LABELS)

    @field_validator("annotations")
    @classmethod
    def _annotations_are_free(cls, value: dict[str, str]) -> dict[str, str]:
        return _free(value, reserved.ANNOTATIONS)

    @field_validator("environment")
    @classmethod
    def _variables_are_free(cls, value: dict[str, str]) -> dict[str, str]:
        return _free(value, reserved.ENVIRONMENT)

    @field_validator("secret_environment")
    @classmethod
    def _secret_variables_are_free(cls, value: dict[str, SecretKey]) -> dict[str, SecretKey]:
        return _free(value, reserved.SECRET_ENVIRONMENT)

    @field_validator("volumes")
    @classmethod
    def _mounts_once(cls, value: tuple[PodVolume, ...]) -> tuple[PodVolume, ...]:
        return _distinct(value, (one.mount_path for one in value), MOUNTED_TWICE)

    @model_validator(mode="after")
    def _sets_once(self) -> "PodSettings":
        if self.environment.keys() & self.secret_environment.keys():
            raise ValueError(SET_TWICE)
        return self


def _free(named: dict[str, V], families: Iterable[reserved.Reserved]) -> dict[str, V]:
    if problem := reserved.refused(named, families):
        raise ValueError(problem)
    return named


def _distinct(value: V, keys: Iterable[str], message: str) -> V:
    found = list(keys)
    if len(set(found)) < len(found):
        raise ValueError(message)
    return value
