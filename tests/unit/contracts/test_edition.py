"""An edition tells definitions apart that accept different things, and no others."""

from typing import Any

import pytest

from spade_contracts import __version__
from spade_contracts.labels import EDITION_ANNOTATION
from spade_contracts.resources.crd import CUSTOM_RESOURCES, CustomResource, definition
from spade_contracts.resources.edition import edition, read_edition

SCHEMA: dict[str, Any] = {
    "description": "words",
    "properties": {"description": {"type": "string", "maxLength": 9}, "title": {"type": "integer"}},
    "x-kubernetes-validations": [{"rule": "true", "message": "words"}],
}


@pytest.mark.parametrize("resource", CUSTOM_RESOURCES, ids=lambda resource: resource.kind)
def test_every_definition_says_its_edition_to_people_and_to_programs(resource: CustomResource) -> None:
    made = definition(resource)
    stamp = made["metadata"]["annotations"][EDITION_ANNOTATION]
    assert made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["title"] == stamp
    found = read_edition(stamp)
    assert found is not None
    assert (found.kind, found.version) == (resource.kind, __version__)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "better words"},
        {"x-kubernetes-validations": [{"rule": "true", "message": "better words"}]},
    ],
)
def test_better_words_are_no_other_edition(change: dict[str, Any]) -> None:
    assert edition("SpadeRun", SCHEMA | change) == edition("SpadeRun", SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"properties": {**SCHEMA["properties"], "description": {"type": "string", "maxLength": 10}}},
        {"properties": {"description": SCHEMA["properties"]["description"]}},
        {"x-kubernetes-validations": [{"rule": "false", "message": "words"}]},
    ],
)
def test_what_is_accepted_is_another_edition_also_in_fields_that_are_called_like_words(change: dict[str, Any]) -> None:
    assert edition("SpadeRun", SCHEMA | change) != edition("SpadeRun", SCHEMA)


@pytest.mark.parametrize("text", ["", "SpadeRun", "SpadeRun, SPADE 0.1.0, edition XYZ"])
def test_what_is_no_stamp_is_read_as_none(text: str) -> None:
    assert read_edition(text) is None
