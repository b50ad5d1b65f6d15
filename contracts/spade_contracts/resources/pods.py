"""What a user may say about pods: bounded, nothing that weakens isolation."""

from typing import Annotated

from pydantic import Field, StringConstraints

from spade_contracts.base import Document

Quantity = Annotated[str, StringConstraints(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")]
ResourceName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
LabelValue = Annotated[str, StringConstraints(max_length=63)]


class Resources(Document):
    """Requests and limits of a role's container. What is left out gets the role's default."""

    requests: dict[ResourceName, Quantity] = Field(default={}, max_length=16)
    """Resource name to quantity, such as `cpu: 500m`."""
    limits: dict[ResourceName, Quantity] = Field(default={}, max_length=16)
    """Resource name to quantity."""


class PodSettings(Document):
    """Settings of a role's pods."""

    resources: Resources = Resources()
    """Requests and limits."""
    node_selector: dict[ResourceName, LabelValue] = Field(default={}, max_length=16)
    """Labels a node must carry."""
