"""What pydantic finds wrong with a user's file, in our words: where, the value that was given, what to write."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from spade_contracts.errors import InvalidInput

MAX_OTHERS = 4
"""Mistakes told beside the first."""
MAX_SHOWN = 60
"""Characters of a value that are shown."""
MAX_NAMES = 12
NAME_OF_ENTRY = "[key]"
"""pydantic's last part of a place that is the name of a map's entry."""
KINDS = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text",
    "dict_type": "a map", "model_type": "a map of fields", "model_attributes_type": "a map of fields",
    "list_type": "a list", "tuple_type": "a list",
}  # fmt: skip
BOUNDS = {
    "greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"), "less_than": ("lt", "less than"),
}  # fmt: skip
LENGTHS = {
    "string_too_long": ("max_length", "characters", "at most"),
    "string_too_short": ("min_length", "characters", "at least"),
    "too_long": ("max_length", "entries", "at most"),
    "too_short": ("min_length", "entries", "at least"),
}
UNQUOTED = {"int": r"-?[0-9]+", "float": r"-?[0-9]+(\.[0-9]+)?", "bool": "true|false"}
"""Texts that would be a value of another type without their quotes."""

PASSWORD = re.compile(r"//[^/@ ]*@")

Place = Sequence[int | str]
Told = tuple[str, str]
"""What is wrong, and what to write."""


def wrong_input(
    error: ValidationError,
    model: type[BaseModel],
    path_of: Callable[[Place], str],
    *,
    remedy: str = "",
    both_spellings: bool = False,
) -> InvalidInput:
    """All that is wrong as one error, unknown fields first, because a missing one is often the same, misspelt.

    model: what the content was validated as. path_of: how a place in it is written. remedy: what is said at the end.
    both_spellings: snake_case was read too, so that a name refused in it was there twice.
    """
    found = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    (where, message, first), *others = ((path_of(_place(one)), *_told(one, model, both_spellings)) for one in found)
    also = " ".join(f"{path}: {_sentence(text, more)}" for path, text, more in others[:MAX_OTHERS])
    more = (first, f"Also wrong: {also}" if also else "", remedy)
    return InvalidInput(where, message, remedy=" ".join(part for part in more if part))


def below(root: str) -> Callable[[Place], str]:
    """Paths below a root, with dots: `spec.environments.perCycle`."""
    return lambda place: ".".join([root, *map(str, place)])


def _place(one: ErrorDetails) -> Place:
    return one["loc"][:-1] if one["loc"][-1:] == (NAME_OF_ENTRY,) else one["loc"]


def _sentence(text: str, remedy: str) -> str:
    return f"{text}. {remedy}" if remedy else text if text.endswith((".", "?")) else f"{text}."


def _told(one: ErrorDetails, model: type[BaseModel], both_spellings: bool) -> Told:
    kind, value, context = one["type"], one["input"], one.get("ctx", {})
    told: Told = str(one["msg"]).removeprefix("Value error, "), ""
    if kind == "extra_forbidden":
        name, known = str(one["loc"][-1]), _names_at(model, one["loc"][:-1])
        spelt = to_camel(name) if both_spellings else ""
        again = f"It is {spelt} a second time: write one of them."
        told = "is no field", again if spelt in known else _nearest(name, known)
    elif kind == "missing":
        told = "is missing", "Write it."
    elif kind == "string_unicode":
        told = "holds half of a surrogate pair, which is no Unicode", "Write the character itself."
    elif kind in KINDS:
        told = f"is {shown(value)}, not {KINDS[kind]}", _retyped(kind, value)
    elif kind in BOUNDS:
        bound, words = BOUNDS[kind]
        told = f"is {shown(value)}", f"Write {words} {context[bound]:g}."
    elif kind in LENGTHS:
        bound, unit, words = LENGTHS[kind]
        told = f"has {len(value)} {unit}", f"Write {words} {context[bound]}."
    elif kind in ("enum", "literal_error"):
        told = f"is {shown(value)}", _one_of(value, re.findall(r"'([^']*)'", str(context["expected"])))
    elif kind == "string_pattern_mismatch":
        # Here, because resources hold settings, whose profiles tell what is wrong with them by this module.
        from spade_contracts.resources.patterns import fitting

        told = f"is {shown(value)}", fitting(str(value), str(context["pattern"]))
    return told


def shown(value: Any) -> str:
    """A value as JSON has it, cut where it is long, without a password; of a map or list only what it is."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list | tuple):
        return "a list"
    text = PASSWORD.sub("//…@", json.dumps(value, default=str))
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _nearest(name: str, known: Sequence[str]) -> str:
    """The known name that is meant, or the known ones if they are few."""
    lower = {one.lower(): one for one in known}
    near = get_close_matches(name.replace("_", "").lower(), lower, n=1)
    if near:
        return f"Did you mean {lower[near[0]]}?"
    return f"Fields here: {', '.join(known)}." if 0 < len(known) <= MAX_NAMES else ""


def _one_of(value: Any, known: Sequence[str]) -> str:
    lower = {one.lower(): one for one in known}
    near = get_close_matches(str(value).lower(), lower, n=1)
    if near and len(known) > MAX_NAMES:
        return f"Did you mean {lower[near[0]]}?"
    return f"Write {known[0]}." if len(known) == 1 else f"Write {', '.join(known[:-1])} or {known[-1]}."


def _retyped(kind: str, value: Any) -> str:
    """What to do about a value of another type."""
    if value is None:
        return "Write one, or leave the field out."
    if isinstance(value, str):
        fits = UNQUOTED.get(kind.partition("_")[0])
        return "Remove the quotes." if fits and re.fullmatch(fits, value.strip()) else ""
    return "Put it in quotes." if kind == "string_type" and isinstance(value, int | float) else ""


def _names_at(model: type[BaseModel], place: Place) -> list[str]:
    """Names of the fields that may stand at a place."""
    here: list[Any] = [model]
    for part in place:
        # What has no such part is a form of a union, whose name pydantic puts into the place.
        here = [deeper for one in here for deeper in _parts(one, part)] or here
    return sorted({field.alias or name for one in here if _is_model(one) for name, field in one.model_fields.items()})


def _parts(annotation: Any, part: int | str) -> Iterator[Any]:
    if _is_model(annotation):
        for name, field in annotation.model_fields.items():
            if part in (name, field.alias):
                yield from _alternatives(field.annotation)
    elif isinstance(part, int) and get_origin(annotation) in (tuple, list):
        yield from (one for inner in get_args(annotation) if inner is not ... for one in _alternatives(inner))
    elif get_origin(annotation) is dict:
        yield from _alternatives(get_args(annotation)[1])


def _alternatives(annotation: Any) -> Iterable[Any]:
    """What a value may be, without what is only said about it."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [one for inner in get_args(annotation) for one in _alternatives(inner)]
    return [annotation]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
