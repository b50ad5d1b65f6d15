"""Run storage is a claim that outlives its run, or a bucket whose keys are named and never written."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.children import make_run, make_site, workloads

from spade_contracts.errors import InvalidInput
from spade_contracts.resources.s3 import S3Storage
from spade_operator.children.storage import storage_claim
from spade_operator.preflight.plan import plan_of
from spade_operator.reconcile.accept import check

BUCKET = {
    "uri": "s3://spade/runs",
    "endpointUrl": "https://minio.storage.svc:9000",
    "region": "eu-west-1",
    "credentialsSecret": "bucket",
}
TRUSTED = ("engine", "learner", "play", "prepare")


def pod(run: Any, word: str) -> dict[str, Any]:
    (found,) = [body for name, body in workloads(run, make_site()).items() if word in name]
    return dict(found["spec"]["template"]["spec"])


def test_the_claim_is_as_the_run_asks() -> None:
    run = make_run(storage={"size": "20Gi", "storageClassName": "fast", "accessMode": "ReadWriteMany"})
    (claim,) = storage_claim(run.owner)
    assert claim["metadata"]["name"] == run.owner.claim == "mini-storage"
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "20Gi"}},
        "storageClassName": "fast",
    }


def test_the_clusters_default_class_is_left_to_the_cluster() -> None:
    (claim,) = storage_claim(make_run().owner)
    assert "storageClassName" not in claim["spec"]


def test_an_existing_claim_is_used_and_not_made() -> None:
    run = make_run(storage={"claimName": "shared"})
    assert storage_claim(run.owner) == []
    assert run.owner.claim == "shared"


def test_pods_of_a_run_in_a_bucket_have_its_keys_by_reference_and_mount_no_claim() -> None:
    run = make_run(storage={"s3": BUCKET})
    assert storage_claim(run.owner) == []
    assert run.owner.ref.storage_uri == "s3://spade/runs/default/mini"
    for word in TRUSTED:
        spec = pod(run, word)
        variables = {item["name"]: item for item in spec["containers"][0]["env"]}
        assert variables["AWS_ENDPOINT_URL_S3"]["value"] == "https://minio.storage.svc:9000"
        assert variables["AWS_DEFAULT_REGION"]["value"] == "eu-west-1"
        assert [
            variables[name]["valueFrom"]["secretKeyRef"]
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        ] == [
            {"name": "bucket", "key": "AWS_ACCESS_KEY_ID"},
            {"name": "bucket", "key": "AWS_SECRET_ACCESS_KEY"},
            {"name": "bucket", "key": "AWS_SESSION_TOKEN", "optional": True},
        ]
        assert not [volume for volume in spec["volumes"] if "persistentVolumeClaim" in volume]
        mounts = {mount["mountPath"]: mount["name"] for mount in spec["containers"][0]["volumeMounts"]}
        (staging,) = [volume for volume in spec["volumes"] if volume["name"] == mounts["/staging"]]
        assert staging["emptyDir"] == {"sizeLimit": "20Gi"}
        assert variables["SPADE_STAGING"]["value"] == "/staging"


def test_sandboxes_and_beacons_know_nothing_of_a_bucket() -> None:
    for word in ("sandbox", "beacon"):
        assert pod(make_run(storage={"s3": BUCKET}), word) == pod(make_run(), word)


def test_an_engine_beside_a_learner_has_copies_of_its_own() -> None:
    run = make_run(storage={"s3": BUCKET}, placement="Colocated")
    learner, engine = pod(run, "learner")["containers"]
    names = [
        {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}["/staging"]
        for container in (learner, engine)
    ]
    assert names == ["staging", "engine-staging"]


def test_the_keys_of_a_bucket_win_over_variables_of_the_run() -> None:
    settings = {"environment": {"AWS_ACCESS_KEY_ID": "mine", "AWS_DEFAULT_REGION": "mine"}}
    run = make_run(storage={"s3": BUCKET}, workers={"pod": settings})
    variables = {item["name"]: item for item in pod(run, "play")["containers"][0]["env"]}
    assert variables["AWS_ACCESS_KEY_ID"] == {
        "name": "AWS_ACCESS_KEY_ID",
        "valueFrom": {"secretKeyRef": {"name": "bucket", "key": "AWS_ACCESS_KEY_ID"}},
    }
    assert variables["AWS_DEFAULT_REGION"]["value"] == "eu-west-1"


def test_preflight_wants_the_bucket_secret_with_its_keys_and_no_claim() -> None:
    plan = plan_of(make_run(storage={"s3": BUCKET}), make_site())
    assert plan.secrets()["bucket"] == {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    assert (plan.claim, plan.makes_claim, plan.claims()) == (None, False, ())


@pytest.mark.parametrize("also", [{"claimName": "shared"}, {"storageClassName": "fast"}])
def test_storage_is_in_one_place(also: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"spec\.storage"):
        check(make_run(storage={"s3": BUCKET, **also}).spec)
    check(make_run(storage={"s3": BUCKET}).spec)


@pytest.mark.parametrize(
    "change",
    [
        {"uri": "s3://UPPER/x"},
        {"uri": "s3://bucket//x"},
        {"uri": "s3://bucket/../x"},
        {"uri": "s3://key:secret@bucket"},
        {"uri": "https://bucket"},
        {"endpointUrl": "https://user:secret@host"},
        {"endpointUrl": "https://host/path?x=1"},
        {"credentialsSecret": "mini-worker-tokens"},
        {"region": "EU west"},
    ],
)
def test_a_bucket_is_named_without_secrets(change: dict[str, str]) -> None:
    S3Storage.model_validate(BUCKET)
    with pytest.raises(ValidationError):
        S3Storage.model_validate({**BUCKET, **change})
