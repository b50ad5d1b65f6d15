"""From JSON text to a checked document, and from a document to settings; what is wrong is told with its path."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.partial import given
from spade_contracts.errors import InvalidInput
from spade_contracts.wrong_input import wrong_input
from spade_trainer.scoring.documents import KEYED, MANY, ONE, Head

M = TypeVar("M", bound=BaseModel)
ROOT = "$"
FORMS = frozenset({ONE, MANY, KEYED})


def read(text: str, model: type[M]) -> M:
    """The document. Raises InvalidInput that names the JSON path of the first wrong value."""
    try:
        content = json.loads(text, parse_constant=_refused, object_pairs_hook=_once)
    except RecursionError as error:
        raise InvalidInput(ROOT, "is nested too deeply") from error
    except ValueError as error:
        raise InvalidInput(ROOT, f"is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidInput(ROOT, "is no JSON object", remedy="docs/scoring.md shows the format.")
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise wrong_input(error, model, path_of, both_spellings=True) from error


def settings_of(document: Head) -> MethodConfig:
    """The profile's settings with the document's laid over them. Raises InvalidInput with the path of what is wrong."""
    patch = given(document.settings)
    patch.setdefault("environments", {})["domain"] = document.domain
    try:
        return resolve(document.profile, patch)
    except InvalidInput as error:
        below = [to_camel(part) for part in error.where.split(".")[1:]]
        told = str(error).removeprefix(f"{error.where}: ")
        raise InvalidInput(".".join([ROOT, "settings", *below]), told) from error


def require_unique(where: str, names: Iterable[str]) -> None:
    """Raise InvalidInput if a name is there twice."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            raise InvalidInput(f"{ROOT}.{where}[{position}].id", f"{name!r} is there twice; give each its own")
        seen.add(name)


def path_of(parts: Sequence[int | str]) -> str:
    """A place in a document as a JSON path: `$.environments[2].unhinted`."""
    shown = (part for part in parts if part not in FORMS)
    return ROOT + "".join(f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in shown)


def _printable(name: str) -> str:
    """A name of the file as it is; in quotes and escaped where it is empty, breaks the line or speaks to a terminal."""
    return name if name and name.isprintable() else json.dumps(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object each of whose names is there once; of two values of one name nobody knows which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the name {json.dumps(twice)} is there twice in one object")
    return found


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
