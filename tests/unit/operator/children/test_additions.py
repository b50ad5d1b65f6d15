"""What a run adds to its trusted pods is there, beside what the operator and the installation put there."""

from typing import Any

import pytest
from tests.support.children import make_pool, make_run, make_site, pool_workloads, workloads
from tests.support.pod_settings import ADDITIONS

from spade_contracts import labels as keys
from spade_contracts.resources.pods import PodSettings
from spade_contracts.resources.reserved import ENVIRONMENT, refused
from spade_operator.children.manifests import Manifest

ROLES = {"prepare": "workers", "engine": "engine", "learner": "learner", "design": "workers", "play": "workers"}
UNTOUCHED = ("sandbox", "beacon")
PLAIN = workloads(make_run(), make_site())
ADDED = workloads(make_run(**{role: {"pod": ADDITIONS} for role in ("workers", "engine", "learner")}), make_site())


def template(found: dict[str, Manifest], word: str) -> dict[str, Any]:
    result: dict[str, Any] = found[word]["spec"]["template"]
    return result


def container(found: dict[str, Manifest], word: str) -> dict[str, Any]:
    (only,) = template(found, word)["spec"]["containers"]
    result: dict[str, Any] = only
    return result


@pytest.mark.parametrize("word", ROLES)
def test_labels_and_annotations_come_beside_the_operators(word: str) -> None:
    for part, more in (("labels", ADDITIONS["labels"]), ("annotations", ADDITIONS["annotations"])):
        before, after = (template(found, word)["metadata"][part] for found in (PLAIN, ADDED))
        assert after == {**before, **more}
        assert not before.keys() & more.keys()


@pytest.mark.parametrize("word", ROLES)
def test_variables_come_beside_the_operators_and_secret_ones_by_reference(word: str) -> None:
    before, after = ({item["name"]: item for item in container(found, word)["env"]} for found in (PLAIN, ADDED))
    own = {name: {"name": name, "value": value} for name, value in ADDITIONS["environment"].items()}
    reference = {"secretKeyRef": {"name": "judge", "key": "token"}}
    assert after == {**before, **own, "SPADE_JUDGE_API_KEY": {"name": "SPADE_JUDGE_API_KEY", "valueFrom": reference}}
    names = [item["name"] for item in container(ADDED, word)["env"]]
    assert names == sorted(set(names))


def test_a_variable_holds_what_is_written_and_no_secret_of_another() -> None:
    pod = {"environment": {"A": "$(SPADE_JUDGE_API_KEY) costs $5, $$5"}}
    found = container(workloads(make_run(engine={"pod": pod}), make_site()), "engine")["env"]
    # Kubernetes makes one of two signs.
    assert {"name": "A", "value": "$$(SPADE_JUDGE_API_KEY) costs $$5, $$$$5"} in found


@pytest.mark.parametrize("word", ROLES)
def test_volumes_are_mounted_under_names_of_ours(word: str) -> None:
    before, after = (
        {item["mountPath"]: item["readOnly"] for item in container(found, word)["volumeMounts"]}
        for found in (PLAIN, ADDED)
    )
    assert after == {
        **before,
        "/mnt/models": True,
        "/mnt/results": False,
        "/mnt/scratch": False,
        "/mnt/settings/nested": True,
        "/mnt/certificates": True,
    }
    volumes = {volume["name"]: volume for volume in template(ADDED, word)["spec"]["volumes"]}
    assert len(volumes) == len(template(ADDED, word)["spec"]["volumes"])
    assert [volumes[f"added-{index}"] for index in range(5)] == [
        {"name": "added-0", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
        {"name": "added-1", "persistentVolumeClaim": {"claimName": "results", "readOnly": False}},
        {"name": "added-2", "emptyDir": {"sizeLimit": "10Gi"}},
        {"name": "added-3", "configMap": {"name": "settings", "defaultMode": 0o444}},
        {"name": "added-4", "secret": {"secretName": "certificates", "defaultMode": 0o440}},
    ]


@pytest.mark.parametrize("word", UNTOUCHED)
def test_sandboxes_and_beacons_stay_as_they_are(word: str) -> None:
    assert ADDED[word] == PLAIN[word]


def test_workers_of_a_pool_take_additions_too() -> None:
    plain, added = (pool_workloads(make_pool(**spec), make_site()) for spec in ({}, {"pod": ADDITIONS}))
    assert template(added, "verify")["metadata"]["labels"]["team"] == "rl"
    assert {"mountPath": "/mnt/models", "name": "added-0", "readOnly": True} in container(added, "verify")[
        "volumeMounts"
    ]
    assert [added[word] == plain[word] for word in UNTOUCHED] == [True, True]


def test_every_variable_that_is_there_already_is_refused_to_runs() -> None:
    site = make_site(
        proxy={"http": "http://192.0.2.1:3128", "https": "http://192.0.2.1:3128"}, ca_bundle={"config_map": "roots"}
    )
    names = {item["name"] for word in PLAIN for item in container(workloads(make_run(), site), word)["env"]}
    assert [name for name in sorted(names) if not refused([name], ENVIRONMENT)] == []


def test_no_mount_of_ours_lies_where_runs_mount() -> None:
    site = make_site(ca_bundle={"config_map": "roots"})
    paths = {
        item["mountPath"] for word in PLAIN for item in container(workloads(make_run(), site), word)["volumeMounts"]
    }
    assert [path for path in paths if path.startswith("/mnt")] == []


def test_settings_that_passed_by_the_models_still_overwrite_nothing() -> None:
    forged = PodSettings.model_construct(
        labels={keys.ROLE: "sandbox"}, annotations={keys.TASK_ANNOTATION: "{}"}, environment={"HOME": "/storage"}
    )
    run = make_run()
    spec = run.spec.model_copy(update={"engine": run.spec.engine.model_copy(update={"pod": forged})})
    found = workloads(type(run)(run.namespace, run.name, run.uid, spec), make_site())
    assert found["engine"]["spec"] == PLAIN["engine"]["spec"]
