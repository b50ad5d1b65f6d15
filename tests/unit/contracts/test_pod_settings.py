"""What a user says about pods is bounded, fits together and takes no name that others go by."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.support.pod_settings import (
    ADDITIONS,
    ADDITIONS_OUT_OF_BOUNDS,
    BAD_ADDITIONS,
    BAD_PLACEMENT,
    EVERYTHING,
    OUT_OF_BOUNDS,
    PLACEMENT,
)

from spade_contracts.resources import reserved
from spade_contracts.resources.pods import PodSettings, SandboxPodSettings
from spade_contracts.resources.reserved import Reserved
from spade_contracts.resources.run_parts import SandboxSpec
from spade_contracts.resources.volumes import PodVolume

BAD = BAD_PLACEMENT | BAD_ADDITIONS
BOUNDS = OUT_OF_BOUNDS | ADDITIONS_OUT_OF_BOUNDS


def test_trusted_roles_take_everything() -> None:
    settings = PodSettings.model_validate(EVERYTHING)
    assert settings.model_dump(mode="json", exclude_defaults=True).keys() == EVERYTHING.keys()


def test_sandbox_pods_take_placement() -> None:
    settings = SandboxPodSettings.model_validate(PLACEMENT)
    assert settings.model_dump(mode="json", exclude_defaults=True).keys() == PLACEMENT.keys()


@pytest.mark.parametrize("field", ADDITIONS)
def test_what_would_open_a_sandbox_pod_does_not_exist_for_it(field: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        SandboxPodSettings.model_validate({field: ADDITIONS[field]})


@pytest.mark.parametrize("part", ["requests", "limits"])
def test_sandbox_pods_have_no_devices(part: str) -> None:
    for name in ("nvidia.com/gpu", "rdma/hca", "devices.kubevirt.io/kvm"):
        with pytest.raises(ValidationError, match="sandbox pods have no devices"):
            SandboxSpec.model_validate({"pod": {"resources": {part: {name: "1"}}}})
    plain = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
    assert SandboxSpec.model_validate({"pod": {"resources": {part: plain}}})


@pytest.mark.parametrize("case", BAD)
def test_settings_that_do_not_fit_are_refused_with_what_to_write(case: str) -> None:
    settings, message = BAD[case]
    with pytest.raises(ValidationError, match=re.escape(message)):
        PodSettings.model_validate(settings)


def located(error: ValidationError) -> list[str]:
    """Paths of the wrong fields, as the API server writes them."""
    paths = (
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"]) for one in error.errors()
    )
    return [path.removeprefix(".").removesuffix(".[key]") for path in paths]


@pytest.mark.parametrize("case", BOUNDS)
def test_settings_out_of_bounds_are_refused_by_their_path(case: str) -> None:
    settings, where = BOUNDS[case]
    with pytest.raises(ValidationError) as caught:
        PodSettings.model_validate(settings)
    assert any(where in path for path in located(caught.value))


FAMILIES: dict[str, Iterable[Reserved]] = {
    "environment": reserved.ENVIRONMENT,
    "labels": reserved.LABELS,
    "annotations": reserved.ANNOTATIONS,
}


@pytest.mark.parametrize("field", FAMILIES)
@given(data=st.data())
def test_every_reserved_name_is_refused(field: str, data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(tuple(FAMILIES[field])))
    name = data.draw(st.sampled_from(family.names))
    filled = "".join(data.draw(st.from_regex(r"\A[A-Za-z][A-Za-z0-9]{0,7}\Z")) if c == "*" else c for c in name)
    if field != "environment":
        domain, _, last = filled.partition("/")
        filled = f"{domain.lower()}/{last}"
    assert family.holds(filled)
    first = next(one for one in FAMILIES[field] if one.holds(filled))
    with pytest.raises(ValidationError, match=re.escape(first.why)):
        PodSettings.model_validate({field: {filled: "x"}})


@given(
    st.from_regex(r"\AAPP_[A-Z0-9_]{0,20}\Z"), st.from_regex(r"\A[a-z][a-z0-9]{0,10}\.example\.com/[A-Za-z]{1,20}\Z")
)
def test_names_of_ones_own_are_taken(variable: str, key: str) -> None:
    settings = PodSettings.model_validate(
        {"environment": {variable: ""}, "labels": {key: "x"}, "annotations": {key: "any text"}}
    )
    assert settings.environment == {variable: ""}


def test_a_refusal_names_the_guilty_and_no_others() -> None:
    with pytest.raises(
        ValidationError, match=r"error, PATH, PYTHONHOME may not be set, because they change which code"
    ):
        PodSettings.model_validate({"environment": {"PATH": "a", "GOOD": "b", "PYTHONHOME": "c"}})


@pytest.mark.parametrize(
    ("volume", "read_only"),
    [
        ({"persistentVolumeClaim": {"claimName": "a"}}, True),
        ({"persistentVolumeClaim": {"claimName": "a"}, "readOnly": False}, False),
        ({"configMap": {"name": "a"}}, True),
        ({"secret": {"secretName": "a"}}, True),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, False),
        ({"emptyDir": {"sizeLimit": "1Gi"}, "readOnly": True}, True),
    ],
)
def test_volumes_are_read_only_unless_they_say_otherwise_or_begin_empty(
    volume: dict[str, Any], read_only: bool
) -> None:
    assert PodVolume.model_validate({"mountPath": "/mnt/a", **volume}).is_read_only is read_only


def test_a_companion_pod_gets_the_place_and_nothing_else() -> None:
    placed = PodSettings.model_validate(EVERYTHING).placement()
    kept = {"nodeSelector", "tolerations", "affinity", "priorityClassName"}
    assert placed.model_dump(mode="json", exclude_defaults=True).keys() == kept
