"""EnvBatches and RolloutJobs: a Job that ends without a result is run again under another number; results are kept."""

import dataclasses
from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.exit_codes import ExitCode
from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RolloutCondition, RolloutJobStatus, RunCondition
from spade_contracts.statuses import DesignSummary, Outcome, PlaySummary, PrefixCheck
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.env_batch import decide_batch
from spade_operator.reconcile.failure_rules import PACE_SECONDS
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.rollout_job import decide_rollout
from spade_operator.reconcile.steps import Create, FetchLog, Remove
from spade_operator.reconcile.work import MAX_FAILED_JOBS, RESULT_SECONDS, SETTLED_SECONDS
from spade_operator.records import JobRecord, PodRecord

ROLLOUT = p.plays(0)
UID = ROLLOUT.meta.uid
SUMMARY = PlaySummary(
    rollout=0, planned=12, outcomes={Outcome.SCORED: 12}, hinted=4, hinted_outcomes={Outcome.SCORED: 4},
    learnable_fraction=1 / 3, mean_return=None, hint_regret=0.25, hint_regret_standard_error=0.0625,
    prefix_checks={PrefixCheck.EXACT: 12}, tokens=5, seconds=1.25, storage_uri="file:///s",
)  # fmt: skip


def play_job(attempt: int = 0, **changes: Any) -> JobRecord:
    return p.job(f"mini-r0000-play-a{attempt}", Role.WORKER, owner_uid=UID, rollout=0, cycle=0, **changes)


def worker(attempt: int = 0, **changes: Any) -> PodRecord:
    name = f"mini-r0000-play-a{attempt}"
    return p.pod(Role.WORKER, f"{name}-{changes.get('index', 0)}", job=name, **{"index": 0, **changes})


def decided(rollout: p.RolloutRecord = ROLLOUT, **parts: Any) -> tuple[list[Any], RolloutJobStatus, float | None]:
    seen = p.at_work(rollouts=[rollout], **{"batches": [p.batch(0, "Complete")], **parts})
    actions, status, wake = decide_rollout(seen, rollout, p.NOW)
    return list(actions), status, wake


def names(actions: list[Any]) -> list[str]:
    return [a.manifest["metadata"]["name"] for a in actions if isinstance(a, Create)]


def marks(status: Any) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {c.type: (str(c.status), c.reason) for c in status.conditions}


def test_job_is_made_once_isolation_and_weights_are_proven() -> None:
    assert names(decided()[0]) == ["mini-r0000-play-a0"]
    for missing in (RunCondition.ISOLATED, RunCondition.WEIGHTS_VERIFIED):
        proven = [kind for kind in p.AT_WORK if kind is not missing]
        assert decided(run=p.run_record(p.holding(*proven)))[0] == []


def test_summary_of_worker_0_is_the_result_even_before_the_job_says_so() -> None:
    done = worker(phase="Succeeded", containers=(p.ended(0, SUMMARY.model_dump_json()),))
    actions, status, _ = decided(pods={done: None}, jobs=[play_job()])
    assert actions == []
    assert (status.planned, status.outcomes, status.hinted_outcomes) == (12, {"scored": 12}, {"scored": 4})
    assert (status.learnable_fraction, status.mean_return, status.hint_regret) == ("0.333", None, "0.250")
    assert (status.hint_regret_standard_error, status.prefix_checks) == ("0.062", {"exact": 12})
    assert marks(status) == {"Complete": ("True", Reason.FINISHED), "Failed": ("False", Reason.FINISHED)}
    other = worker(index=1, phase="Succeeded", containers=(p.ended(0, SUMMARY.model_dump_json()),))
    assert decided(pods={other: None}, jobs=[play_job()])[1].conditions == ()


def test_failed_job_is_followed_by_the_next_attempt_until_there_were_too_many() -> None:
    jobs = [play_job(n, failed=True, failure="BackoffLimitExceeded: …") for n in range(MAX_FAILED_JOBS)]
    first = decided(jobs=jobs[:1])[1]
    assert (first.job_attempt, first.conditions) == (1, ())
    last = p.plays(0, job_attempt=MAX_FAILED_JOBS - 1)
    status = decided(last, jobs=jobs)[1]
    assert marks(status) == {"Complete": ("False", Reason.JOB_FAILED), "Failed": ("True", Reason.JOB_FAILED)}


def test_last_words_of_a_worker_are_the_cause() -> None:
    dead = worker(phase="Failed", containers=(p.ended(1),))
    actions, status, _ = decided(pods={dead: None}, jobs=[play_job(failed=True)])
    assert [type(action) for action in actions] == [FetchLog]
    assert status == ROLLOUT.status, "nothing is decided before the log was read"


def test_worker_that_says_trying_again_cannot_help_fails_the_unit_at_once() -> None:
    summary = SUMMARY.model_copy(update={"error": "episodes of another run lie there"}).model_dump_json()
    dead = worker(phase="Failed", containers=(p.ended(2, summary),))
    actions, status, _ = decided(pods={dead: None}, jobs=[play_job()])
    assert [a.record.meta.name for a in actions if isinstance(a, Remove)] == ["mini-r0000-play-a0"]
    (failed,) = [c for c in status.conditions if c.type == "Failed"]
    assert "episodes of another run lie there" in failed.message


def test_pod_of_a_unit_that_waits_for_an_image_is_told_by_its_condition_until_it_does_not() -> None:
    waiting = ContainerRecord("worker", waiting_reason="ErrImagePull", waiting_message="no such host")
    pulling = worker(phase="Pending", containers=(waiting,))
    status = decided(pods={pulling: None}, jobs=[play_job()])[1]
    assert [(c.type, c.status, c.reason) for c in status.conditions] == [
        ("Complete", "False", Reason.IMAGE_UNAVAILABLE)
    ]
    rollout = dataclasses.replace(ROLLOUT, status=status)
    assert decided(rollout, pods={worker(): None}, jobs=[play_job()])[1].conditions[0].reason == Reason.RUNNING


def test_unit_of_a_run_whose_network_was_found_open_ends_its_job_and_waits() -> None:
    finding = p.condition(RunCondition.ISOLATED, False, Reason.NETWORK_OPEN, "the finding")
    others = [kind for kind in p.AT_WORK if kind is not RunCondition.ISOLATED]
    known = p.holding(*others)
    run = p.run_record(known.model_copy(update={"conditions": (*known.conditions, finding)}))
    actions, status, _ = decided(run=run, pods={worker(): None}, jobs=[play_job()])
    assert {a.record.meta.kind for a in actions if isinstance(a, Remove)} == {"Job", "Pod"}
    assert status.job_attempt == 1
    assert decided(p.plays(0, job_attempt=1), run=run)[0] == []
    without_gvisor = finding.model_copy(update={"reason": Reason.NOT_GVISOR})
    run = p.run_record(known.model_copy(update={"conditions": (*known.conditions, without_gvisor)}))
    assert decided(run=run, pods={worker(): None}, jobs=[play_job()])[0] == [], "proven pods are played out"


def test_job_that_lost_a_pod_to_the_infrastructure_costs_nothing_and_is_not_repeated_in_haste() -> None:
    def lost(attempt: int) -> PodRecord:
        return worker(attempt, phase="Failed", disruption="DeletionByTaintManager")

    jobs = [play_job(n, failed=True) for n in range(MAX_FAILED_JOBS)]
    last = p.plays(0, job_attempt=MAX_FAILED_JOBS - 1)
    status = decided(last, jobs=jobs, pods={lost(n): None for n in range(MAX_FAILED_JOBS)})[1]
    assert (status.job_attempt, status.conditions) == (MAX_FAILED_JOBS, ())
    young = play_job(failed=True, created_at=p.ago(PACE_SECONDS - 10))
    actions, status, wake = decided(jobs=[young], pods={lost(0): None})
    assert (actions, status, wake) == ([], ROLLOUT.status, pytest.approx(10))


def test_worker_that_found_storage_full_costs_nothing_and_is_told_until_another_has_run_a_while() -> None:
    said = SUMMARY.model_copy(update={"error": "run storage file:///s is full (0 bytes are free)"}).model_dump_json()

    def full(attempt: int) -> PodRecord:
        return worker(attempt, phase="Failed", containers=(p.ended(ExitCode.STORAGE_FULL, said),))

    young = play_job(failed=True, created_at=p.ago(PACE_SECONDS - 10))
    actions, status, wake = decided(jobs=[young], pods={full(0): None})
    assert (actions, wake) == ([], pytest.approx(10))
    assert marks(status) == {"Complete": ("False", Reason.STORAGE_FULL)}
    assert "is full" in status.conditions[0].message
    assert "patch pvc" in status.conditions[0].message
    jobs = [play_job(n, failed=True) for n in range(MAX_FAILED_JOBS)]
    last = dataclasses.replace(ROLLOUT, status=status.model_copy(update={"job_attempt": MAX_FAILED_JOBS - 1}))
    after = decided(last, jobs=jobs, pods={full(n): None for n in range(MAX_FAILED_JOBS)})[1]
    assert after.job_attempt == MAX_FAILED_JOBS, "it is tried without a limit"
    rollout = dataclasses.replace(ROLLOUT, status=after)
    for seconds, reason in ((1, Reason.STORAGE_FULL), (SETTLED_SECONDS, Reason.RUNNING)):
        pod = worker(MAX_FAILED_JOBS, containers=(ContainerRecord("worker", started_at=p.ago(seconds)),))
        assert marks(decided(rollout, jobs=[play_job(MAX_FAILED_JOBS)], pods={pod: None})[1])["Complete"][1] == reason


def test_evictions_that_the_job_does_not_count_are_bounded_all_the_same() -> None:
    def evicted(number: int) -> PodRecord:
        words = "The node was low on resource: memory."
        return worker(index=number, phase="Failed", disruption="TerminationByKubelet", reason="Evicted", message=words)

    for lost, over in ((5, False), (6, True)):
        actions, status, _ = decided(pods={evicted(n): None for n in range(lost)}, jobs=[play_job()])
        assert bool(status.conditions) == over
        assert bool(actions) == over
    (failed,) = [condition for condition in status.conditions if condition.type == RolloutCondition.FAILED]
    assert "spec.workers.pod.resources.requests.memory" in failed.message


def test_suspended_unit_ends_its_job_and_goes_on_under_another_number() -> None:
    run = p.run_record(p.holding(*p.AT_WORK), suspend="Now")
    actions, status, _ = decided(run=run, pods={worker(): None}, jobs=[play_job()])
    assert {a.record.meta.kind for a in actions if isinstance(a, Remove)} == {"Job", "Pod"}
    assert status.job_attempt == 1
    assert decided(p.plays(0, job_attempt=1), run=run)[0] == []
    assert names(decided(p.plays(0, job_attempt=1))[0]) == ["mini-r0000-play-a1"]


def test_attempts_after_a_retry_differ_from_all_before() -> None:
    run = p.run_record(p.holding(*p.AT_WORK, handled_retry=1), retry=1)
    assert names(decided(run=run)[0]) == ["mini-r0000-play-a10"]


def test_late_pod_of_an_earlier_attempt_goes_before_the_next_one_starts() -> None:
    late = worker(0)
    actions, _, wake = decided(p.plays(0, job_attempt=1), pods={late: None}, jobs=[play_job(0, failed=True)])
    assert [a.record for a in actions] == [late]
    assert wake is not None


def test_job_whose_result_was_lost_is_run_again() -> None:
    just = play_job(complete=True, ended_at=p.ago(1))
    assert decided(jobs=[just])[:2] == ([], ROLLOUT.status)
    long_ago = play_job(complete=True, ended_at=p.ago(RESULT_SECONDS + 1))
    assert decided(jobs=[long_ago])[1].job_attempt == 1


def test_job_of_a_deleted_namesake_is_waited_for() -> None:
    foreign = p.job("mini-r0000-play-a0", Role.WORKER, owner_uid="somebody-else")
    actions, status, wake = decided(jobs=[foreign])
    assert (actions, status, wake) == ([], ROLLOUT.status, 1.0)


def batch_result(summary: DesignSummary) -> Any:
    batch = p.batch(0)
    job = p.job("mini-c0000-design-a0", Role.WORKER, owner_uid=batch.meta.uid, cycle=0)
    pod = p.pod(Role.WORKER, "designer", job=job.meta.name, index=0, phase="Succeeded",
                containers=(p.ended(0, summary.model_dump_json()),))  # fmt: skip
    seen: Observed = p.at_work(batches=[batch], jobs=[job], pods={pod: None})
    return decide_batch(seen, batch, p.NOW)[1]


def test_batch_tells_what_was_accepted_and_why_others_were_not() -> None:
    summary = DesignSummary(
        cycle=0,
        requested=6,
        attempts=8,
        accepted=6,
        rejected={"parse/syntax": 2},
        without_solution=4,
        seconds=3,
        tokens=9,
        storage_uri="u",
    )
    status = batch_result(summary)
    assert status.without_solution == 4
    assert (status.accepted, status.rejected, status.valid_per_attempt) == (6, {"parse/syntax": 2}, "0.750")
    assert [c.type for c in status.conditions if c.status == "True"] == ["Generated", "Verified", "Complete"]


def test_batch_tells_what_endpoints_were_asked_and_cost() -> None:
    summary = DesignSummary(
        cycle=0, requested=6, attempts=8, accepted=6, seconds=3, tokens=0, endpoint_requests=11,
        endpoint_cost=0.0123456789, storage_uri="u",
    )  # fmt: skip
    status = batch_result(summary)
    assert (status.endpoint_requests, status.endpoint_cost) == (11, "0.012346")
    unasked = batch_result(summary.model_copy(update={"endpoint_requests": 0, "endpoint_cost": 0.0}))
    assert (unasked.endpoint_requests, unasked.endpoint_cost) == (None, None)


def test_batch_without_one_accepted_program_fails() -> None:
    summary = DesignSummary(
        cycle=0, requested=6, attempts=18, accepted=0, rejected={"controls/crash": 11, "parse/syntax": 7}, seconds=3,
        tokens=9, storage_uri="u",
    )  # fmt: skip
    (failed,) = [c for c in batch_result(summary).conditions if c.type == "Failed"]
    assert failed.reason == Reason.ALL_REJECTED
    assert "controls/crash" in failed.message
    assert "another name" in failed.message, "a retry adopts the verdicts that are in storage"
    paused = batch_result(summary.model_copy(update={"retry_designs_anew": True}))
    (failed,) = [c for c in paused.conditions if c.type == "Failed"]
    assert failed.reason == Reason.ALL_REJECTED
    assert failed.message.endswith("Raise spec.retry to have the cycle designed anew, with other documents and draws.")


def test_batch_that_plays_earlier_environments_again_says_so_and_is_complete() -> None:
    summary = DesignSummary(
        cycle=0, requested=6, attempts=18, accepted=0, rejected={"parse/syntax": 18}, kept=5, kept_from=3, seconds=3,
        tokens=9, storage_uri="u",
    )  # fmt: skip
    status = batch_result(summary)
    assert (status.accepted, status.kept, status.kept_from) == (0, 5, 3)
    (complete,) = [c for c in status.conditions if c.type == "Complete"]
    assert (complete.status, complete.reason) == ("True", Reason.ALL_REJECTED)
    assert "5 environments of cycle 3 are played again" in complete.message
    assert "Nothing of this cycle's designer is trained" in complete.message
    assert [c.status for c in status.conditions if c.type == "Failed"] == ["False"]


UNSOUND = DesignSummary(
    cycle=0, requested=6, attempts=0, accepted=0, seconds=3, tokens=0, storage_uri="file:///s/cycles/0000",
    canaries={"bad": 4, "good": 4, "false_accepts/order": 1}, let_through=("first_step_is_enough",),
)  # fmt: skip


def test_batch_whose_gate_let_a_known_bad_program_through_admits_nothing_and_says_what_to_do() -> None:
    status = batch_result(UNSOUND)
    nothing = ("False", Reason.GATE_FALSE_ACCEPT)
    failed = {"Failed": ("True", Reason.GATE_FALSE_ACCEPT)}
    assert marks(status) == dict.fromkeys(("Verified", "Generated", "Complete"), nothing) | failed
    (message,) = [c.message for c in status.conditions if c.type == "Failed"]
    assert "accepted 1 of 4 programs that are known to be bad (first_step_is_enough)" in message
    assert "file:///s/cycles/0000/canaries-" in message
    assert "Install" in message
    assert status.canaries == UNSOUND.canaries


def test_canaries_without_a_false_accept_are_only_told() -> None:
    figures = {"bad": 4, "good": 4, "false_rejects/mutants": 2}
    summary = UNSOUND.model_copy(update={"attempts": 6, "accepted": 6, "canaries": figures, "let_through": ()})
    status = batch_result(summary)
    assert [c.type for c in status.conditions if c.status == "True"] == ["Generated", "Verified", "Complete"]
    assert status.canaries == figures
