"""The operator exports every metric it promises, at zero from the start, read from status, and gone with its object."""

from dataclasses import replace

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.metrics import METRICS
from spade_contracts.resources import BatchCondition, Phase, Reason, RunCondition, SpadeRunStatus
from spade_contracts.resources.run_parts import Restarts
from spade_contracts.resources.spade_run import RolloutFigures
from spade_operator.facts import Facts, Poll
from spade_operator.metrics import make_telemetry
from spade_operator.reconcile.demand import SILENT_AFTER_FAILURES
from spade_operator.records import RunRecord
from spade_operator.view import live_view

PROMISED = {spec.name for spec in METRICS if spec.exporter == "operator"}
BUSY = p.holding(
    phase=Phase.PLAYING, rollout=2, cycle=1, policy_version=2, learnable_fraction="0.500",
    episodes={"scored": 10, "scored/hinted": 4}, environments={"accepted": 5, "parse/syntax": 2},
    canaries={"bad": 4, "good": 4, "false_accepts/order": 1},
    verifier_failures={"crash": 3}, proofs={"verified": 4}, restarts={"engine": Restarts(since_progress=0, total=2)},
    rollouts=(RolloutFigures(rollout=1, cycle=0, environments=5, outcomes={}, stage_seconds={"play": "12.5"}),),
    doing="playing rollout 2", kept_cycles=1, prefix_checks={"exact": 7, "reencoded": 3}, hint_regret="0.200",
    hint_regret_standard_error="0.050", corpus={"documents": 9, "duplicate": 2},
    endpoint_requests=12, endpoint_cost="0.034500",
)  # fmt: skip


def exported(facts: Facts) -> dict[tuple[str, ...], float]:
    """Samples as (name, label values but namespace and run) → value."""
    text = generate_latest(make_telemetry(facts).registry).decode()
    samples: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = [value for key, value in sorted(sample.labels.items()) if key not in ("namespace", "run")]
            samples[sample.name, *labels] = sample.value
    return samples


def with_run(run: RunRecord) -> Facts:
    facts = Facts()
    facts.put(run)
    return facts


def test_every_promised_family_is_there_without_any_run() -> None:
    text = generate_latest(make_telemetry(Facts()).registry).decode()
    shown = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert shown >= PROMISED


def test_known_labels_start_at_zero() -> None:
    samples = exported(with_run(p.run_record()))
    assert samples["spade_episodes_total", "true", "scored"] == 0
    assert samples["spade_prefix_checks_total", "diverged"] == 0
    assert ("spade_hint_regret_standard_error",) not in samples, "a figure that is not known is not zero"
    assert samples["spade_environments_total", "syntax", "parse"] == 0
    assert samples["spade_verifier_failures_total", "success_with_error"] == 0
    assert samples["spade_kept_cycles_total",] == samples["spade_corpus_rows", "contaminated"] == 0
    assert samples["spade_designer_requests_total",] == samples["spade_designer_cost_total",] == 0
    assert samples["spade_gate_false_accepts_total", "order"] == 0
    assert samples["spade_gate_false_rejects_total", "mutants"] == 0
    assert samples["spade_gate_canaries_total", "good"] == 0
    assert samples["spade_events_total", "posted", "Warning"] == 0
    assert samples["spade_drift_repairs_total", "NetworkPolicy"] == 0
    assert samples["spade_verifier_failures_total", "one_transcript_wins"] == 0
    assert samples["spade_restarts_total", "learner"] == 0
    assert samples["spade_weight_verifications_total", "mismatch"] == 0
    assert samples["spade_policy_version",] == -1


def test_the_reason_that_a_run_failed_for_is_shown_while_it_is_failed() -> None:
    for holds in (True, False):
        failed = p.condition(RunCondition.FAILED, holds, Reason.ALL_REJECTED)
        samples = exported(with_run(p.run_record(SpadeRunStatus(conditions=(failed,)))))
        shown = {key: value for key, value in samples.items() if key[0] == "spade_run_failure"}
        assert shown == ({("spade_run_failure", "AllRejected"): 1} if holds else {})


def test_figures_are_read_from_status_so_they_outlive_the_operator() -> None:
    samples = exported(with_run(p.run_record(BUSY)))
    assert samples["spade_rollouts_completed_total",] == 2
    assert samples["spade_episodes_total", "false", "scored"] == 6
    assert samples["spade_episodes_total", "true", "scored"] == 4
    assert samples["spade_prefix_checks_total", "exact"] == 7
    assert samples["spade_prefix_checks_total", "per_turn"] == 0
    assert (samples["spade_hint_regret",], samples["spade_hint_regret_standard_error",]) == (0.2, 0.05)
    assert samples["spade_environments_total", "", "accepted"] == 5
    assert samples["spade_gate_false_accepts_total", "order"] == 1
    assert samples["spade_gate_canaries_total", "bad"] == 4
    assert samples["spade_restarts_total", "engine"] == 2
    assert samples["spade_kept_cycles_total",] == 1
    assert samples["spade_corpus_rows", "documents"] == 9
    assert (samples["spade_designer_requests_total",], samples["spade_designer_cost_total",]) == (12, 0.0345)
    assert samples["spade_corpus_rows", "duplicate"] == 2
    assert samples["spade_stage_seconds", "play"] == 12.5
    assert [samples["spade_run_phase", str(phase)] for phase in Phase].count(1.0) == 1


def test_series_leave_with_their_run() -> None:
    run = p.run_record(BUSY)
    facts = with_run(run)
    facts.forget(run)
    assert not [key for key in exported(facts) if key[0] == "spade_run_phase"]


def test_sandbox_pods_are_counted_by_state() -> None:
    facts = with_run(p.run_record())
    pods = [p.pod(Role.SANDBOX, "a", admitted_boot="boot-0001"), p.pod(Role.SANDBOX, "b", phase="Pending"),
            p.pod(Role.SANDBOX, "c"), p.pod(Role.SANDBOX, "d", deleting=True)]  # fmt: skip
    for pod in pods:
        facts.put(pod)
    samples = exported(facts)
    for state in ("admitted", "pending", "probing", "draining"):
        assert samples["spade_sandbox_pods", state] == 1
    assert samples["spade_sandbox_pods", "failed"] == 0


def test_demand_is_what_live_workers_hold_or_wait_for_whatever_stage_it_is() -> None:
    facts = with_run(p.run_record())
    assert exported(facts)["spade_sandbox_demand",] == 0
    for name, changes in (("one", {}), ("two", {"rollout": 1}), ("done", {"phase": "Succeeded"})):
        pod = p.pod(Role.WORKER, name, **changes)
        facts.put(pod)
        facts.set_poll(pod, Poll(p.worker_says(4, 3), "", p.NOW))
    assert exported(facts)["spade_sandbox_demand",] == 14
    facts.set_poll(p.pod(Role.WORKER, "two"), Poll(p.worker_says(4, 3), "no answer", p.NOW, SILENT_AFTER_FAILURES))
    assert exported(facts)["spade_sandbox_demand",] == 7


def test_live_page_counts_what_workers_of_the_rollout_in_work_say() -> None:
    facts = with_run(p.run_record(replace_status(phase=Phase.PLAYING)))
    for name, rollout in (("now-0", 2), ("now-1", 2), ("before", 1)):
        pod = p.pod(Role.WORKER, name, rollout=rollout)
        facts.put(pod)
        facts.set_poll(pod, Poll(p.worker_says(planned=10, done=4), "", p.NOW))
    run = facts.run("default", p.RUN)
    assert run is not None
    view = live_view(run, facts, p.NOW)
    assert (view["episodes_done"], view["episodes_planned"]) == (8, 20)
    assert view["doing"] == "playing rollout 2 (8 of 20 episodes)"


def replace_status(**changes: object) -> p.SpadeRunStatus:
    return BUSY.model_copy(update=changes)


def test_learner_is_quoted_while_it_works() -> None:
    facts = with_run(p.run_record(replace_status(phase=Phase.TRAINING, doing="training on rollout 2")))
    facts.put(p.LEARNER)
    facts.set_poll(p.LEARNER, Poll(p.learner_says(2, state="training"), "", p.NOW))
    run = facts.run("default", p.RUN)
    assert run is not None
    assert live_view(run, facts, p.NOW)["doing"] == "training on rollout 2 (learner: training)"
    assert replace(run).status.doing == "training on rollout 2", "status holds no live counts"


def test_stand_alone_batch_has_series_of_its_own_and_none_of_a_run() -> None:
    done = p.pool_holding(
        BatchCondition.COMPLETE, accepted=5, rejected={"controls/wins_by_null": 2}, diversity="0.750",
        restarts={"sandbox": Restarts(since_progress=1, total=1)},
    )  # fmt: skip
    facts = Facts()
    facts.put(p.pool_record(done))
    facts.put(replace(p.SANDBOX, meta=replace(p.SANDBOX.meta, run=p.POOL_FAMILY)))
    text = generate_latest(make_telemetry(facts).registry).decode()
    samples = {
        (
            sample.name,
            *sorted(value for key, value in sample.labels.items() if key not in ("namespace", "batch")),
        ): sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "batch" in sample.labels
    }
    assert {sample.labels["batch"] for sample in samples.values()} == {p.POOL}
    values = {key: sample.value for key, sample in samples.items()}
    assert values["spade_batch_programs_total", "controls", "wins_by_null"] == 2
    assert values["spade_batch_programs_total", "", "accepted"] == 5
    assert values["spade_batch_programs_total", "parse", "syntax"] == 0
    assert values["spade_batch_condition", "Complete"] == 1
    assert values["spade_batch_condition", "Failed"] == 0
    assert values["spade_batch_diversity",] == 0.75
    assert values["spade_batch_sandbox_pods", "admitted"] == 1
    assert values["spade_batch_restarts_total", "sandbox"] == 1
    assert ("spade_batch_mutation_score",) not in values, "a figure that was not measured is not zero"
    assert 'run="' not in text
    facts.forget(p.pool_record(done))
    assert f'batch="{p.POOL}"' not in generate_latest(make_telemetry(facts).registry).decode()
