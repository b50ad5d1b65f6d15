"""What the API server says of a cluster, in short."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_operator.children.resources import amount
from spade_operator.preflight.findings import shown
from spade_operator.preflight.surroundings import (
    Taint,
    node_of,
    quantity,
    quota_of,
    runtime_classes_of,
    storage_classes_of,
)

NODE = {
    "metadata": {"name": "one", "labels": {"gpu": "h200"}},
    "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "3920m", "memory": "15Gi", "nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "images": [{"names": ["docker.io/spade/worker:1"]}, {}],
    },
}


@pytest.mark.parametrize(
    ("text", "value"),
    [("250m", "0.25"), ("16Gi", str(16 * 2**30)), ("1e3", "1000"), ("12e6Ki", str(12 * 10**6 * 1024)), 
     ("5u", "0.000005"), ("2Pi", str(2 * 2**50)), (".5", "0.5"), ("8", "8"), ("much", "0"), ("", "0")],
)  # fmt: skip
def test_every_quantity_of_kubernetes_is_read(text: str, value: str) -> None:
    assert quantity(text) == Decimal(value)


@given(st.integers(0, 10**6), st.sampled_from(["m", "k", "M", "G", "Ki", "Mi", "Gi", ""]))
def test_quantities_are_read_as_those_of_a_spec(number: int, suffix: str) -> None:
    assert quantity(f"{number}{suffix}") == amount(f"{number}{suffix}")


def test_node_that_takes_pods_is_kept_in_short() -> None:
    node = node_of(NODE)
    assert node is not None
    assert (node.name, node.labels, node.taints) == ("one", {"gpu": "h200"}, (Taint("gpu", "", "NoSchedule"),))
    assert node.allocatable["nvidia.com/gpu"] == 8
    assert node.images == {"docker.io/spade/worker:1"}


def test_node_that_is_cordoned_or_silent_takes_none() -> None:
    assert node_of(NODE | {"spec": {"unschedulable": True}}) is None
    assert node_of(NODE | {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}) is None


@pytest.mark.parametrize(
    ("spec", "applies"),
    [
        ({}, True),
        ({"scopes": ["NotBestEffort", "NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass"}]}}, False),
    ],
)
def test_quota_holds_for_all_pods_or_only_for_some(spec: dict[str, object], applies: bool) -> None:
    quota = quota_of({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}, **spec}, "status": {}})
    assert (quota.hard["pods"], quota.applies) == (2, applies)


def test_classes_are_told_with_what_matters() -> None:
    (found,) = runtime_classes_of(
        [{"metadata": {"name": "gvisor"}, "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k"}]}}]
    ).values()
    assert (found.node_selector, found.tolerations) == ({"a": "b"}, ({"key": "k"},))
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    items = [{"metadata": {"name": "slow"}}, {"metadata": {"name": "fast", "annotations": default}}]
    assert storage_classes_of(items) == {"slow": False, "fast": True}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [("memory", "1536Mi", "1.5Gi"), ("requests.memory", "100Mi", "100Mi"), ("cpu", "1110m", "1110m"),
     ("pods", "5", "5"), ("limits.cpu", "2", "2"), ("requests.storage", "2Ti", "2048Gi")],
)  # fmt: skip
def test_amounts_are_told_as_people_write_them(name: str, text: str, words: str) -> None:
    assert shown(name, quantity(text)) == words
