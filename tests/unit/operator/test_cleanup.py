"""A run with `storage.onDelete: Delete` goes after its folder, and hangs on nothing that cannot come."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, RunCondition
from spade_operator.children.cleanup import DEADLINE_SECONDS
from spade_operator.children.names import cleanup_job_name
from spade_operator.reconcile.cleanup import cleanup, hold_storage
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.steps import Create, HoldStorage, Remove, Step
from spade_operator.records import ChildRecord, Kind, RunRecord

JOB = cleanup_job_name(p.RUN)
CLAIM = ChildRecord(p.meta(Kind.CLAIM, f"{p.RUN}-storage"))
STORAGE_DELETED = RunCondition.STORAGE_DELETED


def run(*, deleting: bool = True, holds: bool = True, on_delete: str = "Delete", **spec: Any) -> RunRecord:
    made = p.run_record(storage={"onDelete": on_delete}, **spec)
    return replace(made, meta=replace(made.meta, deleting=deleting, holds_storage=holds))


def step(*, head: RunRecord | None = None, **parts: Any) -> tuple[Observed, Step]:
    seen = p.seen(head or run(), **{"others": [CLAIM], **parts})
    return seen, cleanup(seen, p.NOW)


@pytest.mark.parametrize(
    ("holds", "on_delete", "wanted"),
    [(False, "Delete", True), (True, "Retain", False), (True, "Delete", None), (False, "Retain", None)],
)
def test_finalizer_follows_the_spec(holds: bool, on_delete: str, wanted: bool | None) -> None:
    seen = p.seen(run(deleting=False, holds=holds, on_delete=on_delete))
    assert hold_storage(seen, p.NOW).actions == (() if wanted is None else (HoldStorage(seen.run, wanted),))


@pytest.mark.parametrize("end", [RunCondition.COMPLETE, RunCondition.FAILED])
def test_finalizer_follows_the_spec_of_an_ended_run_too(end: RunCondition) -> None:
    head = run(deleting=False, holds=False)
    head = replace(head, status=p.holding(end, phase=Phase.FAILED, rollout=4, policy_version=4))
    assert HoldStorage(head, holds=True) in decide(p.seen(head), p.NOW).actions


def test_pods_go_before_the_folder_does() -> None:
    _, found = step(pods=[p.ENGINE], deployments=[p.deployment(Role.ENGINE)])
    assert {action.record.meta.name for action in p.actions_of(found, Remove)} == {p.ENGINE.meta.name, "mini-engine"}
    assert not p.actions_of(found, Create)
    assert p.wanted(found, STORAGE_DELETED)[:2] == ("False", "Deleting")


def test_then_a_job_with_a_deadline_deletes_it() -> None:
    _, found = step()
    (create,) = p.actions_of(found, Create)
    assert create.manifest["metadata"]["name"] == JOB
    assert create.manifest["spec"]["activeDeadlineSeconds"] == DEADLINE_SECONDS
    spec = create.manifest["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"] == p.SITE.images.trainer
    (claim,) = (v["persistentVolumeClaim"] for v in spec["volumes"] if "persistentVolumeClaim" in v)
    assert claim == {"claimName": "mini-storage", "readOnly": False}


def test_job_at_work_is_left_alone_and_what_it_waits_for_is_told() -> None:
    pod = p.pod(Role.PREPARE, f"{JOB}-0", job=JOB, phase="Pending", unschedulable="0/1 nodes are available")
    _, found = step(jobs=[p.job(JOB, Role.PREPARE)], pods=[pod])
    assert found.actions == ()
    assert "0/1 nodes are available" in p.wanted(found, STORAGE_DELETED)[2]


def test_run_goes_when_its_folder_is_gone() -> None:
    seen, found = step(jobs=[p.job(JOB, Role.PREPARE, complete=True)])
    assert found.actions == (HoldStorage(seen.run, holds=False),)


def test_failure_keeps_the_run_and_is_told_with_its_cause_and_the_two_ways_out() -> None:
    pod = p.pod(Role.PREPARE, f"{JOB}-0", job=JOB, phase="Failed", containers=(p.ended(2),))
    logs = {(pod.meta.uid, "main", 0): "the folder holds run default/maxi"}
    _, found = step(jobs=[p.job(JOB, Role.PREPARE, failed=True)], pods=[pod], logs=logs)
    assert not p.actions_of(found, HoldStorage)
    status, reason, message = p.wanted(found, STORAGE_DELETED)
    assert (status, reason) == ("False", "JobFailed")
    assert "default/maxi" in message
    assert JOB in message
    assert "onDelete: Retain" in message


@pytest.mark.parametrize(
    ("head", "others"),
    [(run(on_delete="Retain"), [CLAIM]), (run(), []), (replace(run(), spec=None, problem="broken"), [CLAIM])],
    ids=["somebody changed his mind", "there is no claim", "the spec cannot be read"],
)
def test_run_does_not_hang(head: RunRecord, others: list[Any]) -> None:
    seen, found = step(head=head, others=others)
    assert found.actions == (HoldStorage(seen.run, holds=False),)


def test_existing_claim_that_the_run_named_is_emptied_without_being_known() -> None:
    head = p.run_record(storage={"onDelete": "Delete", "claimName": "big"})
    head = replace(head, meta=replace(head.meta, deleting=True, holds_storage=True))
    _, found = step(head=head, others=[])
    assert p.actions_of(found, Create)
