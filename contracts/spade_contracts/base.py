"""The two pydantic bases of the contracts: strict inside our own processes, camelCase towards Kubernetes."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Contract(BaseModel):
    """A message or file between our processes: frozen, unknown fields refused, snake_case."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Document(BaseModel):
    """A part of a Kubernetes object or of a user's file: frozen, unknown fields refused, camelCase."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )
