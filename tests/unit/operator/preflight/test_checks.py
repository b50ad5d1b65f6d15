"""What a run needs and a cluster lacks is told before the run starts, with the way to mend it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.children import make_site
from tests.support.surroundings import cluster, node, plan, quota

from spade_contracts.resources import Reason
from spade_contracts.resources.spade_run import SpadeRunSpec
from spade_operator.children.owner import Run
from spade_operator.preflight.checks import check_all, of_level
from spade_operator.preflight.findings import Finding, Level
from spade_operator.preflight.plan import Plan, plan_of
from spade_operator.preflight.surroundings import Claim, RuntimeClass, Surroundings, Taint

EXAMPLES = Path(__file__).parents[4] / "examples"
FREE = {"accessMode": "ReadWriteMany"}


def found(level: Level, wanted: Plan | None = None, **around: Any) -> tuple[Finding, ...]:
    return of_level(check_all(wanted or plan(), cluster(**around)), level)


def only(findings: tuple[Finding, ...]) -> Finding:
    (one,) = findings
    return one


def test_cluster_that_has_everything_is_fine() -> None:
    assert not found(Level.PROBLEM)
    assert not found(Level.WARNING)
    assert {finding.about for finding in found(Level.FINE)} >= {"RuntimeClass", "storage", "quota", "nodes", "network"}
    assert [finding.about for finding in found(Level.UNKNOWN)] == ["images"], "nodes tell of some images only"


def test_secret_of_a_bucket_that_is_missing_is_told_with_its_field() -> None:
    bucket = {"s3": {"uri": "s3://spade/runs", "credentialsSecret": "bucket"}}
    problem = only(found(Level.PROBLEM, plan(storage=bucket), secrets={"bucket": None}))
    assert problem.words == (
        "Secret bucket does not exist in the run's namespace. Make it, or correct its name in "
        "spec.storage.s3.credentialsSecret."
    )


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_of_a_run_has_a_plan_and_an_answer_to_each_check(example: Path) -> None:
    documents = [d for d in yaml.safe_load_all(example.read_text(encoding="utf-8")) if d and d["kind"] == "SpadeRun"]
    for document in documents:
        wanted = plan_of(Run("default", "mini", "u", SpadeRunSpec.model_validate(document["spec"])), make_site())
        for around in (cluster(), cluster(nodes=(), quotas=(quota({"limits.memory": "1Ti", "cpu": "1"}),))):
            assert {finding.about for finding in check_all(wanted, around)} >= {"quota", "nodes", "images"}


def test_what_cannot_be_looked_at_is_said_and_is_no_fault() -> None:
    wanted = plan(
        engine={"pod": {"priorityClassName": "batch"}},
        workers={"pod": {"secretEnvironment": {"TOKEN": {"secret": "hub", "key": "token"}}}},
    )
    findings = check_all(wanted, Surroundings())
    assert {finding.level for finding in findings} == {Level.UNKNOWN}
    assert {finding.about for finding in findings} == {
        "RuntimeClass", "PriorityClass", "storage", "names", "quota", "nodes", "images", "network"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "around", "reason", "says"),
    [
        ({}, {"runtime_classes": {}}, Reason.RUNTIME_CLASS_MISSING, "sandbox.runtimeClassName"),
        ({"learner": {"pod": {"priorityClassName": "urgent"}}}, {}, Reason.PRIORITY_CLASS_MISSING,
         "spec.learner.pod.priorityClassName"),
        ({"storage": {"claimName": "mine"}}, {}, Reason.STORAGE_UNAVAILABLE, "spec.storage.claimName"),
        ({}, {"claims": {"mini-storage": Claim("Lost", ())}}, Reason.STORAGE_UNAVAILABLE, "restore it"),
        ({"storage": {"storageClassName": "slow"}}, {}, Reason.STORAGE_UNAVAILABLE, "spec.storage.storageClassName"),
        ({"workers": {"pod": {"secretEnvironment": {"TOKEN": {"secret": "hub", "key": "token"}}}}},
         {"secrets": {"hub": None}}, Reason.INVALID_CONFIGURATION, "Secret hub does not exist"),
        ({"workers": {"pod": {"secretEnvironment": {"TOKEN": {"secret": "hub", "key": "token"}}}}},
         {"secrets": {"hub": frozenset({"other"})}}, Reason.INVALID_CONFIGURATION, "has no key token"),
        ({"engine": {"pod": {"volumes": [{"mountPath": "/mnt/x", "configMap": {"name": "x"}}]}}},
         {"config_maps": {"x": None}}, Reason.INVALID_CONFIGURATION, "ConfigMap x does not exist"),
        ({}, {"quotas": (quota({"requests.cpu": "1"}),)}, Reason.QUOTA_EXCEEDED,
         "requests.cpu 1110m is needed, 1 is there"),
    ],
)  # fmt: skip
def test_what_can_never_work_is_a_problem(
    spec: dict[str, Any], around: dict[str, Any], reason: Reason, says: str
) -> None:
    problem = only(found(Level.PROBLEM, plan(**spec), **around))
    assert problem.reason is reason
    assert says in problem.words
    assert problem.remedy.endswith((".", ")."))


@pytest.mark.parametrize(
    ("spec", "around", "says"),
    [
        ({}, {"runtime_classes": {"gvisor": RuntimeClass("gvisor", {"gvisor": "yes"})}}, "nodes with gvisor=yes"),
        ({}, {"nodes": (node(taints=(Taint("gpu", "yes", "NoSchedule"),)),)}, "roles: prepare, sandbox"),
        ({"engine": {"pod": {"nodeSelector": {"gpu": "h200"}}}}, {}, "No node takes pods of these roles: engine."),
        ({"learner": {"pod": {"resources": {"limits": {"nvidia.com/gpu": "8"}}}}},
         {"nodes": (node(allocatable={"nvidia.com/gpu": "4"}),)}, "nvidia.com/gpu 8 is needed, 4 is there"),
        ({"engine": {"replicas": 3, "pod": {"resources": {"limits": {"nvidia.com/gpu": "4"}}}}, "storage": FREE},
         {"nodes": (node(allocatable={"nvidia.com/gpu": "8"}),)}, "nvidia.com/gpu 12 is needed, 8 is there"),
        ({}, {"nodes": tuple(node(name, allocatable={"cpu": "500m"}) for name in "abc")}, "must share one node"),
        ({"sandbox": {"maxPods": 500}}, {}, "spec.sandbox.maxPods"),
        ({"storage": {"size": "1Gi"}}, {"storage_classes": {"slow": False}}, "No StorageClass is the default"),
        ({}, {"quotas": (quota({"pods": "6"}, {"pods": "4"}),)}, "pods 5 is needed, 2 is there"),
        ({}, {"quotas": (quota({"limits.cpu": "100"}),)}, "must state it"),
        ({"storage": {"size": "20Gi"}},
         {"quotas": (quota({"requests.storage": "30Gi"}, {"requests.storage": "15Gi"}),)},
         "requests.storage 20Gi is needed, 15Gi is there"),
    ],
)  # fmt: skip
def test_what_may_pass_by_itself_is_a_warning(spec: dict[str, Any], around: dict[str, Any], says: str) -> None:
    wanted = plan(**spec)
    assert not found(Level.PROBLEM, wanted, **around)
    warnings = found(Level.WARNING, wanted, **around)
    assert any(says in warning.words for warning in warnings), warnings
    assert all(warning.remedy for warning in warnings)


def test_shared_storage_lets_pods_spread() -> None:
    nodes = tuple(node(name, allocatable={"cpu": "500m"}) for name in "abcd")
    assert not found(Level.WARNING, plan(storage=FREE), nodes=nodes)
    claims = {"mini-storage": Claim("Bound", ("ReadWriteMany",))}
    assert not found(Level.WARNING, nodes=nodes, claims=claims), "what the claim can counts, once it is there"


def test_claim_that_is_there_takes_no_more_of_a_quota() -> None:
    full = quota({"persistentvolumeclaims": "1"}, {"persistentvolumeclaims": "1"})
    assert found(Level.WARNING, quotas=(full,))
    assert not found(Level.WARNING, quotas=(full,), claims={"mini-storage": Claim("Bound", ("ReadWriteMany",))})


def test_quota_for_other_pods_is_only_mentioned() -> None:
    scoped = quota({"pods": "0"}, applies=False)
    assert not found(Level.PROBLEM, quotas=(scoped,))
    assert "small" in found(Level.UNKNOWN, quotas=(scoped,))[0].message


def test_run_that_is_there_already_is_not_counted_twice() -> None:
    full = quota({"pods": "6"}, {"pods": "6"})
    assert found(Level.WARNING, quotas=(full,))
    assert not found(Level.WARNING, quotas=(full,), own_use=True)


@pytest.mark.parametrize("prefix", ["", "docker.io/"])
def test_images_that_nodes_tell_of_are_there(prefix: str) -> None:
    images = frozenset(f"{prefix}spade/{name}:test" for name in ("sandbox", "worker", "trainer"))
    assert not found(Level.UNKNOWN, nodes=(node(images=images),))
    fewer = images - {f"{prefix}spade/worker:test"}
    assert "spade/worker:test" in only(found(Level.UNKNOWN, nodes=(node(images=fewer),))).message


def test_network_is_known_by_example_only() -> None:
    assert "isolation probe" in next(f for f in found(Level.UNKNOWN, proven_by="") if f.about == "network").message
