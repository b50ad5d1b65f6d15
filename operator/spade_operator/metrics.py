"""What the operator exports: run-level truth computed from facts at each scrape, and counts of its own work.

Run figures are read from status, so they are there again after a restart and leave with their object. Families,
labels and help come from spade_contracts.metrics.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from spade_contracts.canaries import BAD, FALSE_ACCEPTS, FALSE_REJECTS, GOOD, by_stage
from spade_contracts.labels import Role
from spade_contracts.metrics import METRICS, Kind, metric
from spade_contracts.resources import BatchCondition, Condition, ConditionStatus, Phase, RunCondition
from spade_contracts.statuses import LeftOut, Outcome, PrefixCheck, ProofResult
from spade_contracts.verdicts import REASONS, Stage, VerifierFailure
from spade_operator.children.owner import POOL_ROLES
from spade_operator.facts import Facts
from spade_operator.posting import RESULTS
from spade_operator.reconcile.demand import demand
from spade_operator.reconcile.events import EventType
from spade_operator.reconcile.figures import STAGES
from spade_operator.records import BatchRecord, Meta, PodRecord, RunRecord
from spade_operator.records import Kind as ObjectKind
from spade_operator.view import SANDBOX_STATES, episodes, sandbox_state

Sample = tuple[tuple[str, ...], float]
"""Values of the labels after namespace and run, and the value."""
OWN = (
    "spade_operator_up", "spade_reconcile_seconds", "spade_reconcile_errors_total", "spade_api_requests_total",
    "spade_events_total", "spade_drift_repairs_total",
)  # fmt: skip
APPLIED = (
    ObjectKind.DEPLOYMENT, ObjectKind.SECRET, ObjectKind.CONFIG_MAP, ObjectKind.SERVICE, ObjectKind.NETWORK_POLICY,
)  # fmt: skip
"""Kinds of children that are applied, and so can drift."""


@dataclass(frozen=True)
class Telemetry:
    """The operator's registry, and the metrics of its own work."""

    registry: CollectorRegistry
    reconcile_seconds: Histogram
    reconcile_errors: Counter
    api_requests: Counter
    events: Counter
    drift_repairs: Counter

    def count_call(self, verb: str, resource: str, code: str) -> None:
        """One call to the API server."""
        self.api_requests.labels(verb, resource, code).inc()

    def count_event(self, kind: str, result: str) -> None:
        """One Event, and what became of it."""
        self.events.labels(kind, result).inc()

    def count_repair(self, kind: ObjectKind) -> None:
        """One child that somebody else had changed or deleted."""
        self.drift_repairs.labels(kind).inc()


def make_telemetry(facts: Facts) -> Telemetry:
    """A registry with everything that the operator exports."""
    registry = CollectorRegistry()
    registry.register(FamilyCollector(facts))
    up, seconds, errors, requests, events, repairs = (metric(name) for name in OWN)
    Gauge(up.name, up.help, registry=registry).set(1)
    telemetry = Telemetry(
        registry,
        Histogram(seconds.name, seconds.help, seconds.labels, buckets=seconds.buckets, registry=registry),
        Counter(errors.name, errors.help, errors.labels, registry=registry),
        Counter(requests.name, requests.help, requests.labels, registry=registry),
        Counter(events.name, events.help, events.labels, registry=registry),
        Counter(repairs.name, repairs.help, repairs.labels, registry=registry),
    )
    for kind, result in product(EventType, RESULTS):
        telemetry.events.labels(kind, result)
    for applied in APPLIED:
        telemetry.drift_repairs.labels(applied)
    return telemetry


class FamilyCollector(Collector):
    """Figures of all runs and stand-alone EnvBatches that are known at the moment of a scrape."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def describe(self) -> Iterable[Metric]:
        """The families without figures, so that some of them can be asked for."""
        for _, family in self._families():
            yield family

    def collect(self) -> Iterable[Metric]:
        """One family for each metric of a run or batch, also when there is none."""
        for name, family in self._families():
            for meta, labels, value in self._samples(name):
                family.add_metric((meta.namespace, meta.name, *labels), value)
            yield family

    def _families(self) -> Iterator[tuple[str, Any]]:
        for spec in METRICS:
            if spec.exporter == "operator" and spec.name not in OWN:
                made = CounterMetricFamily if spec.kind is Kind.COUNTER else GaugeMetricFamily
                yield spec.name, made(spec.name, spec.help, labels=spec.labels)

    def _samples(self, name: str) -> Iterator[tuple[Meta, tuple[str, ...], float]]:
        if name in POOL_SAMPLES:
            for pool in self._facts.pools():
                yield from ((pool.meta, *sample) for sample in POOL_SAMPLES[name](pool, self._facts))
        else:
            for run in self._facts.runs():
                yield from ((run.meta, *sample) for sample in SAMPLES[name](run, self._facts))


def _number(text: str | None) -> Iterator[Sample]:
    if text is not None:
        yield (), float(text)


def _phase(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    for phase in Phase:
        yield (str(phase),), float(run.status.phase is phase)


def _verdicts(counts: Mapping[str, int]) -> Iterator[Sample]:
    """Programs by stage and reason, every known pair among them."""
    zero = {f"{stage}/{reason}": 0 for stage, reasons in REASONS.items() for reason in reasons}
    for key, value in (zero | {"accepted": 0} | dict(counts)).items():
        stage, _, reason = key.partition("/")
        yield (stage, reason), value


def _programs(pool: BatchRecord, facts: Facts) -> Iterator[Sample]:
    return _verdicts(dict(pool.status.rejected) | {"accepted": pool.status.accepted or 0})


def _conditions(conditions: Iterable[Condition], kinds: Iterable[str]) -> Iterator[Sample]:
    known = {condition.type: condition.status is ConditionStatus.TRUE for condition in conditions}
    for kind in kinds:
        yield (str(kind),), float(known.get(kind, False))


def _failure(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    for condition in run.status.conditions:
        if condition.type == RunCondition.FAILED and condition.status is ConditionStatus.TRUE:
            yield (condition.reason,), 1


def _gate_errors(run: RunRecord, error: str) -> Iterator[Sample]:
    known = dict(by_stage(run.status.canaries, error))
    for stage in Stage:
        if stage is not Stage.ACCEPTED:
            yield (stage,), known.get(stage, 0)


def _verifier_failures(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    zero = {str(reason): 0 for reason in VerifierFailure}
    for reason, value in (zero | run.status.verifier_failures).items():
        yield (reason,), value


def _corpus_rows(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    zero = dict.fromkeys(("documents", *LeftOut), 0)
    for state, value in (zero | run.status.corpus).items():
        yield (state,), value


def _episodes(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    counts = run.status.episodes
    for outcome in Outcome:
        hinted = counts.get(f"{outcome}/hinted", 0)
        yield (str(outcome), "true"), hinted
        yield (str(outcome), "false"), counts.get(outcome, 0) - hinted


def _prefix_checks(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    for check in PrefixCheck:
        yield (str(check),), run.status.prefix_checks.get(check, 0)


def _sandbox_pods(head: RunRecord | BatchRecord, facts: Facts) -> Iterator[Sample]:
    pods = [
        record
        for record in facts.family(head.meta.namespace, head.meta.run)
        if isinstance(record, PodRecord) and record.meta.role is Role.SANDBOX
    ]
    states = [sandbox_state(pod, facts.poll(pod.meta.uid)) for pod in pods]
    for state in SANDBOX_STATES:
        yield (state,), states.count(state)


def _demand(head: RunRecord | BatchRecord, facts: Facts) -> Iterator[Sample]:
    yield (), demand(facts.family(head.meta.namespace, head.meta.run), facts.poll)


def _restarts(head: RunRecord | BatchRecord, facts: Facts) -> Iterator[Sample]:
    for role in (Role.SANDBOX, Role.ENGINE, Role.LEARNER, Role.WORKER):
        known = head.status.restarts.get(role)
        if isinstance(head, RunRecord) or role in POOL_ROLES:
            yield (str(role),), known.total if known is not None else 0


def _proofs(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    for result in ProofResult:
        yield (str(result),), run.status.proofs.get(result, 0)


def _stage_seconds(run: RunRecord, facts: Facts) -> Iterator[Sample]:
    latest = run.status.rollouts[-1].stage_seconds if run.status.rollouts else {}
    for stage in STAGES:
        if stage in latest:
            yield (stage,), float(latest[stage])


SAMPLES: dict[str, Callable[[RunRecord, Facts], Iterable[Sample]]] = {
    "spade_run_phase": _phase,
    "spade_run_condition": lambda run, facts: _conditions(run.status.conditions, RunCondition),
    "spade_run_failure": _failure,
    "spade_rollouts_completed_total": lambda run, facts: [((), run.status.rollout)],
    "spade_rollout": lambda run, facts: [((), run.status.rollout)],
    "spade_rollout_episodes_planned": lambda run, facts: [((), episodes(run, facts).planned)],
    "spade_rollout_episodes_done": lambda run, facts: [((), episodes(run, facts).done)],
    "spade_learnable_fraction": lambda run, facts: _number(run.status.learnable_fraction),
    "spade_learnable_fraction_baseline": lambda run, facts: _number(run.status.learnable_baseline),
    "spade_mean_return": lambda run, facts: _number(run.status.mean_return),
    "spade_environments_total": lambda run, facts: _verdicts(run.status.environments),
    "spade_verifier_failures_total": _verifier_failures,
    "spade_gate_false_accepts_total": lambda run, facts: _gate_errors(run, FALSE_ACCEPTS),
    "spade_gate_false_rejects_total": lambda run, facts: _gate_errors(run, FALSE_REJECTS),
    "spade_gate_canaries_total": lambda run, facts: [
        ((kind,), run.status.canaries.get(kind, 0)) for kind in (GOOD, BAD)
    ],
    "spade_kept_cycles_total": lambda run, facts: [((), run.status.kept_cycles)],
    "spade_designer_requests_total": lambda run, facts: [((), run.status.endpoint_requests)],
    "spade_designer_cost_total": lambda run, facts: [((), float(run.status.endpoint_cost or 0))],
    "spade_corpus_rows": _corpus_rows,
    "spade_episodes_total": _episodes,
    "spade_prefix_checks_total": _prefix_checks,
    "spade_hint_regret": lambda run, facts: _number(run.status.hint_regret),
    "spade_hint_regret_standard_error": lambda run, facts: _number(run.status.hint_regret_standard_error),
    "spade_policy_version": lambda run, facts: [
        ((), run.status.policy_version if run.status.policy_version is not None else -1)
    ],
    "spade_sandbox_pods": _sandbox_pods,
    "spade_sandbox_demand": _demand,
    "spade_restarts_total": _restarts,
    "spade_weight_verifications_total": _proofs,
    "spade_stage_seconds": _stage_seconds,
}
"""How each family reads a run; a family without an entry is a bug that its test finds."""
POOL_SAMPLES: dict[str, Callable[[BatchRecord, Facts], Iterable[Sample]]] = {
    "spade_batch_condition": lambda pool, facts: _conditions(pool.status.conditions, BatchCondition),
    "spade_batch_programs_total": _programs,
    "spade_batch_mutation_score": lambda pool, facts: _number(
        pool.status.mutation_scores.median if pool.status.mutation_scores else None
    ),
    "spade_batch_diversity": lambda pool, facts: _number(pool.status.diversity),
    "spade_batch_sandbox_pods": _sandbox_pods,
    "spade_batch_sandbox_demand": _demand,
    "spade_batch_restarts_total": _restarts,
}
"""The same of a stand-alone EnvBatch."""
