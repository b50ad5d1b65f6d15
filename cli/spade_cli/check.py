"""`spade check FILE`: what the operator would say of a SpadeRun, and the settings it would run with."""

import json
import re
from typing import Any

from pydantic import ValidationError

from spade_contracts.config import MethodConfig
from spade_contracts.errors import InvalidInput
from spade_contracts.labels import BATCH_FAMILY_SUFFIX
from spade_contracts.resources import SpadeRunSpec
from spade_contracts.resources.run_parts import MAX_RUN_NAME
from spade_contracts.wrong_input import below, wrong_input
from spade_operator.preflight import outside
from spade_operator.reconcile import fabric
from spade_operator.reconcile.accept import PACKAGE, check

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
        sent = _as_sent(document.get("spec", {}))
        return SpadeRunSpec.model_validate_json(sent, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        raise wrong_input(error, SpadeRunSpec, below("spec")) from error


def _as_sent(spec: object) -> str:
    """A spec as the API server gets it, whose schema knows camelCase names alone and takes no text for a number.

    Raises InvalidInput for what JSON cannot say, such as a date or an object within itself.
    """
    try:
        return json.dumps(spec)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("spec", f"is nothing that JSON can say: {error}") from error


def resolved(document: dict[str, Any]) -> MethodConfig:
    """The settings that the run would be accepted with. Raises InvalidInput as the operator's acceptance does."""
    spec = checked_spec(document)
    check(spec)
    method = spec.method()
    _check_packages(spec.model.uri or "", method)
    return method


def demands(document: dict[str, Any]) -> tuple[str, ...]:
    """What a valid run wants of the installation beyond the ordinary, in words; only a cluster can tell whether it is
    there."""
    spec = checked_spec(document)
    return *fabric.demands(spec), *outside.demands(spec)


def _check_packages(model_uri: str, method: MethodConfig) -> None:
    """What preparation would refuse of the model and the corpus, where these are shipped and so lie here too.

    Raises InvalidInput. Nothing is looked at where the trainer's libraries are not installed.
    """
    try:
        from spade_trainer.design.corpus_index import index_corpus
        from spade_trainer.workers.model_source import checked_model
    except ModuleNotFoundError:
        return
    if model_uri.startswith(PACKAGE):
        checked_model(model_uri, method)
    if method.environments.corpus.uri.startswith(PACKAGE):
        index_corpus(method.environments.corpus)
