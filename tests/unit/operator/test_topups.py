"""What a cycle lacks of environments is designed again before its later rollouts, once each (method.md §1.2)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import DesignSummary
from spade_contracts.tasks import DesignTask
from spade_operator.children.design import design_job
from spade_operator.children.names import env_batch_name
from spade_operator.children.owner import Parent
from spade_operator.facts import Facts
from spade_operator.keys import Key, keys_of, run_key
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.env_batch import decide_batch
from spade_operator.reconcile.figures import finished_rollout
from spade_operator.reconcile.history import history
from spade_operator.reconcile.observe import Observed, observe
from spade_operator.reconcile.position import Stage, begun, position
from spade_operator.reconcile.rollout import rollout
from spade_operator.reconcile.steps import Create, Remove
from spade_operator.records import Kind, RunRecord

PLAYED: dict[str, Any] = {"outcomes": {"scored": 1}, "planned": 1}


def a_run(number: int, known: int | None, rule: str = "ToppedUp", **changes: Any) -> RunRecord:
    """Before a rollout whose predecessor's figures tell of so many environments, six being wanted; None: no figures."""
    before = () if known is None else (figures(number - 1, known),)
    place: dict[str, Any] = {"rollout": number, "cycle": number // 2, "policy_version": number, "rollouts": before}
    status = p.holding(*p.AT_WORK, **place | changes.pop("status", {}))
    return p.run_record(status, switches={"missingPrograms": rule}, **changes)


def figures(number: int, environments: int) -> RolloutFigures:
    return RolloutFigures(rollout=number, cycle=number // 2, environments=environments, outcomes={})


def created(seen: Observed) -> list[str]:
    return [a.manifest["metadata"]["name"] for a in p.actions_of(rollout(seen, p.NOW), Create)]


def proven(number: int, run: RunRecord, **parts: Any) -> Observed:
    """The rollout is trained, and its policy proven."""
    version = number + 1
    pods = {
        p.ENGINE: p.engine_says(version),
        p.LEARNER: p.learner_says(version, p.proof(p.ENGINE.meta.name, version)),
    }
    return p.at_work(number, run=run, pods=pods, rollouts=[p.plays(number, "Complete", **PLAYED)], **parts)


def test_empty_slots_are_designed_again_before_a_later_rollout() -> None:
    seen = p.at_work(1, run=a_run(1, 4))
    assert position(seen).stage is Stage.DESIGN
    assert created(seen) == ["mini-c0000-r0001"]
    step = rollout(seen, p.NOW)
    assert step.phase is Phase.DESIGNING
    assert "for rollout 1" in step.doing
    assert not begun(seen, position(seen))


def test_nothing_is_written_to_the_api_where_nothing_is_missing() -> None:
    assert created(p.at_work(1, run=a_run(1, 6))) == ["mini-r0001"]
    assert created(p.at_work(1, run=a_run(1, 4, "LeftEmpty"))) == ["mini-r0001"]
    fixed = {"cycleLength": 2, "perCycle": 6, "designer": {"source": "Pool", "pool": {"uri": "file:///storage/pool"}}}
    assert created(p.at_work(1, run=a_run(1, 4, environments=fixed, play={"hintedPlays": 0}))) == ["mini-r0001"]


def test_worker_is_asked_where_the_figures_of_the_rollout_before_are_lost() -> None:
    assert created(p.at_work(1, run=a_run(1, None))) == ["mini-c0000-r0001"]


def test_plays_follow_the_top_up_and_ask_for_no_other() -> None:
    made = p.batch(0, topup=1)
    working = p.at_work(1, run=a_run(1, 4), batches=[made])
    assert (created(working), position(working).stage) == ([], Stage.DESIGN)
    assert begun(working, position(working))
    complete = p.at_work(1, run=a_run(1, 4), batches=[p.batch(0, "Complete", topup=1)])
    assert created(complete) == ["mini-r0001"]
    playing = p.at_work(1, run=a_run(1, 4), rollouts=[p.plays(1)])
    assert position(playing).stage is Stage.PLAY, "a top-up that was deleted while its rollout plays is not missed"


def test_the_end_of_a_rollout_begins_the_top_up_of_the_next_with_the_counts_it_has_just_made() -> None:
    short = proven(0, a_run(0, None), batches=[p.batch(0, "Complete", requested=6, accepted=5)])
    assert created(short) == ["mini-c0000-r0001"]
    full = proven(0, a_run(0, None), batches=[p.batch(0, "Complete", requested=6, accepted=6)])
    assert created(full) == ["mini-r0001"]


def test_figures_count_what_top_ups_added_and_the_run_counts_their_attempts() -> None:
    topup = p.batch(0, "Complete", topup=1, requested=2, accepted=1, rejected={"parse/syntax": 3}, canaries={"good": 2})
    before = {"environments": {"accepted": 4}, "canaries": {"good": 2}}
    seen = proven(1, a_run(1, 4, status=before), batches=[p.batch(0, "Complete", requested=6, accepted=4), topup])
    said = finished_rollout(seen, position(seen), p.NOW)
    assert said["rollouts"][-1].environments == 5
    assert said["environments"] == {"accepted": 5, "parse/syntax": 3}
    assert said["canaries"] == {"good": 4}


def test_top_up_without_an_accepted_program_is_complete() -> None:
    batch = p.batch(0, topup=1)
    job = p.job("mini-c0000-r0001-design-a0", Role.WORKER, owner_uid=batch.meta.uid, cycle=0, topup=1)
    summary = DesignSummary(
        cycle=0, requested=2, attempts=10, accepted=0, rejected={"parse/syntax": 10}, seconds=3, tokens=9,
        storage_uri="u",
    )  # fmt: skip
    pod = p.pod(Role.WORKER, "designer", job=job.meta.name, index=0, phase="Succeeded",
                containers=(p.ended(0, summary.model_dump_json()),))  # fmt: skip
    seen = p.at_work(1, run=a_run(1, 4), batches=[batch], jobs=[job], pods={pod: None})
    status = decide_batch(seen, batch, p.NOW)[1]
    assert {c.type for c in status.conditions if c.status == "True"} == {"Generated", "Verified", "Complete"}
    assert (status.requested, status.accepted) == (2, 0)


def test_top_up_that_failed_fails_the_run_and_is_made_anew_by_a_retry() -> None:
    failed = p.batch(0, "Failed", topup=1, reason=Reason.JOB_FAILED, message="3 Jobs failed")
    status = decide(p.at_work(1, run=a_run(1, 4), batches=[failed]), p.NOW).status
    assert status.phase is Phase.FAILED
    again = p.run_record(status, retry=1, switches={"missingPrograms": "ToppedUp"})
    actions = decide(p.at_work(1, run=again, batches=[failed]), p.NOW).actions
    assert failed in [action.record for action in actions if isinstance(action, Remove)]


def test_task_and_labels_of_a_top_up_name_its_rollout_and_no_plays() -> None:
    seen = p.at_work(1, run=a_run(1, 4))
    batch = p.batch(0, topup=1)
    (job,) = design_job(seen.parent, Parent("EnvBatch", batch.meta.name, "u"), batch.spec, p.SITE, 0)
    template = job["spec"]["template"]["metadata"]
    task = DesignTask.model_validate_json(template["annotations"]["spade.dev/task"])
    assert (task.cycle, task.rollout, task.policy_version) == (0, 1, 1)
    assert (template["labels"]["spade.dev/cycle"], template["labels"]["spade.dev/topup"]) == ("0", "1")
    assert "spade.dev/rollout" not in template["labels"]
    whole = p.batch(0)
    (job,) = design_job(seen.parent, Parent("EnvBatch", whole.meta.name, "u"), whole.spec, p.SITE, 0)
    assert "rollout" not in job["spec"]["template"]["metadata"]["annotations"]["spade.dev/task"]


def test_pods_and_jobs_of_a_top_up_ask_it() -> None:
    asked = [run_key("default", "mini"), Key(Kind.BATCH, "default", "mini-c0003-r0007", "mini")]
    assert list(keys_of(p.pod(Role.WORKER, cycle=3, topup=7))) == asked
    assert list(keys_of(p.job("x", Role.WORKER, cycle=3, topup=7))) == asked


def test_lost_workers_of_a_top_up_are_counted_with_its_rollout_alone() -> None:
    jobs = [p.job("a", Role.WORKER, cycle=0, topup=1, failed_pods=2), p.job("b", Role.WORKER, cycle=0, failed_pods=5)]
    assert rollout(proven(1, a_run(1, 4), jobs=jobs), p.NOW).restarts == {Role.WORKER: 2}
    first = proven(0, a_run(0, None), batches=[p.batch(0, "Complete", accepted=6)], jobs=jobs)
    assert rollout(first, p.NOW).restarts == {Role.WORKER: 5}


def test_batch_and_top_up_of_a_cycle_are_both_known() -> None:
    facts = Facts()
    for record in (p.run_record(), p.batch(0, "Complete"), p.batch(0, topup=1)):
        facts.put(record)
    seen = observe(facts, p.SITE, "default", p.RUN)
    assert seen is not None
    assert (seen.batches[0].meta.name, seen.topups[1].meta.name) == ("mini-c0000", "mini-c0000-r0001")
    assert env_batch_name(p.RUN, 0, 1) == "mini-c0000-r0001"


@given(at=st.integers(0, 8), batches=st.sets(st.integers(0, 4)), topups=st.sets(st.integers(0, 4)),
       keep=st.integers(0, 3))  # fmt: skip
def test_history_keeps_the_newest_of_batches_and_top_ups_together(
    at: int, batches: set[int], topups: set[int], keep: int
) -> None:
    run = p.run_record(p.holding(rollout=at, cycle=at // 2), rollouts=9, history={"envBatches": keep})
    units = [*(p.batch(n) for n in batches), *(p.batch(n, topup=2 * n + 1) for n in topups)]
    removed = {a.record.meta.name for a in p.actions_of(history(p.seen(run, batches=units), p.NOW), Remove)}
    made_for = {u.meta.name: 2 * (u.spec.cycle or 0) if u.spec.rollout is None else u.spec.rollout for u in units}
    past = [u.meta.name for u in units if (u.spec.cycle or 0) < at // 2 or (u.spec.rollout or at) < at]
    oldest_first = sorted(past, key=lambda name: made_for[name])
    assert removed == set(oldest_first[: max(0, len(past) - keep)])
