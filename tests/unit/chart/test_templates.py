"""What the chart installs: one hardened operator with the rights it uses, and a site that the operator can read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.children import make_run, workloads
from tests.support.helm import helm, one, render, render_hooks, site_of

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
        "sandbox": {"runtimeClassName": "other", "graceSeconds": 86400, "podsPerNamespace": 40},
        "egress": {"cidrs": ["192.0.2.0/24"]},
        "networkPolicies": {"manage": False, "monitoringNamespace": "monitoring"},
        "watchNamespace": "runs",
        "defaultResources": {"engine": {"requests": {"cpu": 2}}},
    }
    site = site_of(render(values), tmp_path)
    assert site.images.worker.startswith("example/worker@sha256:")
    assert site.images.trainer == "spade/trainer:0.1.0"
    assert (site.sandbox_runtime_class, site.sandbox_grace_seconds) == ("other", 86400)
    assert site.sandbox_pods_per_namespace == 40
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


@pytest.mark.parametrize("workload", [one(OBJECTS, "Deployment"), one(render_hooks(), "Job")], ids=["operator", "hook"])
def test_pods_with_the_operators_image_are_restricted(workload: dict[str, Any]) -> None:
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]


def test_hooks_are_there_only_while_the_chart_is_removed() -> None:
    hooks = render_hooks()
    assert {item["kind"] for item in hooks} == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job"}
    for item in hooks:
        notes = item["metadata"]["annotations"]
        assert notes["helm.sh/hook"] == "pre-delete"
        assert notes["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    job = one(hooks, "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook-output-log-policy"] == "hook-failed", "it says why it refused"
    weights = {item["kind"]: int(item["metadata"]["annotations"]["helm.sh/hook-weight"]) for item in hooks}
    assert weights["ServiceAccount"] < weights["ClusterRoleBinding"] < weights["Job"]
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert not one(OBJECTS, "Service")["spec"]["selector"].items() <= labels.items()


def test_drains_take_one_of_several_operators_and_wait_for_no_single_one() -> None:
    assert "PodDisruptionBudget" not in {item["kind"] for item in OBJECTS}
    several = render({"operator": {"replicas": 2}})
    budget, deployment = one(several, "PodDisruptionBudget")["spec"], one(several, "Deployment")["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert budget["selector"] == deployment["selector"]
    (spread,) = deployment["template"]["spec"]["topologySpreadConstraints"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"


def test_the_lease_is_the_charts_and_the_operator_is_told_its_name() -> None:
    name = one(OBJECTS, "Lease")["metadata"]["name"]
    (container,) = one(OBJECTS, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert {"name": "SPADE_LEASE", "value": name} in container["env"]
    named = [rule for rule in one(OBJECTS, "Role")["rules"] if "resourceNames" in rule]
    assert [(rule["resourceNames"], rule["verbs"]) for rule in named] == [([name], ["get", "update"])]


@pytest.mark.parametrize("live_runs", ["Refuse", "Delete"])
def test_the_hook_is_told_what_to_do_with_live_runs_and_where(live_runs: str) -> None:
    values = {"uninstall": {"liveRuns": live_runs}, "watchNamespace": "runs"}
    (container,) = one(render_hooks(values), "Job")["spec"]["template"]["spec"]["containers"]
    undo = "--undo=helm rollback spade 1 --namespace spade-system"
    assert container["args"] == [f"--live-runs={live_runs}", undo, "--namespace=runs"]


def test_a_new_site_restarts_the_operator() -> None:
    def mark(values: dict[str, Any]) -> str:
        annotations = one(render(values), "Deployment")["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/site"])

    assert mark({}) == mark({})
    assert mark({}) != mark({"egress": {"cidrs": ["192.0.2.0/24"]}})


def test_one_operator_is_replaced_and_several_roll() -> None:
    assert one(OBJECTS, "Deployment")["spec"]["strategy"]["type"] == "Recreate"
    assert one(render({"operator": {"replicas": 2}}), "Deployment")["spec"]["strategy"]["type"] == "RollingUpdate"


def test_the_key_may_be_ones_own() -> None:
    assert one(OBJECTS, "Secret")["metadata"]["name"] == "spade-installation-key"
    own = render({"installationKey": {"existingSecret": "mine"}})
    assert [item for item in own if item["kind"] == "Secret"] == []
    volumes = one(own, "Deployment")["spec"]["template"]["spec"]["volumes"]
    assert [volume["secret"]["secretName"] for volume in volumes if "secret" in volume] == ["mine"]


def test_one_namespace_needs_no_rights_elsewhere() -> None:
    objects = render({"watchNamespace": "runs", "admissionPolicy": {"create": False}})
    hooks = render_hooks({"watchNamespace": "runs"})
    assert {item["kind"] for item in (*objects, *hooks)}.isdisjoint({"ClusterRole", "ClusterRoleBinding"})
    assert one(objects, "Role", "spade-operator")["metadata"]["namespace"] == "runs"
    assert one(hooks, "Role")["metadata"]["namespace"] == "runs"


@pytest.mark.parametrize(
    ("wanted", "namespace", "looks"),
    [("Auto", "", True), ("Auto", "runs", False), ("Always", "runs", True), ("Never", "", False)],
)
def test_cluster_is_looked_at_where_that_is_wanted(tmp_path: Path, wanted: str, namespace: str, looks: bool) -> None:
    objects = render({"watchNamespace": namespace, "preflight": {"lookAtCluster": wanted}})
    assert site_of(objects, tmp_path).look_at_cluster == looks
    granted = [item for item in objects if item["metadata"]["name"] == "spade-operator-preflight"]
    assert {item["kind"] for item in granted} == ({"ClusterRole", "ClusterRoleBinding"} if looks else set())


@pytest.mark.parametrize("namespace", ["", "runs"])
def test_rights_on_workloads_are_given_where_queues_are_wanted(tmp_path: Path, namespace: str) -> None:
    without = render({"watchNamespace": namespace})
    assert not site_of(without, tmp_path).kueue
    assert "kueue" not in str([item for item in without if "Role" in item["kind"]])
    objects = render({"watchNamespace": namespace, "kueue": {"enabled": True}})
    assert site_of(objects, tmp_path).kueue
    role = one(objects, "Role" if namespace else "ClusterRole", "spade-operator")
    rules = [rule for rule in role["rules"] if rule["apiGroups"] == ["kueue.x-k8s.io"]]
    assert {resource for rule in rules for resource in rule["resources"]} == {"workloads", "workloads/status"}
    wide = one(objects, "ClusterRole", "spade-operator-kueue")
    assert {verb for rule in wide["rules"] for verb in rule["verbs"]} == {"get"}


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
        ({"uninstall": {"liveRuns": "Keep"}}, "liveRuns"),
        ({"apiPriority": {"shares": 0}}, "shares"),
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
