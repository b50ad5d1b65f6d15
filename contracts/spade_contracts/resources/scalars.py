"""Bounded scalars of all kinds: the API server wants a maximum for every text, and names that Kubernetes takes."""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from pydantic.config import JsonDict

NAMES_MESSAGE = "x-names-message"
"""Key of a map's schema: what the API server says of a name that does not fit."""
QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
RESOURCE_PATTERN = rf"^(cpu|memory|ephemeral-storage|hugepages-[1-9][0-9]*[KMG]i|{_DOMAIN}/{_NAME})$"
RESOURCE_NAMES: JsonDict = {
    NAMES_MESSAGE: "write cpu, memory, ephemeral-storage or a device as DOMAIN/NAME, such as nvidia.com/gpu"
}
"""Goes into the schema of a map by resources."""
LABEL_KEY_PATTERN = rf"^({_DOMAIN}/)?{_NAME}$"
LABEL_KEYS: JsonDict = {NAMES_MESSAGE: "write a key as NAME or DOMAIN/NAME, such as example.com/pool"}
"""Goes into the schema of a map by labels."""
LABEL_VALUE_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
OBJECT_NAME_PATTERN = rf"^{_DOMAIN}$"
ANNOTATION_PATTERN = rf"^{_DOMAIN}/{_NAME}$"
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
SMALLEST_SIZE, LARGEST_SIZE = "1Mi", "1Pi"
SIZE_OUT_OF_BOUNDS = f"a size lies between {SMALLEST_SIZE} and {LARGEST_SIZE}: write one such as 10Gi"
_UNITS = {"m": Decimal("0.001"), "": Decimal(1), "k": Decimal(1000), "M": Decimal(1000**2), "G": Decimal(1000**3)}
_UNITS |= {"T": Decimal(1000**4)} | {f"{unit}i": Decimal(2 ** (10 * n)) for n, unit in enumerate("KMGTP", 1)}


def _amount(quantity: str) -> Decimal:
    number = quantity.rstrip("mkKMGTPi")
    return Decimal(number) * _UNITS[quantity.removeprefix(number)]


def _of_a_size(quantity: str) -> str:
    """The quantity. ValueError for one that no disk has."""
    if not _amount(SMALLEST_SIZE) <= _amount(quantity) <= _amount(LARGEST_SIZE):
        raise ValueError(SIZE_OUT_OF_BOUNDS)
    return quantity


Size = Annotated[Quantity, AfterValidator(_of_a_size)]
"""Of a disk, in bytes."""
ResourceName = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=RESOURCE_PATTERN)]
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=LABEL_KEY_PATTERN)]
LabelValue = Annotated[str, StringConstraints(max_length=63, pattern=LABEL_VALUE_PATTERN)]
AnnotationKey = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=ANNOTATION_PATTERN)]
ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=OBJECT_NAME_PATTERN)]
"""Of a Secret, a ConfigMap, a claim, a priority class."""
QueueName = ObjectName
"""Of a LocalQueue of Kueue."""
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
