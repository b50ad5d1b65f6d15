"""An engine in the learner's pod has the devices in common with it, and nothing that it need not have."""

from typing import Any

import pytest
from tests.support.children import RESOURCES, make_run, make_site, workloads
from tests.support.pod_settings import EVERYTHING

from spade_contracts import ports
from spade_contracts.labels import ENGINE_TASK_ANNOTATION, TASK_ANNOTATION, Role
from spade_contracts.tasks import EngineTask, LearnerTask
from spade_operator.children.manifests import role_selector
from spade_operator.children.policies import network_policies
from spade_operator.children.services import services

RUN = make_run(
    placement="Colocated",
    learner={"nodes": 2, "pod": EVERYTHING, "deviceClaimTemplate": "eight-gpus"},
    engine={
        "replicas": 2,
        "args": {"max-num-seqs": "8"},
        "pod": {"resources": {"requests": {"cpu": "3"}}, "environment": {"OF_THE_ENGINE": "1"}},
    },
)
SITE = make_site(resources=RESOURCES)
TEMPLATE: dict[str, Any] = workloads(RUN, SITE)["learner"]["spec"]["template"]
POD: dict[str, Any] = TEMPLATE["spec"]
LEARNER, ENGINE = POD["containers"]
APART = workloads(make_run(engine={"args": {"max-num-seqs": "8"}}), SITE)


def mounts(container: dict[str, Any]) -> dict[str, str]:
    return {item["mountPath"]: item["name"] for item in container["volumeMounts"]}


def test_pod_has_the_learner_and_beside_it_the_engine_that_would_have_a_pod_of_its_own() -> None:
    (alone,) = APART["engine"]["spec"]["template"]["spec"]["containers"]
    assert (LEARNER["name"], ENGINE["name"]) == ("learner", "engine")
    for field in ("image", "command", "readinessProbe", "livenessProbe", "startupProbe", "securityContext"):
        assert ENGINE[field] == alone[field], field
    assert {item["mountPath"] for item in ENGINE["volumeMounts"]} == {m["mountPath"] for m in alone["volumeMounts"]}
    assert {p["containerPort"] for p in ENGINE["ports"]} == {p["containerPort"] for p in alone["ports"]}


def test_names_within_the_pod_are_met_once() -> None:
    ports_of_all = [port["name"] for container in POD["containers"] for port in container["ports"]]
    volumes = [volume["name"] for volume in POD["volumes"]]
    assert len(set(ports_of_all)) == len(ports_of_all)
    assert len(set(volumes)) == len(volumes)
    used = {item["name"] for container in POD["containers"] for item in container["volumeMounts"]}
    assert used == set(volumes)


def test_each_container_has_its_own_tokens_scratch_and_task() -> None:
    for path in ("/etc/spade/tokens", "/home/spade", "/tmp", "/etc/spade/task"):
        assert mounts(LEARNER)[path] != mounts(ENGINE)[path], path
    secrets = {v["name"]: v["secret"]["secretName"] for v in POD["volumes"] if "secret" in v}
    assert secrets[mounts(LEARNER)["/etc/spade/tokens"]] == "mini-learner-tokens"
    assert secrets[mounts(ENGINE)["/etc/spade/tokens"]] == "mini-engine-tokens"
    notes = TEMPLATE["metadata"]["annotations"]
    assert LearnerTask.model_validate_json(notes[TASK_ANNOTATION]).colocated
    task = EngineTask.model_validate_json(notes[ENGINE_TASK_ANNOTATION])
    assert (task.colocated, task.args) == (True, {"max-num-seqs": "8"})


def test_engine_reads_run_storage_and_the_learner_writes_it() -> None:
    (claim,) = [v for v in POD["volumes"] if v["name"] == "storage"]
    assert claim["persistentVolumeClaim"]["readOnly"] is False
    read_only = {
        c["name"]: m["readOnly"] for c in POD["containers"] for m in c["volumeMounts"] if m["name"] == "storage"
    }
    assert read_only == {"learner": False, "engine": True}


def test_what_a_run_says_of_a_role_goes_to_its_container() -> None:
    names = {c["name"]: {item["name"] for item in c["env"]} for c in POD["containers"]}
    assert "OF_THE_ENGINE" in names["engine"] - names["learner"]
    assert "NCCL_DEBUG" in names["learner"] - names["engine"]
    assert ENGINE["resources"]["requests"]["cpu"] == "3"
    assert {item["value"] for item in ENGINE["env"] if item["name"] == "OMP_NUM_THREADS"} == {"3"}


def test_one_claim_gives_both_the_same_devices() -> None:
    assert POD["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": "eight-gpus"}]
    assert all(c["resources"]["claims"] == [{"name": "devices"}] for c in POD["containers"])
    assert "resourceClaims" not in APART["learner"]["spec"]["template"]["spec"]


def test_engines_service_finds_the_learners_pods() -> None:
    (service,) = [s for s in services(RUN.owner) if s["metadata"]["name"] == "mini-engine"]
    assert service["spec"]["selector"] == role_selector(RUN.owner, Role.LEARNER)
    assert service["spec"]["publishNotReadyAddresses"] is False, "a pod whose engine sleeps has no address there"


def opened(policy: str, side: str, peer: Role) -> set[int]:
    """Ports that a policy opens to, or from, a role."""
    (found,) = [p for p in network_policies(RUN.owner, SITE) if p["metadata"]["name"] == policy]
    word = {"ingress": "from", "egress": "to"}[side]
    return {
        item["port"]
        for rule in found["spec"][side]
        for one in rule.get(word, [])
        if "podSelector" in one and "matchExpressions" in one["podSelector"]
        and str(peer) in one["podSelector"]["matchExpressions"][0]["values"]
        for item in rule.get("ports", [])
    }  # fmt: skip


def test_workers_reach_the_engine_in_the_learners_pod_and_nothing_else_of_it() -> None:
    assert opened("mini-worker", "egress", Role.LEARNER) == {ports.ENGINE_DATA}
    assert opened("mini-engine", "ingress", Role.WORKER) == {ports.ENGINE_DATA}
    (engine,) = [p for p in network_policies(RUN.owner, SITE) if p["metadata"]["name"] == "mini-engine"]
    (expression,) = engine["spec"]["podSelector"]["matchExpressions"]
    assert set(expression["values"]) == {"learner", "beacon"}
    assert opened("mini-learner", "ingress", Role.WORKER) == set()


@pytest.mark.parametrize("word", ["prepare", "sandbox", "beacon", "design", "play"])
def test_other_pods_are_what_they_are_without_it(word: str) -> None:
    together = workloads(make_run(placement="Colocated"), SITE)
    assert together[word]["spec"] == workloads(make_run(), SITE)[word]["spec"]
