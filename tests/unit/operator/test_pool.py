"""A stand-alone EnvBatch has a run's pool, policies and proofs; its programs are judged only in proven sandboxes."""

from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.labels import HASH_ANNOTATION, RUN, RUN_UID, Role
from spade_contracts.resources import BatchCondition, EnvBatchStatus, Reason
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.statuses import ProbeResult, ScoreDistribution, VerifySummary
from spade_contracts.tasks import VerifyTask
from spade_operator.containers import ContainerRecord
from spade_operator.facts import Facts
from spade_operator.keys import Key, keys_of, run_key
from spade_operator.reconcile.observe import ObservedPool, observe_pool
from spade_operator.reconcile.pool import decide_pool
from spade_operator.reconcile.steps import Admit, Apply, Create, Remove
from spade_operator.reconcile.work import MAX_FAILED_JOBS
from spade_operator.records import JobRecord, Kind, PodRecord, record_of

FRESH = p.pod(Role.SANDBOX, created_at=p.ago(10))
SUMMARY = VerifySummary(
    programs=8, accepted=5, rejected={"controls/wins_by_null": 2, "parse/syntax": 1}, without_solution=2,
    diversity=0.75, seconds=12.25,
    mutation_scores=ScoreDistribution(
        programs=5, mean=0.5, minimum=0.25, lower_quartile=0.4, median=0.5, upper_quartile=0.6, maximum=1.0
    ),
    storage_uri="file:///storage/default/pool-batch/verifications/abc",
)  # fmt: skip
JOB = "pool-verify-a0"


def decided(seen: ObservedPool) -> tuple[list[Any], EnvBatchStatus, float | None]:
    actions, status, wake = decide_pool(seen, p.NOW)
    return list(actions), status, wake


def proven(batch: Any = None, **parts: Any) -> ObservedPool:
    """One admitted sandbox pod and a beacon, besides what is given."""
    pods: dict[PodRecord, Any] = {p.SANDBOX: p.sandbox_says(), p.BEACON: p.beacon_says(), **parts.pop("pods", {})}
    known = batch or p.pool_record(p.pool_holding(BatchCondition.ISOLATED, admitted={p.SANDBOX.meta.name: "boot-0001"}))
    return p.pool_seen(known, pods=pods, **parts)


def job(attempt: int = 0, **changes: Any) -> JobRecord:
    return p.job(f"pool-verify-a{attempt}", Role.WORKER, **changes)


def worker(**changes: Any) -> PodRecord:
    return p.pod(Role.WORKER, f"{JOB}-0", job=JOB, **{"index": 0, **changes})


def condition(status: EnvBatchStatus, kind: BatchCondition) -> tuple[str, str]:
    found = next(c for c in status.conditions if c.type == kind)
    return str(found.status), found.reason


def made(actions: list[Any]) -> list[str]:
    return [f"{a.manifest['kind']}/{a.manifest['metadata']['name']}" for a in actions if isinstance(a, Apply | Create)]


def removed(actions: list[Any]) -> set[Kind]:
    return {a.record.meta.kind for a in actions if isinstance(a, Remove)}


def test_tokens_policies_and_names_come_before_the_first_pod() -> None:
    names = made(decided(p.pool_seen())[0])
    first_pod = names.index("Deployment/pool-batch-beacon")
    ground = [name for name in names if name.startswith(("Secret/", "NetworkPolicy/", "Service/", "ConfigMap/"))]
    assert max(names.index(name) for name in ground) < first_pod
    assert "NetworkPolicy/pool-batch-closed" in ground
    assert names[-1] == "Deployment/pool-batch-sandbox"
    assert not any("engine-tokens" in name or "learner" in name or "prepare" in name for name in names)


def test_nothing_is_judged_before_a_sandbox_is_proven() -> None:
    probing = p.pool_seen(pods={FRESH: None, p.BEACON: p.beacon_says()})
    actions, status, _ = decided(probing)
    assert not any(isinstance(action, Create) for action in actions)
    assert condition(status, BatchCondition.ISOLATED) == ("False", Reason.PROBING)
    assert condition(status, BatchCondition.VERIFIED) == ("False", Reason.WAITING)


@pytest.mark.parametrize("reached", [True, False])
def test_pod_with_an_open_network_is_never_given_a_program(reached: bool) -> None:
    says = p.sandbox_says()
    assert says.probe is not None
    probe = says.probe.model_copy(update={"attempts": tuple(p.attempt(k, reached=reached) for k in p.KINDS)})
    seen = p.pool_seen(pods={FRESH: says.model_copy(update={"probe": probe}), p.BEACON: p.beacon_says()})
    actions, status, _ = decided(seen)
    assert bool([a for a in actions if isinstance(a, Admit)]) is not reached
    assert bool([a for a in actions if isinstance(a, Create)]) is not reached
    if reached:
        assert condition(status, BatchCondition.ISOLATED) == ("False", Reason.NETWORK_OPEN)


def test_job_is_made_in_a_proven_pool_and_says_what_is_to_be_judged() -> None:
    batch = p.pool_record(
        source={"programs": "file:///storage/a.jsonl", "domain": "Games"},
        sandbox={"limits": {"cpuSeconds": 7}},
        verification={"maxSteps": 99},
        workers=3,
    )
    actions, status, _ = decided(proven(batch))
    (create,) = [action for action in actions if isinstance(action, Create)]
    template = create.manifest["spec"]["template"]
    task = VerifyTask.model_validate_json(template["metadata"]["annotations"]["spade.dev/task"])
    assert create.manifest["metadata"]["name"] == JOB
    assert create.manifest["spec"]["completions"] == 3
    assert template["spec"]["volumes"][2]["persistentVolumeClaim"]["claimName"] == "programs"
    assert (task.programs_uri, task.workers) == ("file:///storage/a.jsonl", 3)
    assert (task.limits.cpu_seconds, task.settings.max_steps) == (7, 99)
    assert task.sandbox_host == "pool-batch-sandbox.default.svc"
    assert condition(status, BatchCondition.VERIFIED) == ("False", Reason.JUDGING)
    assert condition(status, BatchCondition.GENERATED) == ("False", Reason.NOT_APPLICABLE)


def test_summary_becomes_the_status_and_then_the_pods_go() -> None:
    done = worker(phase="Succeeded", containers=(p.ended(0, SUMMARY.model_dump_json()),))
    _, status, _ = decided(proven(pods={done: None}, jobs=[job(failed_pods=1)]))
    assert (status.requested, status.attempts, status.accepted, status.valid_per_attempt) == (8, 8, 5, "0.625")
    assert status.rejected == {"controls/wins_by_null": 2, "parse/syntax": 1}
    assert status.without_solution == 2
    assert status.mutation_scores is not None
    assert (status.mutation_scores.median, status.mutation_scores.lower_quartile) == ("0.500", "0.400")
    assert (status.diversity, status.seconds, status.storage_uri) == ("0.750", "12.2", SUMMARY.storage_uri)
    assert status.restarts == {"worker": Restarts(since_progress=1, total=1)}
    for kind in (BatchCondition.VERIFIED, BatchCondition.COMPLETE):
        assert condition(status, kind)[0] == "True"

    deployments = [p.deployment(role) for role in (Role.SANDBOX, Role.BEACON)]
    ended = proven(p.pool_record(status), pods={done: None}, jobs=[job()], deployments=deployments)
    actions, after, _ = decided(ended)
    assert removed(actions) == {Kind.DEPLOYMENT, Kind.JOB, Kind.POD}
    assert not made(actions)
    assert condition(after, BatchCondition.ISOLATED) == ("False", Reason.FINISHED)
    assert (after.accepted, after.doing, after.admitted) == (5, "complete", {})
    assert decided(p.pool_seen(p.pool_record(after)))[:2] == ([], after), "what is over is left alone"


def test_lost_worker_is_counted_before_its_job_says_so() -> None:
    done = worker(phase="Succeeded", containers=(p.ended(0, SUMMARY.model_dump_json()),))
    dead = p.pod(Role.WORKER, "dead", job=JOB, index=0, phase="Failed")
    _, status, _ = decided(proven(pods={dead: None, done: None}, jobs=[job()]))
    assert status.restarts == {"worker": Restarts(since_progress=1, total=1)}


def test_a_pool_without_one_good_program_is_verified_all_the_same() -> None:
    none = SUMMARY.model_copy(update={"accepted": 0, "mutation_scores": None, "diversity": None})
    done = worker(phase="Succeeded", containers=(p.ended(0, none.model_dump_json()),))
    _, status, _ = decided(proven(pods={done: None}, jobs=[job()]))
    assert condition(status, BatchCondition.COMPLETE)[0] == "True"
    assert condition(status, BatchCondition.FAILED)[0] == "False"
    assert (status.mutation_scores, status.diversity) == (None, None)


def test_gate_that_accepts_a_known_bad_program_is_believed_in_nothing() -> None:
    unsound = SUMMARY.model_copy(
        update={"accepted": 0, "canaries": {"bad": 4, "false_accepts/controls": 1}, "let_through": ("fixed_word",)}
    )
    done = worker(phase="Succeeded", containers=(p.ended(0, unsound.model_dump_json()),))
    _, status, _ = decided(proven(pods={done: None}, jobs=[job()]))
    assert condition(status, BatchCondition.FAILED) == ("True", Reason.GATE_FALSE_ACCEPT)
    assert condition(status, BatchCondition.VERIFIED) == ("False", Reason.GATE_FALSE_ACCEPT)
    assert condition(status, BatchCondition.COMPLETE)[0] == "False"
    assert (status.accepted, status.canaries["false_accepts/controls"]) == (None, 1)
    assert "fixed_word" in next(c.message for c in status.conditions if c.type == BatchCondition.FAILED)


def test_result_is_read_even_while_the_pool_is_not_proven() -> None:
    done = worker(phase="Succeeded", containers=(p.ended(0, SUMMARY.model_dump_json()),))
    _, status, _ = decided(p.pool_seen(pods={FRESH: None, done: None}, jobs=[job()]))
    assert condition(status, BatchCondition.COMPLETE)[0] == "True"


def test_worker_that_says_trying_again_cannot_help_fails_the_batch_with_its_words() -> None:
    words = SUMMARY.model_copy(update={"error": "file:///storage/programs: holds no program"}).model_dump_json()
    dead = worker(phase="Failed", containers=(p.ended(2, words),))
    _, status, _ = decided(proven(pods={dead: None}, jobs=[job()]))
    failed = next(c for c in status.conditions if c.type == BatchCondition.FAILED)
    assert (failed.status, failed.reason) == ("True", Reason.JOB_FAILED)
    assert "holds no program" in failed.message
    assert "spec.retry" in failed.message


def test_failed_batch_is_tried_again_under_a_new_number_when_retry_is_raised() -> None:
    lost = {"sandbox": Restarts(since_progress=4, total=4)}
    failed = EnvBatchStatus(
        conditions=(p.condition(BatchCondition.FAILED, True, Reason.JOB_FAILED),), job_attempt=2, restarts=lost
    )
    actions, kept, _ = decided(p.pool_seen(p.pool_record(failed), jobs=[job(2, failed=True)]))
    assert removed(actions) == {Kind.JOB}
    assert condition(kept, BatchCondition.FAILED)[0] == "True"

    _, taken_up, _ = decided(p.pool_seen(p.pool_record(failed, retry=1)))
    assert condition(taken_up, BatchCondition.FAILED) == ("False", Reason.RUNNING)
    assert taken_up.restarts == {"sandbox": Restarts(since_progress=0, total=4)}
    actions = decided(proven(p.pool_record(taken_up, retry=1)))[0]
    assert "Job/pool-verify-a10" in made(actions)


def test_jobs_that_fail_are_repeated_up_to_a_number() -> None:
    jobs = [job(n, failed=True, failure="BackoffLimitExceeded: …") for n in range(MAX_FAILED_JOBS)]
    once = decided(proven(jobs=jobs[:1]))[1]
    assert once.job_attempt == 1
    last = p.pool_record(p.pool_holding(BatchCondition.ISOLATED, job_attempt=MAX_FAILED_JOBS - 1))
    assert condition(decided(proven(last, jobs=jobs))[1], BatchCondition.FAILED) == ("True", Reason.JOB_FAILED)


def test_sandboxes_lost_beyond_the_budget_fail_the_batch() -> None:
    for spent, fails in ((2, False), (3, True)):
        status = p.pool_holding(restarts={"sandbox": Restarts(since_progress=spent, total=spent)})
        _, after, _ = decided(proven(p.pool_record(status, sandbox={"restarts": 2})))
        assert (condition(after, BatchCondition.FAILED)[0] == "True") is fails
    assert condition(after, BatchCondition.FAILED)[1] == Reason.RESTART_BUDGET_SPENT


def test_suspended_batch_gives_its_pods_back_and_goes_on_under_another_number() -> None:
    deployments = [p.deployment(role) for role in (Role.SANDBOX, Role.BEACON)]
    batch = p.pool_record(p.pool_holding(BatchCondition.ISOLATED), suspend="Now")
    actions, status, _ = decided(proven(batch, pods={worker(): None}, jobs=[job()], deployments=deployments))
    assert removed(actions) == {Kind.DEPLOYMENT, Kind.JOB, Kind.POD}
    assert all(a.grace_seconds is not None for a in actions if a.record.meta.kind is Kind.POD)
    assert condition(status, BatchCondition.SUSPENDED) == ("False", Reason.SUSPENDING)
    assert (status.job_attempt, status.admitted) == (1, {})

    actions, status, _ = decided(p.pool_seen(p.pool_record(status, suspend="Now")))
    assert actions == []
    assert condition(status, BatchCondition.SUSPENDED) == ("True", Reason.SUSPENDED_BY_USER)
    assert "Job/pool-verify-a1" in made(decided(proven(p.pool_record(status)))[0])


def test_suspending_at_the_boundary_lets_begun_work_end_and_begins_none() -> None:
    batch = p.pool_record(p.pool_holding(BatchCondition.ISOLATED), suspend="AtBoundary")
    actions, _, _ = decided(proven(batch, pods={worker(): None}, jobs=[job()]))
    assert not removed(actions)
    actions, status, _ = decided(proven(batch))
    assert removed(actions) == {Kind.POD}
    assert not made(actions)
    assert condition(status, BatchCondition.SUSPENDED)[1] == Reason.SUSPENDING


def test_leftovers_of_a_deleted_namesake_go_first() -> None:
    old = p.pod(Role.SANDBOX, "old")
    actions, status, wake = decided(p.pool_seen(leftovers=[old]))
    assert [a.record for a in actions if isinstance(a, Remove)] == [old]
    assert not made(actions)
    assert wake is not None
    assert condition(status, BatchCondition.VERIFIED) == ("False", Reason.WAITING)


def test_job_that_gets_no_pod_is_told_of() -> None:
    waiting = job(created_at=p.ago(60))
    assert condition(decided(proven(jobs=[waiting]))[1], BatchCondition.VERIFIED) == ("False", Reason.NO_POD)
    stuck = worker(phase="Pending", unschedulable='persistentvolumeclaim "programs" not found')
    _, status, _ = decided(proven(pods={stuck: None}, jobs=[waiting]))
    assert condition(status, BatchCondition.VERIFIED) == ("False", Reason.UNSCHEDULABLE)


def raw_batch(**spec: Any) -> dict[str, Any]:
    meta = {"name": p.POOL, "namespace": "default", "uid": "the-uid", "labels": {RUN: "mini"}, "resourceVersion": "3"}
    return {"metadata": meta, "spec": spec}


def test_stand_alone_batch_heads_its_own_family_whatever_labels_it_has() -> None:
    alone = record_of(Kind.BATCH, raw_batch(source={"programs": "file:///storage/x"}, storage={"claimName": "c"}))
    assert (alone.meta.run, alone.meta.run_uid) == (p.POOL_FAMILY, "the-uid")
    of_a_run = record_of(Kind.BATCH, raw_batch(run="mini", cycle=0, policyVersion=0))
    assert (of_a_run.meta.run, of_a_run.meta.run_uid) == ("mini", "")


def test_everything_of_a_family_asks_its_batch() -> None:
    key = Key(Kind.BATCH, "default", p.POOL, p.POOL_FAMILY)
    assert key.alone
    assert run_key("default", p.POOL_FAMILY) == key
    child = record_of(Kind.POD, {"metadata": {
        "name": "x", "namespace": "default", "uid": "u", "labels": {RUN: p.POOL_FAMILY, RUN_UID: "the-uid"},
        "annotations": {HASH_ANNOTATION: "h"}, "resourceVersion": "4",
    }})  # fmt: skip
    assert list(keys_of(child)) == [key]
    facts = Facts()
    batch = record_of(Kind.BATCH, raw_batch(source={"programs": "file:///storage/x"}, storage={"claimName": "c"}))
    assert list(keys_of(batch)) == [key]
    for record in (batch, child):
        facts.put(record)
    seen = observe_pool(facts, p.SITE, "default", p.POOL)
    assert seen is not None
    assert (seen.head, seen.pods) == (batch, (child,))
    assert observe_pool(facts, p.SITE, "default", "mini") is None


def test_open_network_that_a_fresh_pod_finds_ends_the_job_and_the_older_pods_until_it_is_closed() -> None:
    reached = ProbeResult(gvisor=True, kernel="4.4.0", attempts=(p.attempt("outside", reached=True),), seconds=1)
    spy = p.pod(Role.SANDBOX, "spy", ip="10.0.0.9", created_at=p.ago(5))
    parts: dict[str, Any] = {"pods": {spy: p.sandbox_says(probe=reached), worker(): None}, "jobs": [job()]}
    actions, status, _ = decided(proven(**parts))
    assert condition(status, BatchCondition.ISOLATED) == ("False", Reason.NETWORK_OPEN)
    assert p.SANDBOX in {action.record for action in actions if isinstance(action, Remove)}
    actions, status, _ = decided(proven(p.pool_record(status), **parts))
    assert {Kind.JOB, Kind.POD} <= removed(actions)
    assert status.job_attempt == 1
    waiting = decided(proven(p.pool_record(status), pods={spy: p.sandbox_says(probe=reached)}))[0]
    assert not [name for name in made(waiting) if name.startswith("Job/")]


def test_server_that_would_end_so_for_ever_fails_the_batch_with_its_last_words() -> None:
    waiting = ContainerRecord(
        "sandbox", 1, waiting_reason="CrashLoopBackOff", last_exit_code=2, last_message="no tokens"
    )
    _, status, _ = decided(p.pool_seen(pods=[p.pod(Role.SANDBOX, containers=(waiting,))]))
    assert condition(status, BatchCondition.FAILED) == ("True", Reason.POD_FAILED)
    failed = next(c for c in status.conditions if c.type == BatchCondition.FAILED)
    assert "no tokens" in failed.message
    assert failed.message.endswith("Then raise spec.retry.")
