"""What is wrong with a user's file is told with its place, the value that was given, and what to write."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from spade_contracts.resources import SpadeRunSpec
from spade_contracts.resources.patterns import fitting
from spade_contracts.resources.scalars import QUANTITY_PATTERN
from spade_contracts.wrong_input import MAX_OTHERS, below, shown, wrong_input

GOOD: Mapping[str, Any] = {"model": {"uri": "package:tiny"}, "rollouts": 4}


def told(spec: Mapping[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        SpadeRunSpec.model_validate_json(json.dumps(spec), strict=True, by_alias=True, by_name=False)
    return str(wrong_input(caught.value, SpadeRunSpec, below("spec")))


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"rolouts": 4}, "spec.rolouts: is no field. Did you mean rollouts?"),
        ({"environments": {"per_cycle": 6}}, "spec.environments.per_cycle: is no field. Did you mean perCycle?"),
        ({"model": {"url": "x"}}, "spec.model.url: is no field. Did you mean uri?"),
        ({"model": {"zzz": "x"}}, "spec.model.zzz: is no field. Fields here: fromRun, revision, uri."),
        ({"environments": {"corpus": {"url": "x"}}}, "spec.environments.corpus.url: is no field. Did you mean uri?"),
        (
            {"learner": {"pod": {"tolerations": [{"efect": "x"}]}}},
            "spec.learner.pod.tolerations.0.efect: is no field. Did you mean effect?",
        ),
        (
            {"environments": {"perCycle": "6"}},
            'spec.environments.perCycle: is "6", not a whole number. Remove the quotes.',
        ),
        ({"environments": {"perCycle": "six"}}, 'spec.environments.perCycle: is "six", not a whole number'),
        ({"environments": {"perCycle": True}}, "spec.environments.perCycle: is true, not a whole number"),
        ({"environments": {"perCycle": 0}}, "spec.environments.perCycle: is 0. Write at least 1."),
        ({"rollouts": 1.5}, "spec.rollouts: is 1.5, not a whole number"),
        ({"rollouts": None}, "spec.rollouts: is null, not a whole number. Write one, or leave the field out."),
        ({"rewards": {"regretScale": "0.1"}}, 'spec.rewards.regretScale: is "0.1", not a number. Remove the quotes.'),
        ({"rewards": {"regretFloor": "yes"}}, 'spec.rewards.regretFloor: is "yes", not true or false'),
        ({"profile": "paper"}, 'spec.profile: is "paper". Write Corrected or Paper.'),
        ({"model": "package:tiny"}, 'spec.model: is "package:tiny", not a map of fields'),
        ({"environments": {"skills": "Optimization"}}, 'spec.environments.skills: is "Optimization", not a list'),
        ({"environments": {"skills": [5]}}, "spec.environments.skills.0: is 5, not text. Put it in quotes."),
        ({"storage": {"size": "5GB"}}, 'spec.storage.size: is "5GB". Write 5G or 5Gi.'),
        ({"storage": {"size": "viel"}}, 'spec.storage.size: is "viel". Write a number with one of the units m, k'),
        (
            {"storage": {"s3": {"uri": "https://b", "credentialsSecret": "s"}}},
            'spec.storage.s3.uri: is "https://b". Write s3://BUCKET or s3://BUCKET/PREFIX',
        ),
        ({"engine": {"pod": {"labels": {"a b": "x"}}}}, "spec.engine.pod.labels.a b: is \"a b\". Write a key as NAME"),
        ({"environments": {"designer": {"pool": {"sha256": "ab"}}}}, "Write 64 hexadecimal digits in small letters."),
        ({"seed": -1}, "spec.seed: is -1. Write at least 0."),
    ],
)  # fmt: skip
def test_mistake_is_told_with_its_value_and_what_to_write(part: dict[str, Any], says: str) -> None:
    text = told({**GOOD, **part})
    assert says in text
    assert "Input should" not in text
    assert text.endswith((".", "?", "number", "false", "list", "fields"))


def test_misspelt_field_is_told_before_the_one_that_is_missing() -> None:
    text = told({"model": {"uri": "x"}, "rolouts": 4})
    assert text == (
        "spec.rolouts: is no field. Did you mean rollouts? Also wrong: spec.rollouts: is missing. Write it."
    )  # fmt: skip


def test_many_mistakes_are_cut_to_a_few() -> None:
    text = told({**GOOD, **{f"unknown{number}": 1 for number in range(20)}})
    assert text.count("is no field") == 1 + MAX_OTHERS


class Short(BaseModel):
    """Bounds of texts and lists."""

    name: Annotated[str, Field(min_length=2, max_length=3)]
    rows: Annotated[tuple[int, ...], Field(max_length=1)] = ()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"name": "abcd"}, "$.name: has 4 characters. Write at most 3."),
        ({"name": "a"}, "$.name: has 1 characters. Write at least 2."),
        ({"name": "ab", "rows": (1, 2)}, "$.rows: has 2 entries. Write at most 1."),
    ],
)
def test_length_is_told_with_its_bound(content: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Short.model_validate(content)
    assert str(wrong_input(caught.value, Short, below("$"))) == says


@pytest.mark.parametrize(
    ("value", "says"),
    [("5GB", "Write 5G or 5Gi."), ("64 gib", "Write 64Gi."), ("500mb", "Write 500M or 500Mi."),
     ("1.5TB", "Write 1.5T or 1.5Ti."), ("10KB", "Write 10k or 10Ki.")],
)  # fmt: skip
def test_size_as_people_write_it_is_told_as_a_quantity(value: str, says: str) -> None:
    assert fitting(value, QUANTITY_PATTERN) == says


def test_password_in_an_address_is_not_shown() -> None:
    assert shown("https://key:secret@host/v1") == '"https://…@host/v1"'


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_value_is_shown_on_one_short_line(value: Any) -> None:
    text = shown(value)
    assert text.isprintable()
    assert len(text) <= 61


@given(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=8), max_size=4))
def test_any_spec_is_judged_without_a_fault(extra: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        SpadeRunSpec.model_validate({**GOOD, "environments": {**extra, "perCycle": 0}})
    assert str(wrong_input(caught.value, SpadeRunSpec, below("spec"))).startswith("spec.environments.")
