"""Clusters around a run, in few words."""

from typing import Any

from tests.support.children import make_run, make_site

from spade_operator.preflight.plan import Plan, plan_of
from spade_operator.preflight.surroundings import Node, Quota, RuntimeClass, Surroundings, quantities

ROOMY = {"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "1Ti"}


def plan(**spec: Any) -> Plan:
    """Of a run with these fields (camelCase)."""
    return plan_of(make_run(**spec), make_site())


def node(name: str = "one", **changes: Any) -> Node:
    """A large node; `allocatable` names other amounts, or more."""
    allocatable = quantities({**ROOMY, **changes.pop("allocatable", {})})
    return Node(name, allocatable=allocatable, **changes)


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **changes: Any) -> Quota:
    """A ResourceQuota."""
    return Quota("small", quantities(hard), quantities(used or {}), **changes)


def cluster(**changes: Any) -> Surroundings:
    """One in which nothing is wrong, and all can be looked at."""
    known: dict[str, Any] = {
        "nodes": (node(),),
        "runtime_classes": {"gvisor": RuntimeClass("gvisor")},
        "priority_classes": frozenset({"batch"}),
        "storage_classes": {"fast": True},
        "quotas": (),
        "claims": {},
        "secrets": {},
        "config_maps": {},
        "proven_by": "earlier",
    }
    return Surroundings(**known | changes)
