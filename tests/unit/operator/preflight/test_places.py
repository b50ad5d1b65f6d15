"""A node takes a pod when its labels and taints let it, as the scheduler would say."""

from typing import Any

import pytest
from tests.support.surroundings import cluster, node, plan

from spade_contracts.labels import Role
from spade_operator.preflight.places import places
from spade_operator.preflight.surroundings import RuntimeClass, Taint

GPU = Taint("gpu", "yes", "NoSchedule")


def taken(settings: dict[str, Any], **about: Any) -> bool:
    """Whether a node takes the engine pods of a run with these settings."""
    wanted = plan(engine={"pod": settings})
    (engine,) = (pods for pods in wanted.pods if pods.role is Role.ENGINE)
    return bool(places(wanted, engine, cluster(nodes=(node(**about),))))


def wants(key: str, operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": key, "operator": operator, "values": list(values)}
    return {"affinity": {"nodeAffinity": {"required": [expression]}}}


@pytest.mark.parametrize(
    ("settings", "about", "takes"),
    [
        ({}, {}, True),
        ({"nodeSelector": {"gpu": "h200"}}, {"labels": {"gpu": "h200"}}, True),
        ({"nodeSelector": {"gpu": "h200"}}, {"labels": {"gpu": "l4"}}, False),
        (wants("gpu", "In", "h200", "h100"), {"labels": {"gpu": "h100"}}, True),
        (wants("gpu", "NotIn", "l4"), {}, True),
        (wants("gpu", "Exists"), {}, False),
        (wants("gpu", "DoesNotExist"), {"labels": {"gpu": "l4"}}, False),
        (wants("memory", "Gt", "40"), {"labels": {"memory": "80"}}, True),
        (wants("memory", "Gt", "80"), {"labels": {"memory": "80"}}, False),
        (wants("memory", "Lt", "80"), {"labels": {"memory": "much"}}, False),
        ({}, {"taints": (GPU,)}, False),
        ({}, {"taints": (Taint("gpu", "yes", "PreferNoSchedule"),)}, True),
        ({"tolerations": [{"key": "gpu", "value": "yes"}]}, {"taints": (GPU,)}, True),
        ({"tolerations": [{"key": "gpu", "value": "no"}]}, {"taints": (GPU,)}, False),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, {"taints": (GPU,)}, True),
        ({"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]}, {"taints": (GPU,)}, False),
    ],
)
def test_labels_and_taints_decide(settings: dict[str, Any], about: dict[str, Any], takes: bool) -> None:
    assert taken(settings, **about) == takes


def test_runtime_class_adds_its_own_for_sandbox_pods_only() -> None:
    wanted = plan()
    tolerations = ({"key": "gpu", "operator": "Exists"},)
    around = cluster(
        nodes=(node("gvisor", labels={"gvisor": "yes"}, taints=(GPU,)), node("plain")),
        runtime_classes={"gvisor": RuntimeClass("gvisor", {"gvisor": "yes"}, tolerations)},
    )
    where = {pods.role: [n.name for n in places(wanted, pods, around)] for pods in wanted.pods}
    assert where[Role.SANDBOX] == ["gvisor"]
    assert where[Role.BEACON] == where[Role.ENGINE] == ["plain"]
