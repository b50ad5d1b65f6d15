"""Names, labels and meanings of every metric of ours (design §12). Exporters are built from this table."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Prometheus type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class MetricSpec:
    """One metric family. `name` is what a scrape shows, `_total` included."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    exporter: str = "operator"
    buckets: tuple[float, ...] = ()


RUN = ("namespace", "run")
BATCH = ("namespace", "batch")
SECONDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)
STEP_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

METRICS: tuple[MetricSpec, ...] = (
    MetricSpec("spade_operator_up", Kind.GAUGE, "1 while an operator answers scrapes."),
    MetricSpec("spade_run_phase", Kind.GAUGE, "1 for the run's present phase.", (*RUN, "phase")),
    MetricSpec("spade_run_condition", Kind.GAUGE, "1 where a condition of the run is True.", (*RUN, "condition")),
    MetricSpec(
        "spade_run_failure", Kind.GAUGE, "1 for the reason that the run failed for; absent else.", (*RUN, "reason")
    ),
    MetricSpec("spade_rollouts_completed_total", Kind.COUNTER, "Rollouts trained and proven.", RUN),
    MetricSpec("spade_rollout", Kind.GAUGE, "The rollout in work.", RUN),
    MetricSpec("spade_rollout_episodes_planned", Kind.GAUGE, "Episodes of the rollout in work.", RUN),
    MetricSpec("spade_rollout_episodes_done", Kind.GAUGE, "Episodes of it that are done.", RUN),
    MetricSpec(
        "spade_learnable_fraction",
        Kind.GAUGE,
        "Share of environments whose mean unhinted return is in [0.2, 0.8], latest rollout.",
        RUN,
    ),
    MetricSpec(
        "spade_learnable_fraction_baseline",
        Kind.GAUGE,
        "The same share over earlier rollouts that trained the same skills; absent until there are four of them.",
        RUN,
    ),
    MetricSpec("spade_mean_return", Kind.GAUGE, "Mean unhinted return, latest rollout.", RUN),
    MetricSpec(
        "spade_environments_total",
        Kind.COUNTER,
        "Designer attempts by last stage and reason; stage `accepted` has an empty reason.",
        (*RUN, "stage", "reason"),
    ),
    MetricSpec(
        "spade_kept_cycles_total",
        Kind.COUNTER,
        "Cycles that played the environments of an earlier one again, because no program was accepted.",
        RUN,
    ),
    MetricSpec(
        "spade_designer_requests_total",
        Kind.COUNTER,
        "Requests of finished cycles to OpenAI-compatible endpoints that design or write hints.",
        RUN,
    ),
    MetricSpec(
        "spade_designer_cost_total",
        Kind.COUNTER,
        "Cost of them by the prices of the settings, in their currency.",
        RUN,
    ),
    MetricSpec(
        "spade_corpus_rows",
        Kind.GAUGE,
        "Rows of the corpus: `documents`, and those left out by reason.",
        (*RUN, "state"),
    ),
    MetricSpec(
        "spade_verifier_failures_total", Kind.COUNTER, "Verifiers shown wrong in play, by reason.", (*RUN, "reason")
    ),
    MetricSpec(
        "spade_gate_false_accepts_total",
        Kind.COUNTER,
        "Known bad programs that the gate accepted, by the stage that should have rejected them.",
        (*RUN, "stage"),
    ),
    MetricSpec(
        "spade_gate_false_rejects_total",
        Kind.COUNTER,
        "Known good programs that the gate rejected, by the stage that did.",
        (*RUN, "stage"),
    ),
    MetricSpec("spade_gate_canaries_total", Kind.COUNTER, "Known programs judged.", (*RUN, "kind")),
    MetricSpec("spade_episodes_total", Kind.COUNTER, "Episodes by outcome.", (*RUN, "outcome", "hinted")),
    MetricSpec(
        "spade_prefix_checks_total",
        Kind.COUNTER,
        "Episodes by how the chat template's rendering compares with the tokens that are trained.",
        (*RUN, "result"),
    ),
    MetricSpec("spade_hint_regret", Kind.GAUGE, "Mean hint regret of the latest cycle.", RUN),
    MetricSpec(
        "spade_hint_regret_standard_error",
        Kind.GAUGE,
        "Standard error of that mean, over its environments; absent where it is not known.",
        RUN,
    ),
    MetricSpec("spade_policy_version", Kind.GAUGE, "The policy version that all engines are proven at.", RUN),
    MetricSpec("spade_sandbox_pods", Kind.GAUGE, "Sandbox pods by state.", (*RUN, "state")),
    MetricSpec(
        "spade_sandbox_demand",
        Kind.GAUGE,
        "Sessions that the run's workers hold or wait for, as polled last.",
        RUN,
    ),
    MetricSpec("spade_restarts_total", Kind.COUNTER, "Pods or groups replaced, by role.", (*RUN, "role")),
    MetricSpec("spade_weight_verifications_total", Kind.COUNTER, "Weight proofs by result.", (*RUN, "result")),
    MetricSpec("spade_stage_seconds", Kind.GAUGE, "Seconds of each stage, latest rollout.", (*RUN, "stage")),
    MetricSpec(
        "spade_batch_condition",
        Kind.GAUGE,
        "1 where a condition of a stand-alone EnvBatch is True.",
        (*BATCH, "condition"),
    ),
    MetricSpec(
        "spade_batch_programs_total",
        Kind.COUNTER,
        "Programs of a stand-alone EnvBatch by last stage and reason; stage `accepted` has an empty reason.",
        (*BATCH, "stage", "reason"),
    ),
    MetricSpec(
        "spade_batch_mutation_score", Kind.GAUGE, "Median mutation score of a stand-alone EnvBatch's programs.", BATCH
    ),
    MetricSpec("spade_batch_diversity", Kind.GAUGE, "Diversity of a stand-alone EnvBatch's accepted programs.", BATCH),
    MetricSpec(
        "spade_batch_sandbox_pods", Kind.GAUGE, "Sandbox pods of a stand-alone EnvBatch by state.", (*BATCH, "state")
    ),
    MetricSpec(
        "spade_batch_sandbox_demand",
        Kind.GAUGE,
        "Sessions that the workers of a stand-alone EnvBatch hold or wait for, as polled last.",
        BATCH,
    ),
    MetricSpec(
        "spade_batch_restarts_total",
        Kind.COUNTER,
        "Replaced pods of a stand-alone EnvBatch by role.",
        (*BATCH, "role"),
    ),
    MetricSpec("spade_reconcile_seconds", Kind.HISTOGRAM, "Seconds of one pass.", ("kind",), buckets=SECONDS),
    MetricSpec("spade_reconcile_errors_total", Kind.COUNTER, "Passes that ended in an error.", ("kind", "error")),
    MetricSpec(
        "spade_events_total",
        Kind.COUNTER,
        "Kubernetes Events by type and by what became of them: posted, failed, or dropped because there were too many.",
        ("type", "result"),
    ),
    MetricSpec(
        "spade_drift_repairs_total",
        Kind.COUNTER,
        "Children that were applied again because somebody else had changed or deleted them.",
        ("kind",),
    ),
    MetricSpec("spade_api_requests_total", Kind.COUNTER, "Calls to the API server.", ("verb", "resource", "code")),
    MetricSpec(
        "spade_episode_return",
        Kind.HISTOGRAM,
        "Returns of scored episodes.",
        ("hinted",),
        "worker",
        (-1, -0.5, 0, 0.2, 0.4, 0.6, 0.8, 1),
    ),
    MetricSpec("spade_worker_episodes_total", Kind.COUNTER, "Episodes here.", ("outcome", "hinted"), "worker"),
    MetricSpec(
        "spade_worker_prefix_checks_total",
        Kind.COUNTER,
        "Episodes here by how the chat template's rendering compares with the tokens that are trained.",
        ("result",),
        "worker",
    ),
    MetricSpec(
        "spade_worker_flawed_answers_total",
        Kind.COUNTER,
        "Answers of the policy by flaw: `unended` (no end token), `control_tokens` (some in its text, which are broken "
        "up), `malformed_call` (a tool call that cannot be read).",
        ("role", "flaw"),
        "worker",
    ),
    MetricSpec(
        "spade_worker_documents_cut_total",
        Kind.COUNTER,
        "Documents of which a request holds only the beginning, by the limit: `words`, `tokens`, `context`.",
        ("limit",),
        "worker",
    ),
    MetricSpec("spade_sandbox_sessions", Kind.GAUGE, "Sessions of this worker by state.", ("state",), "worker"),
    MetricSpec(
        "spade_sandbox_sessions_ended_total",
        Kind.COUNTER,
        "Sessions of this worker by how they ended.",
        ("outcome",),
        "worker",
    ),
    MetricSpec(
        "spade_sandbox_step_seconds", Kind.HISTOGRAM, "A step, as the worker sees it.", (), "worker", STEP_SECONDS
    ),
    MetricSpec("spade_worker_tokens_total", Kind.COUNTER, "Tokens generated for this worker.", ("role",), "worker"),
    MetricSpec(
        "spade_endpoint_requests_total",
        Kind.COUNTER,
        "Requests to OpenAI-compatible endpoints by role (`designer`, `hints`) and result.",
        ("role", "result"),
        "worker",
    ),
    MetricSpec(
        "spade_endpoint_tokens_total",
        Kind.COUNTER,
        "Tokens that endpoints say they read (`prompt`) and wrote (`completion`) in slots that are done.",
        ("kind",),
        "worker",
    ),
    MetricSpec(
        "spade_endpoint_cost_total",
        Kind.COUNTER,
        "Cost of them by the prices of the settings, in their currency.",
        (),
        "worker",
    ),
    MetricSpec("spade_train_step_seconds", Kind.HISTOGRAM, "One optimiser step.", (), "learner", SECONDS),
    MetricSpec("spade_loss", Kind.GAUGE, "Loss of the latest step.", (), "learner"),
    MetricSpec("spade_kl", Kind.GAUGE, "Penalty against policy 0, latest step.", (), "learner"),
    MetricSpec("spade_gradient_norm", Kind.GAUGE, "Gradient norm before clipping, latest step.", (), "learner"),
    MetricSpec("spade_designer_reward", Kind.GAUGE, "Mean reward of the designer samples trained last.", (), "learner"),
    MetricSpec(
        "spade_step_samples",
        Kind.GAUGE,
        "Samples of the latest step by kind: player and designer are trained, repeat are plays trained once more; "
        "trimmed, padding and masked are not trained; alone are designs without another one of their skill: their "
        "advantage is 0.",
        ("kind",),
        "learner",
    ),
    MetricSpec(
        "spade_importance_clipped_fraction", Kind.GAUGE, "Tokens whose importance weight was cut.", (), "learner"
    ),
    MetricSpec(
        "spade_weight_sync_seconds",
        Kind.HISTOGRAM,
        "Transfer of one policy to one engine.",
        ("transport",),
        "learner",
        SECONDS,
    ),
    MetricSpec("spade_idle_ratio", Kind.GAUGE, "Share of time without work since start.", ("role",), "learner"),
    MetricSpec("spade_engine_policy_version", Kind.GAUGE, "Version proven at this boot, -1 for none.", (), "engine"),
    MetricSpec("spade_engine_requests_total", Kind.COUNTER, "Requests by result.", ("result",), "engine"),
    MetricSpec("spade_engine_generated_tokens_total", Kind.COUNTER, "Tokens generated.", (), "engine"),
)


def metric(name: str) -> MetricSpec:
    """The entry of one metric; KeyError for an unknown name is a bug of the caller."""
    return {spec.name: spec for spec in METRICS}[name]
