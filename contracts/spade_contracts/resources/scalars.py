"""Bounded scalars of all kinds: the API server wants a maximum for every text, and names that Kubernetes takes."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema
from pydantic.config import JsonDict

NAMES_MESSAGE = "x-names-message"
"""Key of a map's schema: what the API server says of a name that does not fit."""
QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"
LABEL_KEY_PATTERN = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
LABEL_KEYS: JsonDict = {NAMES_MESSAGE: "write a key as NAME or DOMAIN/NAME, such as example.com/pool"}
"""Goes into the schema of a map by labels."""
LABEL_VALUE_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
OBJECT_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
QUEUE_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
ANNOTATION_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
ANNOTATION_KEYS: JsonDict = {
    NAMES_MESSAGE: "write an annotation's key as DOMAIN/NAME: from others container runtimes take settings"
}
"""Goes into the schema of a map by annotations."""
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
VARIABLES: JsonDict = {
    NAMES_MESSAGE: "write an environment variable's name in letters, digits and _, such as LOG_LEVEL"
}
"""Goes into the schema of a map by environment variables."""


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
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=LABEL_KEY_PATTERN)]
LabelValue = Annotated[str, StringConstraints(max_length=63, pattern=LABEL_VALUE_PATTERN)]
AnnotationKey = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=ANNOTATION_PATTERN)]
ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=OBJECT_NAME_PATTERN)]
"""Of a Secret, a ConfigMap, a claim, a priority class."""
QueueName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=QUEUE_NAME_PATTERN)]
"""Of a LocalQueue of Kueue, which wants a DNS subdomain."""
VariableName = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=VARIABLE_PATTERN)]
Count = Annotated[int, Field(ge=0)]
"""A number of things in status."""
Position = Annotated[int, Field(ge=0, le=1_000_000)]
"""A rollout, cycle, version or attempt in status; as far as specs count them."""
Figure = Annotated[str, StringConstraints(max_length=32)]
"""A decimal in text, because the API conventions avoid floating point in status."""
Moment = Annotated[str, StringConstraints(max_length=40)]
"""RFC 3339."""
Uri = Annotated[str, StringConstraints(max_length=2048)]
