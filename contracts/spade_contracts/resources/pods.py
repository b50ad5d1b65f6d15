"""What a user may say about pods: bounded, nothing that weakens isolation. And the bounded scalars of all kinds."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from spade_contracts.base import Document

NAMES_MESSAGE = "x-names-message"
"""Key of a map's schema: what the API server says of a name that does not fit."""
QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Quantity = Annotated[
    str,
    BeforeValidator(_as_text),
    StringConstraints(max_length=32, pattern=QUANTITY_PATTERN),
    WithJsonSchema({"type": "quantity", "maxLength": 32, "pattern": QUANTITY_PATTERN}),
]
"""A Kubernetes quantity; `cpu: 2` is as good as `cpu: "2"`."""
ResourceName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=128)]
LabelValue = Annotated[str, StringConstraints(max_length=63)]
Figure = Annotated[str, StringConstraints(max_length=32)]
"""A decimal in text, because the API conventions avoid floating point in status."""
Moment = Annotated[str, StringConstraints(max_length=40)]
"""RFC 3339."""
Uri = Annotated[str, StringConstraints(max_length=2048)]


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
    node_selector: dict[LabelKey, LabelValue] = Field(default={}, max_length=16)
    """Labels a node must carry."""
