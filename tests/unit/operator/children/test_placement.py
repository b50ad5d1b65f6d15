"""A role's pods run where its settings say, in the words of Kubernetes; what is not said is left to the cluster."""

from typing import Any

import pytest
from tests.support.children import UID, make_pool, make_run, make_site, pool_workloads, workloads
from tests.support.pod_settings import PLACEMENT

from spade_contracts.resources.pods import SandboxPodSettings
from spade_operator.children.placement import placement

ROLES = {
    "prepare": "workers",
    "sandbox": "sandbox",
    "beacon": "workers",
    "engine": "engine",
    "learner": "learner",
    "design": "workers",
    "play": "workers",
}
"""Whose settings decide where a workload's pods run."""
FIELDS = {"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName"}


def pod(word: str, **spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = workloads(make_run(**spec), make_site())[word]["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("word", ROLES)
def test_what_nobody_wants_is_left_to_the_cluster(word: str) -> None:
    assert not FIELDS & pod(word).keys()


@pytest.mark.parametrize("word", ROLES)
def test_pods_run_where_their_role_says(word: str) -> None:
    spec = pod(word, **{ROLES[word]: {"pod": PLACEMENT}})
    wanted = FIELDS - {"topologySpreadConstraints"} if word == "beacon" else FIELDS
    assert wanted == FIELDS & spec.keys()
    assert spec["nodeSelector"] == {"example.com/pool": "gpu"}
    assert spec["priorityClassName"] == "training"
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "value": "rl"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    ]


@pytest.mark.parametrize("word", ["sandbox", "beacon", "verify"])
def test_pods_of_a_pool_run_where_it_says(word: str) -> None:
    pool = make_pool(pod=PLACEMENT, sandbox={"pod": PLACEMENT})
    spec = pool_workloads(pool, make_site())[word]["spec"]["template"]["spec"]
    assert spec["priorityClassName"] == "training"
    assert len(spec["tolerations"]) == 3


@pytest.mark.parametrize("word", [word for word in ROLES if word != "beacon"])
def test_a_role_is_spread_among_its_own_pods_of_this_run(word: str) -> None:
    found = workloads(make_run(**{ROLES[word]: {"pod": PLACEMENT}}), make_site())
    labels = {other: manifest["spec"]["template"]["metadata"]["labels"] for other, manifest in found.items()}
    zone, host = found[word]["spec"]["template"]["spec"]["topologySpreadConstraints"]
    selector = {"matchLabels": {"spade.dev/run": "mini", "spade.dev/run-uid": UID, "spade.dev/role": LABEL[word]}}
    assert zone == {
        "topologyKey": "topology.kubernetes.io/zone",
        "maxSkew": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    assert host["whenUnsatisfiable"] == "ScheduleAnyway"
    counted = {other for other, marks in labels.items() if selector["matchLabels"].items() <= marks.items()}
    assert counted == {other for other in labels if LABEL[other] == LABEL[word]}


LABEL = {word: {"design": "worker", "play": "worker"}.get(word, word) for word in ROLES}
"""The role that a workload's pods carry."""


def test_affinity_is_said_in_the_words_of_kubernetes() -> None:
    affinity = placement(SandboxPodSettings.model_validate(PLACEMENT), {})["affinity"]
    assert affinity["nodeAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["H100", "H200"]},
                        {"key": "example.com/broken", "operator": "DoesNotExist"},
                        {"key": "nvidia.com/gpu.count", "operator": "Gt", "values": ["3"]},
                    ]
                }
            ]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 10,
                "preference": {
                    "matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["a"]}]
                },
            }
        ],
    }
    assert affinity["podAffinity"] == {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 5,
                "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"spade.dev/role": "engine"}},
                },
            }
        ]
    }
    assert affinity["podAntiAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "noisy"}}}
        ]
    }
