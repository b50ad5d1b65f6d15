"""Each restart of an engine is counted exactly once, and one whose weights are wrong is replaced."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import ProofResult
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.engines import engines
from spade_operator.reconcile.steps import Apply, FetchLog, Remove, Step

READY = RunCondition.ENGINES_READY


def step_for(before: dict[str, int], now: dict[str, int], replicas: int = 2, **parts: Any) -> Step:
    """Counted restarts by pod name, and those that are seen now."""
    run = p.run_record(p.holding(engine_restarts_seen=before), engine={"replicas": replicas})
    pods = [p.pod(Role.ENGINE, name, containers=(ContainerRecord("engine", n),)) for name, n in now.items()]
    return engines(p.seen(run, pods=pods, **parts), p.NOW)


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)),
)
def test_counting_again_without_news_counts_nothing(before: dict[str, int], now: dict[str, int]) -> None:
    first = step_for(before, now)
    again = step_for(first.status["engine_restarts_seen"], now)
    assert again.restarts == {}


def test_restarts_in_place_and_lost_pods_are_counted() -> None:
    assert step_for({"a": 0, "b": 1}, {"a": 2, "c": 0}).restarts == {Role.ENGINE: 3}


@pytest.mark.parametrize(
    ("reason", "paid"), [("PreemptionByScheduler", False), ("EvictionByEvictionAPI", False), ("", True)]
)
def test_engine_that_the_infrastructure_took_is_counted_at_no_cost(reason: str, paid: bool) -> None:
    run = p.run_record(p.holding(engine_restarts_seen={p.ENGINE.meta.name: 0}))
    going = p.pod(Role.ENGINE, deleting=True, disruption=reason)
    step = engines(p.seen(run, pods=[going]), p.NOW)
    once = {Role.ENGINE: 1}
    assert (step.restarts, step.disruptions) == ((once, {}) if paid else ({}, once))


def test_engine_that_went_with_its_node_in_one_stroke_costs_nothing() -> None:
    run = p.run_record(p.holding(engine_restarts_seen={p.ENGINE.meta.name: 0}))
    taken = p.pod(Role.ENGINE, phase="Failed", disruption="DeletionByPodGC", node="node-7")
    step = engines(dataclasses.replace(p.seen(run), taken=(taken,)), p.NOW)
    assert (step.restarts, step.disruptions) == ({}, {Role.ENGINE: 1})
    assert "lost its node (node-7)" in p.wanted(step, READY)[2]


def test_log_of_a_restarted_engine_is_read_before_it_is_counted_and_stands_with_a_remedy() -> None:
    run = p.run_record(p.holding(engine_restarts_seen={p.ENGINE.meta.name: 0}))
    container = ContainerRecord("engine", 1, last_exit_code=137, last_reason="OOMKilled", memory_limit="5Gi")
    pod = p.pod(Role.ENGINE, containers=(container,))
    first = engines(p.seen(run, pods=[pod]), p.NOW)
    assert p.actions_of(first, FetchLog) == [FetchLog(pod, "engine", 0, True)]
    assert (first.restarts, "engine_restarts_seen" in first.status) == ({}, False)
    step = engines(p.seen(run, pods=[pod], logs={(pod.meta.uid, "engine", 0): "loading weights"}), p.NOW)
    assert step.restarts == {Role.ENGINE: 1}
    message = p.wanted(step, READY)[2]
    assert "Its last lines: loading weights" in message
    assert "Raise spec.engine.pod.resources.limits.memory above 5Gi" in message


def test_engine_removed_by_a_smaller_number_of_replicas_is_no_loss() -> None:
    assert step_for({"a": 0, "b": 0}, {"a": 0}, replicas=1).restarts == {}


def test_ready_means_that_all_processes_are_up_and_does_not_change_with_each_policy() -> None:
    for status in (p.engine_says(None), p.engine_says(0)):
        assert p.wanted(engines(p.at_work(pods={p.ENGINE: status}), p.NOW), READY)[0] == "True"
    assert p.wanted(engines(p.at_work(pods={p.ENGINE: None}), p.NOW), READY)[:2] == ("False", Reason.STARTING)


def test_engine_that_does_not_compute_with_its_policy_is_replaced_by_a_fresh_one() -> None:
    wrong = p.learner_says(0, p.proof(p.ENGINE.meta.name, 0, result=ProofResult.MISMATCH))
    step = engines(p.at_work(pods={p.ENGINE: p.engine_says(None), p.LEARNER: wrong}), p.NOW)
    assert [action.record for action in p.actions_of(step, Remove)] == [p.ENGINE]
    assert "does not compute with policy version 0" in p.wanted(step, READY)[2]
    old_boot = p.learner_says(0, p.proof(p.ENGINE.meta.name, 0, "old-boot", ProofResult.MISMATCH))
    kept = engines(p.at_work(pods={p.ENGINE: p.engine_says(None), p.LEARNER: old_boot}), p.NOW)
    assert not p.actions_of(kept, Remove)


def test_deployment_is_applied_until_its_digest_is_the_wanted_one() -> None:
    (wanted,) = p.actions_of(engines(p.seen(), p.NOW), Apply)
    digest = wanted.manifest["metadata"]["annotations"]["spade.dev/hash"]
    there = p.seen(deployments=[p.deployment(Role.ENGINE, hash=digest)])
    assert not p.actions_of(engines(there, p.NOW), Apply)
    going = p.seen(deployments=[p.deployment(Role.ENGINE, hash=digest, deleting=True)])
    assert p.actions_of(engines(going, p.NOW), Apply)
