"""A model of real size in room for the tiny one, and what must be let out, are told before anything starts."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.children import make_run, make_site
from tests.support.surroundings import cluster, plan

from spade_operator.children.resources import amount
from spade_operator.preflight.checks import of_level
from spade_operator.preflight.egress import check_egress
from spade_operator.preflight.findings import Finding, Level
from spade_operator.preflight.outside import demands
from spade_operator.preflight.plan import plan_of
from spade_operator.preflight.sizes import TINY_MEMORY, check_sizes, weights_of

VALUES = Path(__file__).parents[4] / "values.yaml"
HUB = {"model": {"uri": "hf:Qwen/Qwen3-4B", "revision": "0" * 40}}
LARGE = {"pod": {"resources": {"limits": {"memory": "64Gi"}}}}
ENDPOINT = {"source": "Endpoint", "endpoint": {"url": "https://host/v1", "model": "m"}}


def sizes(**spec: Any) -> list[str]:
    """What is said of sizes."""
    return [finding.words for finding in check_sizes(plan(**spec), cluster())]


def egress(site: dict[str, Any], **spec: Any) -> tuple[Finding, ...]:
    """What is said of the way out."""
    return tuple(check_egress(plan_of(make_run(**spec), make_site(**site)), cluster()))


def test_memory_of_the_tiny_model_is_that_of_the_chart() -> None:
    defaults = yaml.safe_load(VALUES.read_text())["defaultResources"]
    assert {amount(defaults[role]["limits"]["memory"]) for role in ("engine", "learner")} == {TINY_MEMORY}


@pytest.mark.parametrize(
    ("uri", "billions"),
    [
        ("hf:Qwen/Qwen3-4B", 4), ("hf:Qwen/Qwen3-30B-A3B", 30), ("file:///mnt/models/qwen3-0.6b/", 0.6),
        ("hf:org/model", None), ("file:///mnt/7B/model", None), ("hf:org/model-8bit", None),
    ],
)  # fmt: skip
def test_weights_are_guessed_from_the_parameters_in_a_name(uri: str, billions: float | None) -> None:
    assert weights_of(uri) == (None if billions is None else pytest.approx(billions * 2e9))


def test_real_model_in_the_chart_s_memory_for_the_tiny_one_is_told() -> None:
    first, *_ = sizes(**HUB)
    assert first == (
        "engine, learner pods have at most 5Gi of memory, which is the chart's default for the tiny model. The weights "
        "of hf:Qwen/Qwen3-4B take about 7.45Gi. Write spec.engine.pod.resources, spec.learner.pod.resources, or have "
        "defaultResources raised in the chart's values."
    )


def test_own_resources_and_the_tiny_model_are_no_matter() -> None:
    assert sizes(model={"uri": "file:///storage/model"}, engine=LARGE, learner=LARGE) == []
    assert sizes() == []


@pytest.mark.parametrize("placement", ["Disaggregated", "Colocated"])
def test_memory_is_that_of_each_container(placement: str) -> None:
    said = sizes(placement=placement, model={"uri": "file:///storage/model"})
    assert len(said) == 1
    assert "5Gi" in said[0]


def test_downloads_need_room_for_the_weights() -> None:
    (said,) = sizes(**HUB, engine=LARGE, learner=LARGE)
    assert said.startswith("The preparation's scratch volume holds 4Gi, less than the weights.")
    volume = {"mountPath": "/mnt/hub", "readOnly": False, "persistentVolumeClaim": {"claimName": "hub"}}
    assert sizes(**HUB, engine=LARGE, learner=LARGE, workers={"pod": {"volumes": [volume]}}) == []


def test_run_storage_and_staging_need_room_too() -> None:
    large = {"model": {"uri": "file:///mnt/models/Qwen3-30B-A3B"}, "engine": LARGE, "learner": LARGE}
    assert [text[:11] for text in sizes(**large)] == ["Run storage"]
    assert sizes(**large, storage={"size": "500Gi"}) == []
    bucket = {"s3": {"uri": "s3://spade/runs", "credentialsSecret": "bucket"}}
    assert [text[:13] for text in sizes(**large, storage=bucket)] == ["A pod's stagi"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (HUB, "the hub of Hugging Face (spec.model.uri)"),
        ({"environments": {"designer": ENDPOINT}}, "https://host/v1 (spec.environments.designer.endpoint)"),
        (
            {"storage": {"s3": {"uri": "s3://spade/runs", "credentialsSecret": "bucket"}}},
            "s3://spade/runs (spec.storage.s3)",
        ),
    ],
    ids=["hub", "endpoint", "bucket"],
)
def test_what_must_be_reached_is_told_and_whether_anything_is_let_out(spec: dict[str, Any], words: str) -> None:
    (closed,) = egress({}, **spec)
    assert closed.level is Level.WARNING
    assert words in closed.message
    assert "egress.cidrs" in closed.remedy
    (open_to_some,) = egress({"egress_cidrs": ("10.0.0.0/8",)}, **spec)
    assert open_to_some.level is Level.UNKNOWN
    (of_others,) = egress({"manage_network_policies": False}, **spec)
    assert of_others.level is Level.UNKNOWN
    assert words in demands(make_run(**spec).spec)[0]


def test_run_that_reaches_nothing_is_told_nothing() -> None:
    assert egress({}) == ()
    assert demands(make_run().spec) == ()
    assert not of_level(egress({}), Level.WARNING)
