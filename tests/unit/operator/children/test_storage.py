"""Run storage outlives its run."""

from tests.support.children import make_run

from spade_operator.children.storage import storage_claim


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
