"""`spade check --explain`: every setting of a run's method, its value, where that comes from, and what it means."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from spade_cli.check import checked_spec, resolved
from spade_contracts.config.method import Profile
from spade_contracts.config.profile import corrected_defaults, paper_defaults

Path = tuple[str, ...]
RANKS: Path = ("learner", "ranks")
LAYOUT: Path = ("learner", "parallelism")
"""How learner pods are laid out is no part of a profile."""
LIMITS = "limits"
"""Settings that stand below `sandbox` in a spec."""


class Source(StrEnum):
    """Where a value comes from."""

    FILE = "file"
    """The file says it."""
    PROFILE = "profile"
    """The defaults of the file's profile, for its domain."""
    DEFAULT = "default"
    """The setting's own default, the same in every profile."""


@dataclass(frozen=True)
class Setting:
    """One setting of a run."""

    place: str
    """Where it stands in `spec`, as users write it."""
    value: str
    source: Source
    meaning: str
    """What the API reference says of it."""


def explained(document: Mapping[str, Any]) -> tuple[Setting, ...]:
    """The settings that a SpadeRun would be accepted with, in the order of the models.

    Raises InvalidInput as `spade check` does.
    """
    method = resolved(dict(document))
    written = dict(
        _leaves(checked_spec(dict(document)).model_dump(exclude_unset=True, exclude_none=True, by_alias=False))
    )
    defaults = paper_defaults if method.profile is Profile.PAPER else corrected_defaults
    profiled = dict(_leaves(defaults(method.environments.domain)))

    def source(path: Path) -> Source:
        if any(place in written for place in _spec_places(path)):
            return Source.FILE
        of_profile = path in profiled and path != RANKS and path[:2] != LAYOUT
        return Source.PROFILE if of_profile else Source.DEFAULT

    return tuple(
        Setting(" x ".join(map(_written, _spec_places(path))), _text(value), source(path), meaning)
        for path, value, meaning in _fields(method)
    )


def lines(settings: tuple[Setting, ...]) -> Iterator[str]:
    """Two lines a setting: what it is, and what it means."""
    for setting in settings:
        yield f"{setting.place}: {setting.value}  ({setting.source})"
        yield f"    {setting.meaning}"


def _fields(model: BaseModel, above: Path = ()) -> Iterator[tuple[Path, Any, str]]:
    """Path of field names, value and meaning of every setting below a model."""
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _fields(value, (*above, name))
        else:
            yield (*above, name), value, " ".join((info.description or "").split())


def _spec_places(path: Path) -> tuple[Path, ...]:
    """Where a spec says a setting."""
    if path == RANKS:
        return (("learner", "nodes"), ("learner", "ranks_per_node"))
    return (("sandbox", *path),) if path[0] == LIMITS else (path,)


def _leaves(value: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values that are no dictionaries, by field names."""
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*above, name))
        else:
            yield (*above, name), inner


def _written(path: Path) -> str:
    """A path as users write it."""
    return ".".join(map(to_camel, path))


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value) or "empty"
