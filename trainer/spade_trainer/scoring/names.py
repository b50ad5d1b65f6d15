"""Names of fields in files for `spade score`: camelCase or snake_case, once each, and what a wrong one was to be."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel

Models = frozenset[type[BaseModel]]


def misnamed(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """What to write in place of a name that `model` refuses at `place`; empty if nothing is like it.

    Both spellings of a name are read, so that settings can be copied out of Python too; a name that is there in both is
    refused, because nobody knows which value is meant.
    """
    *above, name = place
    known = _spellings(_models_at(model, above))
    if str(name) in known:
        return f"it is {known[str(name)]} a second time; write one of them"
    alike = get_close_matches(str(name), known, n=1)
    return f"did you mean {known[alike[0]]}?" if alike else ""


def _spellings(models: Models) -> dict[str, str]:
    """Both spellings of every field, each with the camelCase one."""
    fields = [(name, info.alias or name) for model in models for name, info in model.model_fields.items()]
    return {spelling: alias for name, alias in fields for spelling in (name, alias)}


def _models_at(model: type[BaseModel], place: Sequence[int | str]) -> Models:
    """The models that an object at this place may be of; positions in lists and forms of values are passed over."""
    found: Models = frozenset({model})
    for part in place:
        fields = [
            info
            for one in found
            for name, info in one.model_fields.items()
            if isinstance(part, str) and part in {name, info.alias}
        ]
        found = frozenset().union(*(_within(info.annotation) for info in fields)) if fields else found
    return found


def _within(annotation: Any) -> Models:
    """The models that an annotation holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return frozenset({annotation})
    return frozenset().union(*(_within(inner) for inner in get_args(annotation)))
