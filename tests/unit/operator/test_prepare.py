"""Before any pod of a run there are its claim, tokens, policies and names; then the preparation decides `Accepted`."""

from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.statuses import PrepareResult
from spade_operator.reconcile.prepare import RESULT_SECONDS, prepare
from spade_operator.reconcile.steps import Apply, Create, FetchLog, Remove, Step
from spade_operator.records import ChildRecord, Kind

JOB = p.job("mini-prepare", Role.PREPARE)
ACCEPTED = RunCondition.ACCEPTED


def with_result(result: PrepareResult, **parts: Any) -> Step:
    pod = p.pod(Role.PREPARE, job="mini-prepare", phase="Succeeded", containers=(p.ended(0, result.model_dump_json()),))
    return prepare(p.seen(pods=[pod], jobs=[JOB], **parts), p.NOW)


def test_nothing_runs_before_policies_and_tokens_are_there() -> None:
    actions = prepare(p.seen(), p.NOW).actions
    kinds = [a.manifest["kind"] for a in actions if isinstance(a, Apply | Create)]
    assert kinds[-1] == "Job"
    assert {"PersistentVolumeClaim", "Secret", "NetworkPolicy", "Service"} == set(kinds[:-1])


def test_what_is_applied_already_is_not_applied_again() -> None:
    applied = [a.manifest for a in p.actions_of(prepare(p.seen(), p.NOW), Apply)]
    known = [
        ChildRecord(p.meta(Kind(m["kind"]), m["metadata"]["name"], hash=m["metadata"]["annotations"]["spade.dev/hash"]))
        for m in applied
    ]
    assert not p.actions_of(prepare(p.seen(others=known), p.NOW), Apply)


def test_existing_claim_is_left_as_it_is() -> None:
    claim = ChildRecord(p.meta(Kind.CLAIM, "mini-storage", run_uid=""))
    created = [a.manifest["kind"] for a in p.actions_of(prepare(p.seen(others=[claim]), p.NOW), Create)]
    assert created == ["Job"]


def test_result_of_the_job_decides() -> None:
    step = with_result(PrepareResult(accepted=True, model_parameters=5, model_experts=8, corpus_documents=9))
    assert p.wanted(step, ACCEPTED) == (
        "True", Reason.PREPARED, "Model: 5 parameters, 8 experts. Corpus: 9 documents."
    )  # fmt: skip
    dense = with_result(PrepareResult(accepted=True, model_parameters=5, model_experts=0, corpus_documents=9))
    assert p.wanted(dense, ACCEPTED)[2] == "Model: 5 parameters. Corpus: 9 documents."
    left_out = {"near_duplicate": 3, "unreadable": 1}
    fewer = with_result(
        PrepareResult(accepted=True, model_parameters=5, model_experts=8, corpus_documents=9, corpus_left_out=left_out)
    )
    assert p.wanted(fewer, ACCEPTED)[2].endswith("Corpus: 9 documents (3 near_duplicate, 1 unreadable left out).")
    assert fewer.status["corpus"] == {"documents": 9, "near_duplicate": 3, "unreadable": 1}
    refused = with_result(PrepareResult(accepted=False, reason="CorpusNotFound", message="No such file."))
    assert p.wanted(refused, ACCEPTED)[:2] == ("False", Reason.CORPUS_NOT_FOUND)
    assert "corpus" not in refused.status
    assert refused.blocks
    assert (refused.phase, refused.doing) == (Phase.PENDING, "cannot be prepared: CorpusNotFound")


def test_accepted_run_needs_no_preparation_any_more() -> None:
    step = prepare(p.at_work(), p.NOW)
    assert not step.blocks
    assert not [a for a in p.actions_of(step, Create) if a.manifest["kind"] == "Job"]


@pytest.mark.parametrize(("ended_ago", "again"), [(1, False), (RESULT_SECONDS + 1, True)])
def test_job_whose_result_was_lost_is_run_again(ended_ago: float, again: bool) -> None:
    job = p.job("mini-prepare", Role.PREPARE, complete=True, ended_at=p.ago(ended_ago))
    assert bool(p.actions_of(prepare(p.seen(jobs=[job]), p.NOW), Remove)) == again


def test_failed_job_is_told_with_its_cause() -> None:
    pod = p.pod(Role.PREPARE, job="mini-prepare", phase="Failed", containers=(p.ended(1),))
    job = p.job("mini-prepare", Role.PREPARE, failed=True, failure="BackoffLimitExceeded")
    assert p.actions_of(prepare(p.seen(pods=[pod], jobs=[job]), p.NOW), FetchLog)
    step = prepare(p.seen(pods=[pod], jobs=[job], logs={(pod.meta.uid, "main", 0): "No space left"}), p.NOW)
    assert p.wanted(step, ACCEPTED)[1] == Reason.JOB_FAILED
    assert "No space left" in p.wanted(step, ACCEPTED)[2]


def test_retry_gives_the_job_another_name() -> None:
    step = prepare(p.seen(p.run_record(p.holding(handled_retry=2)), jobs=[JOB]), p.NOW)
    assert [a.manifest["metadata"]["name"] for a in p.actions_of(step, Create)][-1] == "mini-prepare-a2"
    assert [a.record for a in p.actions_of(step, Remove)] == [JOB]


def test_run_waits_until_its_deleted_namesake_has_gone() -> None:
    old = p.pod(Role.ENGINE, "old")
    batch = p.batch(0)
    step = prepare(p.seen(leftovers=[old, batch]), p.NOW)
    assert [a.record for a in p.actions_of(step, Remove)] == [old, batch]
    assert not p.actions_of(step, Create)
    assert (step.blocks, step.phase) == (True, Phase.PENDING)


def test_preparation_without_a_pod_is_no_preparation_at_work() -> None:
    old = p.job("mini-prepare", Role.PREPARE, created_at=p.ago(60))
    step = prepare(p.seen(jobs=[old]), p.NOW)
    assert p.wanted(step, ACCEPTED)[:2] == ("False", Reason.NO_POD)
    fresh = prepare(p.seen(jobs=[p.job("mini-prepare", Role.PREPARE, created_at=p.NOW)]), p.NOW)
    assert p.wanted(fresh, ACCEPTED)[:2] == ("False", Reason.PREPARING)
    assert fresh.wake_after_seconds is not None, "no event comes of a pod that is not made"
