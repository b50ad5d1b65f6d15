"""The user's half of a settings model: the same fields, all optional, so that a profile can fill what is left out."""

from typing import Any

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.fields import FieldInfo

from spade_contracts.base import Document


class Patch(Document):
    """Base of the models that `partial` makes: they have no source in which to look for descriptions of fields."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def partial(model: type[Document], *, without: frozenset[str] = frozenset()) -> type[Document]:
    """A model like `model` whose fields, at every depth, may be left out. Bounds and descriptions stay; defaults go.

    `without` names top-level fields that the user does not set. Validators across fields are left behind: they run
    on the resolved settings.
    """
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if name in without:
            continue
        annotation: Any = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, Document):
            annotation = partial(annotation)
        copied = FieldInfo.merge_field_infos(info, annotation=annotation | None, default=None, default_factory=None)
        fields[name] = (annotation | None, copied)
    return create_model(f"{model.__name__}Patch", __base__=Patch, __doc__=model.__doc__, **fields)


def given(patch: BaseModel | None) -> dict[str, Any]:
    """What the user wrote, by field name, nested."""
    return {} if patch is None else patch.model_dump(exclude_none=True, by_alias=False)


def merged(defaults: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """`defaults` with the values of `patch` in their places; dictionaries are merged, all else replaced."""
    result = dict(defaults)
    for key, value in patch.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
