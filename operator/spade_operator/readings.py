"""Specs and statuses of our kinds as models, each content validated once for as long as its object keeps it.

What is remembered is used only for content that is equal to the one that it was made of, so it cannot be out of date.
(Python takes 1 and true for equal; a field cannot change between them, because the definitions fix its type.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from spade_contracts.config import MethodConfig
from spade_contracts.errors import InvalidInput
from spade_contracts.resources import SpadeRunSpec
from spade_contracts.wrong_input import below, wrong_input
from spade_operator.containers import Raw
from spade_operator.remembered import Remembered

REMEMBERED = 16_384
"""Parts of objects, the latest used."""
Part = Literal["spec", "status"]
Made = TypeVar("Made")
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class RunSpec:
    """A SpadeRun's spec. `spec` and `method` are None exactly when `problem` says why."""

    spec: SpadeRunSpec | None
    method: MethodConfig | None
    problem: str


class Readings:
    """What the parts of objects were read as last. Contents must be JSON that nobody changes."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._known: Remembered[tuple[str, str], Raw, Any] = Remembered(remembered)

    def read(self, uid: str, part: Part, content: Raw, make: Callable[[Raw], Made]) -> Made:
        """What `make`, always the same for a part, makes of this content of an object's part."""
        made: Made = self._known.made((uid, part), content, lambda: make(content))
        return made

    def forget(self, uid: str) -> None:
        """The object was deleted."""
        for part in get_args(Part):
            self._known.forget((uid, part))


def run_spec(content: Raw) -> RunSpec:
    """A SpadeRun's spec with its resolved settings, or what is wrong with it."""
    try:
        spec = SpadeRunSpec.model_validate(content)
        return RunSpec(spec, spec.method(), "")
    except ValidationError as error:
        return RunSpec(None, None, str(wrong_input(error, SpadeRunSpec, below("spec"))))
    except InvalidInput as error:
        return RunSpec(None, None, str(error))


def status_of(model: type[Model], content: Raw) -> tuple[Model, str]:
    """A status, and what in it cannot be read: there are then its conditions alone, as far as those can be."""
    # Fields that a newer operator wrote are not ours to judge.
    known = {f.alias or name for name, f in model.model_fields.items()}
    content = {name: value for name, value in content.items() if name in known}
    try:
        return model.model_validate(content), ""
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["status", *(str(part) for part in first["loc"])])
    try:
        return model.model_validate({"conditions": content.get("conditions") or ()}), f"{where}: {first['msg']}"
    except ValidationError:
        return model(), f"{where}: {first['msg']}"
