"""What the chart installs: one hardened operator with the rights it uses, and a site that the operator can read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.children import make_run, workloads
from tests.support.helm import helm, one, render, site_of

from spade_contracts.labels import Role
from spade_operator.children.resources import amount

OBJECTS = render()


def test_the_operator_reads_the_site(tmp_path: Path) -> None:
    site = site_of(OBJECTS, tmp_path)
    assert site.sandbox_runtime_class == "gvisor"
    assert set(site.resources) == set(Role)
    assert {target.kind for target in site.probe_targets} == {"api-server", "dns", "node", "metadata", "outside"}
    assert len(site.installation_key) == 64


def test_values_reach_the_site(tmp_path: Path) -> None:
    values = {
        "images": {"worker": "example/worker@sha256:" + "0" * 64},
        "sandbox": {"runtimeClassName": "other", "graceSeconds": 86400},
        "egress": {"cidrs": ["192.0.2.0/24"]},
        "networkPolicies": {"manage": False, "monitoringNamespace": "monitoring"},
        "watchNamespace": "runs",
        "defaultResources": {"engine": {"requests": {"cpu": 2}}},
    }
    site = site_of(render(values), tmp_path)
    assert site.images.worker.startswith("example/worker@sha256:")
    assert site.images.trainer == "spade/trainer:0.1.0"
    assert (site.sandbox_runtime_class, site.sandbox_grace_seconds) == ("other", 86400)
    assert site.egress_cidrs == ("192.0.2.0/24",)
    assert (site.manage_network_policies, site.monitoring_namespace) == (False, "monitoring")
    assert site.watch_namespace == "runs"
    assert site.resources[Role.ENGINE].requests["cpu"] == "2"


def test_runs_select_the_operators_pods_and_only_those(tmp_path: Path) -> None:
    site = site_of(OBJECTS, tmp_path)
    pod = one(OBJECTS, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert site.operator_labels.items() <= pod.items()
    assert site.operator_namespace == "spade-system"
    for manifest in workloads(make_run(name="spade"), site).values():
        labels = manifest["spec"]["template"]["metadata"]["labels"]
        assert not site.operator_labels.items() <= labels.items()


def test_a_whole_run_fits_two_cores_with_the_operator_and_the_system(tmp_path: Path) -> None:
    site = site_of(OBJECTS, tmp_path)
    operator = one(OBJECTS, "Deployment")["spec"]["template"]["spec"]["containers"][0]["resources"]
    pods = {Role.SANDBOX: 2, Role.ENGINE: 1, Role.LEARNER: 1, Role.WORKER: 1, Role.BEACON: 1}
    cpu = amount(operator["requests"]["cpu"])
    memory = amount(operator["limits"]["memory"])
    for role, count in pods.items():
        cpu += count * amount(site.resources[role].requests["cpu"])
        memory += count * amount(site.resources[role].limits["memory"])
    assert cpu <= Decimal("1.6")
    assert memory <= 18 * 2**30


def test_the_operators_pod_is_restricted() -> None:
    pod = one(OBJECTS, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]


def test_a_new_site_restarts_the_operator() -> None:
    def mark(values: dict[str, Any]) -> str:
        annotations = one(render(values), "Deployment")["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/site"])

    assert mark({}) == mark({})
    assert mark({}) != mark({"egress": {"cidrs": ["192.0.2.0/24"]}})


def test_one_operator_is_replaced_and_several_roll() -> None:
    assert one(OBJECTS, "Deployment")["spec"]["strategy"]["type"] == "Recreate"
    assert one(render({"operator": {"replicas": 2}}), "Deployment")["spec"]["strategy"]["type"] == "RollingUpdate"


def test_the_key_is_kept_over_upgrades_and_may_be_ones_own() -> None:
    assert one(OBJECTS, "Secret")["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    own = render({"installationKey": {"existingSecret": "mine"}})
    assert [item for item in own if item["kind"] == "Secret"] == []
    volumes = one(own, "Deployment")["spec"]["template"]["spec"]["volumes"]
    assert [volume["secret"]["secretName"] for volume in volumes if "secret" in volume] == ["mine"]


def test_one_namespace_needs_no_rights_elsewhere() -> None:
    objects = render({"watchNamespace": "runs", "admissionPolicy": {"create": False}})
    assert {item["kind"] for item in objects}.isdisjoint({"ClusterRole", "ClusterRoleBinding"})
    assert one(objects, "Role", "spade-operator")["metadata"]["namespace"] == "runs"


@pytest.mark.parametrize(
    ("wanted", "namespace", "looks"),
    [("Auto", "", True), ("Auto", "runs", False), ("Always", "runs", True), ("Never", "", False)],
)
def test_cluster_is_looked_at_where_that_is_wanted(tmp_path: Path, wanted: str, namespace: str, looks: bool) -> None:
    objects = render({"watchNamespace": namespace, "preflight": {"lookAtCluster": wanted}})
    assert site_of(objects, tmp_path).look_at_cluster == looks
    granted = [item for item in objects if item["metadata"]["name"] == "spade-operator-preflight"]
    assert {item["kind"] for item in granted} == ({"ClusterRole", "ClusterRoleBinding"} if looks else set())


def test_the_runtime_class_is_the_clusters_owners_unless_asked_for() -> None:
    assert "RuntimeClass" not in {item["kind"] for item in OBJECTS}
    made = one(render({"runtimeClass": {"create": True}}), "RuntimeClass")
    assert (made["metadata"]["name"], made["handler"]) == ("gvisor", "runsc")
    assert "scheduling" not in made


def test_the_runtime_class_says_where_gvisor_is() -> None:
    where = {"nodeSelector": {"sandbox": "gvisor"}, "tolerations": [{"key": "sandbox", "operator": "Exists"}]}
    made = one(render({"runtimeClass": {"create": True, "scheduling": where}}), "RuntimeClass")
    assert made["scheduling"] == where


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"image": {"worker": "x"}}, "image"),
        ({"probe": {"targets": [{"kind": "metadata", "host": "", "port": 80}]}}, "host"),
        ({"probe": {"targets": []}}, "targets"),
        ({"egress": {"cidrs": ["anywhere"]}}, "cidrs"),
        ({"defaultResources": {"gpu": {}}}, "gpu"),
        ({"defaultResources": {"engine": {"requests": {"cpu": "many"}}}}, "cpu"),
        ({"sandbox": {"runtimeClassName": ""}}, "runtimeClassName"),
        ({"imagePullPolicy": "Sometimes"}, "imagePullPolicy"),
        ({"operator": {"replicas": "two"}}, "replicas"),
        ({"preflight": {"lookAtCluster": True}}, "lookAtCluster"),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], where: str) -> None:
    done = helm("template", "spade", ".", "--kube-version", "1.34.0", values=values)
    assert done.returncode != 0
    assert where in done.stderr


def test_an_old_cluster_is_refused() -> None:
    done = helm("template", "spade", ".", "--kube-version", "1.29.0")
    assert done.returncode != 0
    assert ">=1.30.0" in done.stderr
