"""A run starts from a policy that can be had; until then it waits and says for what."""

import json
from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.errors import InvalidInput
from spade_contracts.resources import RunCondition, SpadeRunStatus
from spade_operator.children.engine import engine_deployment
from spade_operator.children.prepare import prepare_job
from spade_operator.facts import Facts
from spade_operator.reconcile.accept import check
from spade_operator.reconcile.observe import Observed, observe
from spade_operator.reconcile.prepare import prepare
from spade_operator.reconcile.steps import Create
from spade_operator.records import ChildRecord, Kind, RunRecord

SOURCE_CLAIM = ChildRecord(p.meta(Kind.CLAIM, "first-storage", run="first", run_uid=""))


def source(status: SpadeRunStatus, **spec: Any) -> RunRecord:
    made = p.run_record(status, **spec)
    return RunRecord(p.meta(Kind.RUN, "first", run="first", uid="first-uid"), made.spec, made.method, "", status)


def seen(*others: Any, storage: dict[str, str] | None = None, **from_run: Any) -> Observed:
    facts = Facts()
    model = {"model": {"fromRun": {"name": "first", **from_run}}}
    for record in (p.run_record(**model, **({"storage": storage} if storage else {})), *others):
        facts.put(record)
    found = observe(facts, p.SITE, "default", p.RUN)
    assert found is not None
    return found


def job(picture: Observed) -> Any:
    (manifest,) = [a.manifest for a in p.actions_of(prepare(picture, p.NOW), Create) if a.manifest["kind"] == "Job"]
    return manifest


def told(picture: Observed) -> Any:
    return json.loads(job(picture)["spec"]["template"]["metadata"]["annotations"]["spade.dev/task"])["origin"]


def mounted(picture: Observed) -> dict[str, Any]:
    volumes = job(picture)["spec"]["template"]["spec"]["volumes"]
    return {v["name"]: v["persistentVolumeClaim"] for v in volumes if "persistentVolumeClaim" in v}


@pytest.mark.parametrize(
    ("picture", "claim", "task"),
    [
        (seen(source(p.holding(policy_version=6))), "first-storage", (None, 6)),
        (seen(source(p.holding(policy_version=6)), policyVersion=4), "first-storage", (4, 6)),
        (seen(source(p.holding(policy_version=6), storage={"claimName": "big"})), "big", (None, 6)),
        (seen(source(p.holding(RunCondition.FAILED)), policyVersion=4), "first-storage", (4, None)),
        (seen(SOURCE_CLAIM), "first-storage", (None, None)),
        (seen(claimName="kept"), "kept", (None, None)),
    ],
    ids=["newest proven", "a version", "its own claim", "of a failed run", "of a deleted run", "claim named"],
)
def test_preparation_reads_the_claim_of_the_source(picture: Observed, claim: str, task: tuple[Any, Any]) -> None:
    assert mounted(picture)["origin"] == {"claimName": claim, "readOnly": True}
    origin = told(picture)
    assert origin["storage_uri"] == "file:///origin/default/first"
    assert (origin["policy_version"], origin["newest"]) == task


def test_claim_that_both_runs_share_is_mounted_once() -> None:
    shared = {"storage": {"claimName": "big"}}
    picture = seen(source(p.holding(policy_version=6), **shared), **shared)
    assert set(mounted(picture)) == {"storage"}
    assert told(picture)["storage_uri"] == "file:///storage/default/first"


def bucket(uri: str = "s3://spade/runs") -> dict[str, Any]:
    return {"storage": {"s3": {"uri": uri, "credentialsSecret": "bucket"}}}


def test_bucket_that_both_runs_share_is_read_with_the_runs_own_keys() -> None:
    for picture in (
        seen(source(p.holding(policy_version=6), **bucket()), **bucket()),
        seen(**bucket()),
    ):
        assert mounted(picture) == {}
        assert told(picture)["storage_uri"] == "s3://spade/runs/default/first"


def test_run_in_a_bucket_may_start_from_a_claim() -> None:
    picture = seen(source(p.holding(policy_version=6)), **bucket())
    assert set(mounted(picture)) == {"origin"}
    assert told(picture)["storage_uri"] == "file:///origin/default/first"


@pytest.mark.parametrize("storage", [bucket("s3://spade/others"), {}])
def test_run_is_given_no_keys_of_another_bucket(storage: dict[str, Any]) -> None:
    step = prepare(seen(source(p.holding(policy_version=6), **bucket()), **storage), p.NOW)
    assert not [a for a in p.actions_of(step, Create) if a.manifest["kind"] == "Job"]
    status, why, message = p.wanted(step, RunCondition.ACCEPTED)
    assert (status, why) == ("False", "PolicyNotFound")
    assert "s3://spade/runs" in message


@pytest.mark.parametrize(
    ("picture", "reason", "words"),
    [
        (seen(), "PolicyNotFound", "no SpadeRun first in this namespace, and no claim first-storage"),
        (seen(source(p.holding())), "Waiting", "has proven no policy so far"),
        (seen(source(p.holding(policy_version=2)), policyVersion=4), "Waiting", "policy version 2 so far"),
    ],
    ids=["no run and no claim", "no policy yet", "not that policy yet"],
)
def test_what_cannot_be_had_is_told_and_looked_for_again(picture: Observed, reason: str, words: str) -> None:
    step = prepare(picture, p.NOW)
    assert not [a for a in p.actions_of(step, Create) if a.manifest["kind"] == "Job"]
    status, why, message = p.wanted(step, RunCondition.ACCEPTED)
    assert (status, why) == ("False", reason)
    assert words in message
    assert step.wake_after_seconds is not None


def test_only_preparation_of_a_model_of_the_hub_may_ask_the_hub() -> None:
    pinned = {"model": {"uri": "hf:lab/moe", "revision": "a" * 40}}
    for model, offline in ((pinned, "0"), ({}, "1")):
        run = p.run_record(**model)
        assert run.spec is not None
        check(run.spec)
        parent = p.seen(run).parent
        (manifest,) = prepare_job(parent, p.SITE)
        variables = {v["name"]: v.get("value") for v in manifest["spec"]["template"]["spec"]["containers"][0]["env"]}
        assert variables["HF_HUB_OFFLINE"] == offline
    (engine,) = engine_deployment(p.seen(p.run_record(**pinned)).parent, p.SITE, 1)
    variables = {v["name"]: v.get("value") for v in engine["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert variables["HF_HUB_OFFLINE"] == "1"


@pytest.mark.parametrize(
    "model",
    [
        {"uri": "hf:lab/moe"},
        {"uri": "package:tiny", "revision": "a" * 40},
        {"uri": "hf:lab", "revision": "a" * 40},
        {"uri": "hf:../x/y", "revision": "a" * 40},
    ],
)
def test_model_of_the_hub_has_an_organisation_a_name_and_a_commit(model: dict[str, str]) -> None:
    run = p.run_record(model=model)
    assert run.spec is not None
    with pytest.raises(InvalidInput, match=r"spec\.model"):
        check(run.spec)


def test_run_that_starts_from_a_model_mounts_no_other_claim() -> None:
    (manifest,) = prepare_job(p.seen().parent, p.SITE)
    assert [v["name"] for v in manifest["spec"]["template"]["spec"]["volumes"] if "persistentVolumeClaim" in v] == [
        "storage"
    ]


@pytest.mark.parametrize("model", [{}, {"uri": "package:tiny", "fromRun": {"name": "first"}}])
def test_model_has_one_source(model: dict[str, Any]) -> None:
    run = p.run_record(model=model)
    assert run.spec is not None
    with pytest.raises(InvalidInput, match=r"spec\.model"):
        check(run.spec)
