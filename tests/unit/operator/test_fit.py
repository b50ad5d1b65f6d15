"""The largest status of each kind is below 8 KiB, and what is small enough is left as it is."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.canaries import FALSE_ACCEPTS, FALSE_REJECTS
from spade_contracts.labels import Role
from spade_contracts.resources import (
    BatchCondition,
    Condition,
    ConditionStatus,
    EnvBatchStatus,
    Phase,
    Reason,
    RolloutCondition,
    RolloutJobStatus,
    RunCondition,
    SpadeRunStatus,
)
from spade_contracts.resources.env_batch import MutationScores
from spade_contracts.resources.run_parts import Images, Restarts
from spade_contracts.resources.spade_run import LearnableBaseline, RolloutFigures
from spade_contracts.statuses import Outcome, PrefixCheck, ProofResult
from spade_contracts.verdicts import REASONS, VerifierFailure
from spade_operator.reconcile.conditions import MAX_MESSAGE, set_conditions, with_conditions
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.engines import engines
from spade_operator.reconcile.figures import KEPT_ROLLOUTS, STAGES
from spade_operator.reconcile.fit import MAX_STATUS_BYTES, MAX_TRACKED, OTHER, fitted, shortened, size
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import Stage
from spade_operator.reconcile.restarts import READINESS
from spade_operator.reconcile.status import joined, joined_pool

KIB = 1024
MANY = 10_000_000
LONG = "\N{SNOWMAN}\x1b" * MAX_MESSAGE
POD = "a" * 63
"""Longest name of a pod that a controller makes."""
URI = f"file:///storage/{'n' * 63}/{'r' * 63}/verifications/{'d' * 32}"
TIME = "2026-01-01T12:00:00.123456+00:00"
LONGEST_REASON = max(Reason, key=len)
VERDICTS = {f"{stage}/{reason}": MANY for stage, reasons in REASONS.items() for reason in reasons}
CANARIES = {"good": MANY, "bad": MANY} | {
    f"{error}/{stage}": MANY for error in (FALSE_ACCEPTS, FALSE_REJECTS) for stage in REASONS
}
ADMITTED = {f"{POD[:-5]}{number:05}": "b" * 16 for number in range(MAX_TRACKED)}
IMAGES = Images(sandbox="i" * 200, worker="i" * 200, trainer="i" * 200)
RESTARTS = {str(role): Restarts(since_progress=1000, total=MANY) for role in (*READINESS, Role.WORKER)}


def marks(kinds: Any) -> dict[str, Any]:
    return {str(kind): (ConditionStatus.UNKNOWN, LONGEST_REASON, LONG) for kind in kinds}


def conditions(kinds: Any) -> tuple[Condition, ...]:
    return tuple(set_conditions((), marks(kinds), MANY, p.NOW).values())


def largest_run() -> SpadeRunStatus:
    figures = RolloutFigures(
        rollout=99_999, cycle=99_999, environments=1000, outcomes={str(o): MANY for o in Outcome},
        learnable_fraction="0.333", mean_return="-0.333", loss="-1.23457e-05", gradient_norm="1.23457e+05",
        stage_seconds=dict.fromkeys(STAGES, "123456.7"), proof=max(ProofResult, key=len),
    )  # fmt: skip
    return SpadeRunStatus(
        phase=max(Phase, key=len), observed_generation=MANY, rollout=99_999, cycle=99_999, policy_version=99_999,
        learnable_fraction="0.333", learnable_baseline="0.333", mean_return="-0.333", hint_regret="-0.333",
        hint_regret_standard_error="0.333", prefix_checks={str(check): MANY for check in PrefixCheck},
        learnable_baselines={str(n): LearnableBaseline(mean="0.333", rollouts=99_999) for n in range(64)},
        doing="d" * 256, verifier_failures={str(reason): MANY for reason in VerifierFailure},
        endpoint_requests=MANY, endpoint_cost="1234567.123456",
        episodes={f"{o}{hinted}": MANY for o in Outcome for hinted in ("", "/hinted")},
        environments={"accepted": MANY, **VERDICTS}, canaries=CANARIES, proofs={str(r): MANY for r in ProofResult},
        rollouts=(figures,) * KEPT_ROLLOUTS, stage_started=dict.fromkeys(Stage, TIME), restarts=RESTARTS,
        learner_attempt=99_999, admitted=ADMITTED, engine_restarts_seen=dict.fromkeys(ADMITTED, 1000),
        quiet_since=TIME, handled_retry=1000, storage_uri=URI, started_at=TIME, finished_at=TIME,
        conditions=conditions(RunCondition), images=IMAGES,
    )  # fmt: skip


def largest_batch() -> EnvBatchStatus:
    scores = MutationScores(
        programs=MANY, mean="0.333", minimum="0.333", lower_quartile="0.333", median="0.333", upper_quartile="0.333",
        maximum="0.333",
    )  # fmt: skip
    return EnvBatchStatus(
        observed_generation=MANY, doing="d" * 256, requested=MANY, attempts=MANY, accepted=MANY, rejected=VERDICTS,
        canaries=CANARIES, valid_per_attempt="0.333", mutation_scores=scores, diversity="0.333", seconds="1234567.8",
        tokens=MANY**2, endpoint_requests=MANY, endpoint_cost="1234567.123456",
        storage_uri=URI, job_attempt=99_999, admitted=ADMITTED, restarts=RESTARTS, quiet_since=TIME,
        handled_retry=1000, started_at=TIME, finished_at=TIME, conditions=conditions(BatchCondition), images=IMAGES,
    )  # fmt: skip


def largest_plays() -> RolloutJobStatus:
    outcomes = {str(outcome): MANY for outcome in Outcome}
    return RolloutJobStatus(
        observed_generation=MANY, planned=MANY, outcomes=outcomes, hinted=MANY, hinted_outcomes=outcomes,
        learnable_fraction="0.333", mean_return="-0.333", hint_regret="-0.333", seconds="1234567.8", tokens=MANY**2,
        hint_regret_standard_error="0.333", prefix_checks={str(check): MANY for check in PrefixCheck},
        verifier_failures={str(reason): MANY for reason in VerifierFailure}, storage_uri=URI, job_attempt=99_999,
        started_at=TIME, finished_at=TIME,
    )  # fmt: skip


def test_largest_status_of_a_run_is_below_8_kib() -> None:
    assert size(largest_run()) > 3 * 8 * KIB
    assert size(joined(largest_run(), (), MANY, p.NOW)) < 8 * KIB


def test_largest_status_of_a_batch_is_below_8_kib() -> None:
    assert size(largest_batch()) > 8 * KIB
    assert size(joined_pool(largest_batch(), (), MANY, p.NOW)) < 8 * KIB
    assert size(with_conditions(largest_batch(), marks(BatchCondition), MANY, p.NOW)) < 8 * KIB


def test_largest_status_of_plays_is_below_8_kib() -> None:
    assert size(with_conditions(largest_plays(), marks(RolloutCondition), MANY, p.NOW)) < 8 * KIB


@given(st.lists(st.text(max_size=MAX_MESSAGE), max_size=len(RunCondition)), st.integers(0, KEPT_ROLLOUTS), st.data())
def test_shortening_settles_and_keeps_every_total(messages: list[str], rollouts: int, data: st.DataObject) -> None:
    whole = largest_run()
    reasons = data.draw(st.sets(st.sampled_from(sorted(VERDICTS))))
    conditions = tuple(
        c.model_copy(update={"message": text}) for c, text in zip(whole.conditions, messages, strict=False)
    )
    status = whole.model_copy(update={
        "conditions": conditions, "rollouts": whole.rollouts[:rollouts],
        "environments": {"accepted": 3, **dict.fromkeys(reasons, 2)},
    })  # fmt: skip
    once = fitted(status)
    assert size(once) < 8 * KIB
    assert fitted(once) == once
    assert sum(once.environments.values()) == sum(status.environments.values())
    assert once.environments["accepted"] == 3
    assert [(c.type, c.reason) for c in once.conditions] == [(c.type, c.reason) for c in status.conditions]


def test_status_that_is_small_enough_is_left_as_it_is() -> None:
    rid: dict[str, Any] = {"environments": {}, "rollouts": (), "conditions": (), "learnable_baselines": {}}
    small = largest_run().model_copy(update=rid)
    assert size(small) <= MAX_STATUS_BYTES
    assert fitted(small) is small


def test_what_was_counted_least_is_added_up() -> None:
    often = "parse/syntax"
    kept = fitted(largest_batch().model_copy(update={"rejected": VERDICTS | {often: MANY + 1}})).rejected
    assert kept[often] == MANY + 1
    assert kept[OTHER] == sum(VERDICTS[reason] for reason in VERDICTS.keys() - kept.keys())


@given(st.text(max_size=200), st.integers(3, 100))
def test_text_is_cut_to_bytes_of_json(text: str, limit: int) -> None:
    cut = shortened(text, limit)
    assert len(p.run_record().status.model_copy(update={"doing": cut}).model_dump_json(include={"doing"}).encode()) <= (
        limit + len('{"doing":""}')
    )
    assert cut == text or text.startswith(cut[:-1])


def pool_of(number: int, run: Any, **parts: Any) -> Observed:
    pods = {
        p.pod(Role.SANDBOX, f"mini-sandbox-{n:04}", admitted_boot="boot-0001", ready=True): p.sandbox_says()
        for n in range(number)
    }
    return p.seen(run, pods=pods | {p.BEACON: p.beacon_says()}, **parts)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_restart_of_an_engine_is_counted_once_and_of_many_engines_at_most_once(restarts: list[int]) -> None:
    names = [f"{POD[:-5]}{number:05}" for number in range(len(restarts))]
    fresh = dict.fromkeys(p.pod(Role.ENGINE, name) for name in names)
    after = dict.fromkeys(
        p.pod(Role.ENGINE, name, containers=(p.ContainerRecord("engine", number),))
        for name, number in zip(names, restarts, strict=True)
    )
    status, spec = p.SpadeRunStatus(), {"engine": {"replicas": len(names)}}
    lost = []
    for pods in (fresh, after, after, after):
        step = engines(p.seen(p.run_record(status, **spec), pods=pods), p.NOW)
        status = p.SpadeRunStatus(**step.status)
        lost.append(step.restarts.get(Role.ENGINE, 0))
        assert len(status.engine_restarts_seen) <= MAX_TRACKED
    assert lost[1] == sum(restarts) if len(names) <= MAX_TRACKED else lost[1] <= sum(restarts)
    assert (lost[0], lost[2:]) == (0, [0, 0])


@pytest.mark.parametrize("wanted", [100, 60])
def test_large_pool_counts_what_is_missing_and_not_what_it_gave_up(wanted: int) -> None:
    full = decide(pool_of(100, p.run_record(p.holding(*p.AT_WORK))), p.NOW).status
    assert len(full.admitted) == MAX_TRACKED
    run = p.run_record(full)
    pool = [p.deployment(Role.SANDBOX, wanted), p.deployment(Role.ENGINE)]
    left = pool_of(100, run, deployments=pool)
    pods = tuple(pod for pod in left.pods if not pod.meta.name.endswith(("0000", "0001")))
    status = decide(replace(left, pods=pods), p.NOW).status
    lost = status.restarts.get(Role.SANDBOX, Restarts()).total
    assert lost == (2 if wanted == 100 else 0)
