"""A rollout goes through its stages in order, each begins once, and its end is the next one's beginning."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.statuses import LearnerState, StepFigures
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import Stage, position
from spade_operator.reconcile.rollout import rollout
from spade_operator.reconcile.spending import with_spending, without_spending
from spade_operator.reconcile.steps import Create

STEP = StepFigures(
    rollout=0, loss=0.123456789, gradient_norm=2.5, kl=0, importance_mean=1, importance_clipped_fraction=0,
    player_samples=8, designer_samples=0, tokens=9, seconds=3,
)  # fmt: skip
RESULT: dict[str, Any] = {
    "outcomes": {"scored": 10, "truncated": 2}, "hinted": 4, "hinted_outcomes": {"scored": 4}, "planned": 12,
    "learnable_fraction": "0.500", "mean_return": "0.250", "verifier_failures": {"crash": 1},
    "hint_regret": "0.200", "hint_regret_standard_error": "0.050", "prefix_checks": {"exact": 11, "none": 1},
    "started_at": p.ago(60).isoformat(), "finished_at": p.ago(20).isoformat(),
}  # fmt: skip

TOLD = {"endpoint_requests": 14, "endpoint_cost": "0.350000"}


def created(seen: Observed) -> list[tuple[str, str]]:
    return [(a.manifest["kind"], a.manifest["metadata"]["name"]) for a in p.actions_of(rollout(seen, p.NOW), Create)]


def proven(version: int, **parts: Any) -> Observed:
    """At the end of the rollout that made this version: engines are proven at it, status does not know yet."""
    pods = {
        p.ENGINE: p.engine_says(version),
        p.LEARNER: p.learner_says(version, p.proof(p.ENGINE.meta.name, version), last_step=STEP),
    } | parts.pop("pods", {})
    return p.at_work(version - 1, pods=pods, **parts)


def test_cycle_begins_with_its_environments() -> None:
    assert created(p.at_work()) == [("EnvBatch", "mini-c0000")]
    step = rollout(p.at_work(), p.NOW)
    assert (step.phase, step.status["stage_started"].keys()) == (Phase.DESIGNING, {"design"})


def test_plays_follow_complete_environments_and_later_rollouts_of_the_cycle_need_no_new_ones() -> None:
    assert created(p.at_work(batches=[p.batch(0)])) == []
    assert created(p.at_work(batches=[p.batch(0, "Complete")])) == [("RolloutJob", "mini-r0000")]
    assert created(p.at_work(1)) == [("RolloutJob", "mini-r0001")]


def test_no_work_begins_before_the_engines_are_proven() -> None:
    step = rollout(p.at_work(pods={p.ENGINE: p.engine_says(None)}), p.NOW)
    assert step.actions == ()
    assert (step.phase, step.conditions[0].reason) == (Phase.STARTING, Reason.WAITING)


def test_work_that_runs_goes_on_while_an_engine_is_proven_again() -> None:
    pods = {p.ENGINE: p.engine_says(None), p.pod(Role.WORKER): p.worker_says()}
    seen = p.at_work(batches=[p.batch(0, "Complete")], rollouts=[p.plays(0)], pods=pods)
    assert rollout(seen, p.NOW).phase is Phase.PLAYING


def test_stage_after_plays_is_training_and_then_proving() -> None:
    seen = p.at_work(rollouts=[p.plays(0, "Complete")])
    assert position(seen).stage is Stage.TRAIN
    assert rollout(seen, p.NOW).phase is Phase.TRAINING
    made = p.at_work(rollouts=[p.plays(0, "Complete")], pods={p.LEARNER: p.learner_says(1, state=LearnerState.PROVING)})
    assert rollout(made, p.NOW).phase is Phase.PROVING


def test_start_of_a_stage_is_remembered_once() -> None:
    status = p.holding(*p.AT_WORK, policy_version=0, stage_started={"train": "2026-01-01T11:00:00+00:00"})
    seen = p.at_work(run=p.run_record(status), rollouts=[p.plays(0, "Complete")])
    assert rollout(seen, p.NOW).status["stage_started"] == {"train": "2026-01-01T11:00:00+00:00"}


def test_proven_version_ends_the_rollout_with_its_figures_and_begins_the_next_in_one_pass() -> None:
    seen = proven(1, batches=[p.batch(0, "Complete", accepted=5, rejected={"parse/syntax": 2})],
                  rollouts=[p.plays(0, "Complete", **RESULT)])  # fmt: skip
    assert created(seen) == [("RolloutJob", "mini-r0001")]
    step = rollout(seen, p.NOW)
    status = step.status
    assert (status["rollout"], status["cycle"], status["policy_version"], step.phase) == (1, 0, 1, Phase.PLAYING)
    assert status["episodes"] == {"scored": 10, "scored/hinted": 4, "truncated": 2}
    assert status["environments"] == {"accepted": 5, "parse/syntax": 2}
    assert status["verifier_failures"] == {"crash": 1}
    assert status["proofs"] == {"verified": 1}
    assert (status["hint_regret"], status["hint_regret_standard_error"]) == ("0.200", "0.050")
    (figures,) = status["rollouts"]
    assert (figures.environments, figures.loss, figures.gradient_norm, figures.proof) == (
        5,
        "0.123457",
        "2.5",
        "verified",
    )
    assert figures.stage_seconds["play"] == "40.0"


def test_prefix_checks_are_added_up_and_the_regret_stays_with_its_own_error() -> None:
    before = p.holding(
        *p.AT_WORK, rollout=1, policy_version=1, prefix_checks={"exact": 5, "diverged": 2}, hint_regret="0.200",
        hint_regret_standard_error="0.050",
    )  # fmt: skip

    def after(**changes: Any) -> Any:
        plays = p.plays(1, "Complete", **(RESULT | changes))
        return rollout(proven(2, run=p.run_record(before), rollouts=[plays]), p.NOW).status

    unhinted = after(hint_regret=None, hint_regret_standard_error=None)
    assert unhinted["prefix_checks"] == {"diverged": 2, "exact": 16, "none": 1}
    assert (unhinted["hint_regret"], unhinted["hint_regret_standard_error"]) == ("0.200", "0.050")
    unknown = after(hint_regret="0.300", hint_regret_standard_error=None)
    assert (unknown["hint_regret"], unknown["hint_regret_standard_error"]) == ("0.300", None)


def test_next_cycle_begins_in_the_pass_that_ends_the_last_one() -> None:
    assert created(proven(2, rollouts=[p.plays(1, "Complete", **RESULT)])) == [("EnvBatch", "mini-c0001")]


def test_progress_refills_the_restart_budgets_and_counts_lost_workers() -> None:
    status = p.holding(*p.AT_WORK, policy_version=0, restarts={"learner": Restarts(since_progress=2, total=5)})
    lost = [p.job("a", Role.WORKER, rollout=0, cycle=0, failed_pods=2), p.job("b", Role.WORKER, cycle=0, failed_pods=1),
            p.job("c", Role.WORKER, rollout=3, cycle=1, failed_pods=9)]  # fmt: skip
    step = rollout(proven(1, run=p.run_record(status), rollouts=[p.plays(0, "Complete", **RESULT)], jobs=lost), p.NOW)
    assert step.status["restarts"] == {"learner": Restarts(since_progress=0, total=5)}
    assert step.restarts == {Role.WORKER: 3}


def test_last_rollout_ends_when_the_learner_has_written_its_checkpoint() -> None:
    plays = [p.plays(3, "Complete", **RESULT)]
    writing = p.learner_says(4, p.proof(p.ENGINE.meta.name, 4), state=LearnerState.EXPORTING)
    assert "policy_version" not in rollout(proven(4, rollouts=plays, pods={p.LEARNER: writing}), p.NOW).status
    step = rollout(proven(4, rollouts=plays), p.NOW)
    assert (step.status["rollout"], step.actions) == (4, ())


def test_cycles_that_play_earlier_environments_again_are_counted() -> None:
    kept = p.batch(1, "Complete", accepted=0, kept=5, kept_from=0, attempts=9, rejected={"parse/syntax": 9})
    plays = [p.plays(2, "Complete", **RESULT)]
    before = p.run_record(p.holding(*p.AT_WORK, policy_version=2, rollout=2, cycle=1, kept_cycles=1))
    step = rollout(proven(3, run=before, batches=[kept], rollouts=plays), p.NOW)
    assert step.status["kept_cycles"] == 2
    assert step.status["rollouts"][-1].environments == 5
    assert step.status["environments"]["parse/syntax"] == 9


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**12)), max_size=8))
def test_costs_of_cycles_add_up_to_the_last_digit(cycles: list[tuple[int, int]]) -> None:
    status, taken = p.holding(*p.AT_WORK), []
    for requests, millionths in cycles:
        cost = f"{millionths // 10**6}.{millionths % 10**6:06d}"
        made = p.batch(0, "Complete", endpoint_requests=requests or None, endpoint_cost=cost if requests else None)
        status = status.model_copy(update=with_spending(status, made.status))
        taken.append(made.status)
    spent = sum(millionths for requests, millionths in cycles if requests)
    assert status.endpoint_requests == sum(requests for requests, _ in cycles)
    assert status.endpoint_cost == (f"{spent // 10**6}.{spent % 10**6:06d}" if status.endpoint_requests else None)
    left = with_spending(status, None)
    for batch in taken:
        left = without_spending(left, batch)
    assert (left["endpoint_requests"], float(left["endpoint_cost"] or 0)) == (0, 0)


def test_what_a_cycle_cost_is_told_with_its_first_rollout_and_not_again() -> None:
    bought = p.batch(1, "Complete", accepted=5, attempts=9, endpoint_requests=10, endpoint_cost="0.250000")
    before = p.holding(*p.AT_WORK, policy_version=2, rollout=2, cycle=1, endpoint_requests=4, endpoint_cost="0.100000")
    plays = [p.plays(2, "Complete", **RESULT)]
    step = rollout(proven(3, run=p.run_record(before), batches=[bought], rollouts=plays), p.NOW)
    assert (step.status["endpoint_requests"], step.status["endpoint_cost"]) == (14, "0.350000")
    later = p.run_record(p.holding(*p.AT_WORK, policy_version=3, rollout=3, cycle=1, **TOLD))
    step = rollout(proven(4, run=later, batches=[bought], rollouts=[p.plays(3, "Complete", **RESULT)]), p.NOW)
    assert (step.status["endpoint_requests"], step.status["endpoint_cost"]) == (14, "0.350000")


def test_cost_of_a_cycle_that_came_to_nothing_is_counted_once_however_often_it_is_tried() -> None:
    asked = {"endpoint_requests": 7, "endpoint_cost": "0.700000"}
    failed = p.batch(0, "Failed", reason=Reason.ALL_REJECTED, attempts=7, accepted=0, **asked)
    first = decide(p.at_work(batches=[failed]), p.NOW).status
    assert (first.endpoint_requests, first.endpoint_cost) == (7, "0.700000")
    taken_up = decide(p.at_work(run=p.run_record(first, retry=1), batches=[failed]), p.NOW).status
    assert (taken_up.endpoint_requests, taken_up.endpoint_cost) == (0, "0.000000")


def test_rollout_job_says_how_many_episodes_are_under_way_at_once() -> None:
    run = p.run_record(p.holding(*p.AT_WORK, policy_version=0), workers={"play": 2, "episodes": 512})
    step = rollout(p.at_work(run=run, batches=[p.batch(0, "Complete", accepted=5)]), p.NOW)
    (spec,) = [action.manifest["spec"] for action in p.actions_of(step, Create)]
    assert (spec["workers"], spec["episodes"]) == (2, 512)


def test_failed_unit_fails_the_run_with_its_own_words() -> None:
    failed = p.batch(0, "Failed", reason=Reason.ALL_REJECTED, message="No program was accepted.")
    step = rollout(p.at_work(batches=[failed]), p.NOW)
    status, reason, message = p.wanted(step, RunCondition.FAILED)
    assert (status, reason, step.phase) == ("True", Reason.ALL_REJECTED, Phase.FAILED)
    assert message.startswith("No program was accepted.")


def test_attempts_of_a_cycle_that_came_to_nothing_are_counted_once_however_often_it_is_tried() -> None:
    failed = p.batch(0, "Failed", reason=Reason.ALL_REJECTED, attempts=7, accepted=0, rejected={"parse/syntax": 7})
    first = decide(p.at_work(batches=[failed]), p.NOW).status
    assert first.environments == {"accepted": 0, "parse/syntax": 7}
    again = decide(p.at_work(run=p.run_record(first), batches=[failed]), p.NOW).status
    assert again.environments == first.environments
    taken_up = decide(p.at_work(run=p.run_record(first, retry=1), batches=[failed]), p.NOW).status
    assert taken_up.environments == {}


def test_attempts_of_a_paused_cycle_stay_counted_because_a_retry_draws_others() -> None:
    failed = p.batch(0, "Failed", reason=Reason.ALL_REJECTED, attempts=7, accepted=0, rejected={"parse/syntax": 7})
    pausing = {"environments": {"designer": {"allRejected": "Pause"}}}
    first = decide(p.at_work(run=p.run_record(p.holding(*p.AT_WORK), **pausing), batches=[failed]), p.NOW).status
    taken_up = decide(p.at_work(run=p.run_record(first, retry=1, **pausing), batches=[failed]), p.NOW).status
    assert taken_up.environments == first.environments == {"accepted": 0, "parse/syntax": 7}


def test_false_accept_stops_the_run_stays_counted_over_a_retry_and_is_tried_anew() -> None:
    figures = {"bad": 4, "good": 4, "false_accepts/order": 1, "false_rejects/leaks": 1}
    before = {"bad": 8, "good": 8}
    failed = p.batch(
        0, "Failed", reason=Reason.GATE_FALSE_ACCEPT, message="Install better images.", attempts=0, canaries=figures
    )
    first = decide(p.at_work(run=p.run_record(p.holding(*p.AT_WORK, canaries=before)), batches=[failed]), p.NOW).status
    assert first.canaries == {"bad": 12, "good": 12, "false_accepts/order": 1, "false_rejects/leaks": 1}
    assert first.phase is Phase.FAILED
    (condition,) = [c for c in first.conditions if c.type == RunCondition.FAILED]
    assert (condition.reason, condition.message) == (
        Reason.GATE_FALSE_ACCEPT, "Install better images. Then raise spec.retry."
    )  # fmt: skip
    again = decide(p.at_work(run=p.run_record(first), batches=[failed]), p.NOW).status
    assert again.canaries == first.canaries
    taken_up = decide(p.at_work(run=p.run_record(first, retry=1), batches=[failed]), p.NOW).status
    assert taken_up.canaries == first.canaries


def test_canaries_of_a_cycle_that_a_retry_adopts_are_not_counted_twice() -> None:
    figures = {"bad": 4, "good": 4, "false_rejects/leaks": 1}
    failed = p.batch(0, "Failed", reason=Reason.ALL_REJECTED, attempts=7, accepted=0, canaries=figures)
    first = decide(p.at_work(batches=[failed]), p.NOW).status
    assert first.canaries == figures
    assert decide(p.at_work(run=p.run_record(first, retry=1), batches=[failed]), p.NOW).status.canaries == {}


def test_run_to_be_suspended_at_a_boundary_begins_nothing_new_but_finishes_what_it_began() -> None:
    run = p.run_record(p.holding(*p.AT_WORK, policy_version=0), suspend="AtBoundary")
    assert created(p.at_work(run=run)) == []
    assert created(p.at_work(run=run, batches=[p.batch(0, "Complete")])) == [("RolloutJob", "mini-r0000")]
    last = p.holding(*p.AT_WORK, rollout=0, policy_version=0)
    ending = proven(1, run=p.run_record(last, suspend="AtBoundary"), rollouts=[p.plays(0, "Complete", **RESULT)])
    assert created(ending) == []


def test_objects_that_were_pruned_are_wanted_again_because_finished_work_is_a_no_op() -> None:
    assert created(p.at_work(1, batches=[], rollouts=[])) == [("RolloutJob", "mini-r0001")]
