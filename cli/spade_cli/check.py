"""`spade check FILE`: what the operator would say of a SpadeRun, and the settings it would run with."""

import re
from typing import Any

from pydantic import ValidationError

from spade_contracts.config import MethodConfig
from spade_contracts.errors import InvalidInput
from spade_contracts.labels import BATCH_FAMILY_SUFFIX
from spade_contracts.resources import SpadeRunSpec
from spade_contracts.resources.run_parts import MAX_RUN_NAME
from spade_operator.reconcile.accept import check

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def checked_spec(document: dict[str, Any]) -> SpadeRunSpec:
    """The spec of a SpadeRun document. Raises InvalidInput with the path of the first wrong field."""
    if document.get("kind") != "SpadeRun":
        raise InvalidInput("kind", f"{document.get('kind')!r} cannot be checked; write a SpadeRun")
    name = str(document.get("metadata", {}).get("name", ""))
    if len(name) > MAX_RUN_NAME or not NAME.fullmatch(name):
        remedy = f"Use at most {MAX_RUN_NAME} lower-case letters, digits and dashes, beginning with a letter."
        raise InvalidInput("metadata.name", f"{name!r} makes no names of pods and services.", remedy=remedy)
    if name.endswith(BATCH_FAMILY_SUFFIX):
        remedy = f"Use a name that does not end in {BATCH_FAMILY_SUFFIX}."
        raise InvalidInput("metadata.name", f"{name!r} is kept for the pods of a stand-alone EnvBatch.", remedy=remedy)
    try:
        return SpadeRunSpec.model_validate(document.get("spec", {}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["spec", *(str(part) for part in first["loc"])])
        raise InvalidInput(where, str(first["msg"]).removeprefix("Value error, ")) from error


def resolved(document: dict[str, Any]) -> MethodConfig:
    """The settings that the run would be accepted with. Raises InvalidInput as the operator's acceptance does."""
    spec = checked_spec(document)
    check(spec)
    return spec.method()
