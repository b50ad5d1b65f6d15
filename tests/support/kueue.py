"""What Kueue's controllers write into Workloads, for tests that play them."""

from typing import Any

from spade_operator.kube import Object
from spade_operator.reconcile.steps import WorkloadMark as Mark

FLAVOR = "spot"
PLACE = {"nodeLabels": {"example.com/pool": "spot"}, "tolerations": [{"key": "example.com/spot", "operator": "Exists"}]}
"""Spec of the ResourceFlavor."""
WAITS = (
    Mark(
        "QuotaReserved", False, "Pending", "couldn't assign flavors: insufficient unused quota for cpu in flavor spot"
    ),
)
ADMITTED = (
    Mark("QuotaReserved", True, "QuotaReserved", "Quota reserved in ClusterQueue team"),
    Mark("Admitted", True, "Admitted", "The workload is admitted"),
)
PREEMPTED = (Mark("Evicted", True, "Preempted", "Preempted to accommodate a workload of higher priority"),)
READMITTED = (Mark("Evicted", False, "QuotaReserved", "Previously: preempted"), *ADMITTED)


def admission(workload: Object) -> dict[str, Any]:
    """Every pod set in one flavor."""
    assignments = [
        {"name": one["name"], "flavors": {"cpu": FLAVOR}, "count": one["count"]} for one in workload["spec"]["podSets"]
    ]
    return {"clusterQueue": "team", "podSetAssignments": assignments}
