"""What is read of an object is what its present content says, whatever was read of it before."""

import gc
import weakref
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.labels import RUN
from spade_operator.facts import Facts
from spade_operator.readings import Readings
from spade_operator.records import Kind, RunRecord, record_of

SPECS: tuple[dict[str, Any], ...] = (
    {"model": {"uri": "package:tiny"}, "rollouts": 2},
    {"model": {"uri": "package:tiny"}, "rollouts": 3},
    {"model": {"uri": "package:tiny"}, "rollouts": 2, "environments": {"cycleLength": 3}},
    {"model": {"uri": "package:tiny"}, "rollouts": 0},
    {},
)
STATUSES: tuple[dict[str, Any], ...] = (
    {}, {"rollout": 1}, {"rollout": 2, "fromTheFuture": 1}, {"rollout": 1, "phase": "Playing"},
)  # fmt: skip
PODS: tuple[dict[str, Any], ...] = ({}, {"phase": "Running", "podIP": "10.0.0.1"}, {"phase": "Failed"})


def run(version: int, spec: dict[str, Any], status: dict[str, Any], uid: str = "u") -> dict[str, Any]:
    meta = {"name": "mini", "namespace": "default", "uid": uid, "resourceVersion": str(version), "generation": 1}
    return {"metadata": meta, "spec": spec, "status": status}


def pod(version: int, status: dict[str, Any], **meta: Any) -> dict[str, Any]:
    known = {"name": "p", "namespace": "default", "uid": "p", "resourceVersion": str(version), "labels": {RUN: "mini"}}
    return {"metadata": known | meta, "spec": {}, "status": status}


@given(st.lists(st.tuples(st.sampled_from(SPECS), st.sampled_from(STATUSES), st.sampled_from("uv")), max_size=12))
def test_run_is_read_as_if_for_the_first_time(steps: list[tuple[dict[str, Any], dict[str, Any], str]]) -> None:
    facts = Facts()
    for version, (spec, status, uid) in enumerate(steps, start=1):
        raw = run(version, spec, status, uid)
        for _ in range(2):
            record = facts.read(Kind.RUN, raw)
            assert record == record_of(Kind.RUN, raw)
            facts.put(record)


@given(st.lists(st.tuples(st.sampled_from(PODS), st.booleans(), st.booleans()), max_size=12))
def test_pod_is_read_as_if_for_the_first_time_also_after_our_own_delete(
    steps: list[tuple[dict[str, Any], bool, bool]],
) -> None:
    facts = Facts()
    for version, (status, removed, again) in enumerate(steps, start=1):
        raw = pod(version, status)
        record = facts.read(Kind.POD, raw)
        assert record == record_of(Kind.POD, raw)
        facts.put(record)
        if removed:
            facts.mark_deleting(record, 5)
        if again:
            assert facts.read(Kind.POD, raw) == record_of(Kind.POD, raw)


def test_object_of_the_same_version_is_not_read_again() -> None:
    facts, raw = Facts(), run(1, SPECS[0], STATUSES[1])
    record = facts.read(Kind.RUN, raw)
    facts.put(record)
    assert facts.read(Kind.RUN, run(1, SPECS[0], STATUSES[1])) is record


def test_spec_that_stays_the_same_is_validated_once_whatever_the_status() -> None:
    facts = Facts()
    one, other = (facts.read(Kind.RUN, run(n, dict(SPECS[0]), STATUSES[n])) for n in (1, 2))
    assert getattr(one, "spec", None) is getattr(other, "spec", "")
    assert one != other


def test_what_was_read_of_a_deleted_object_is_not_kept() -> None:
    facts = Facts()
    record = facts.learn(Kind.RUN, run(1, SPECS[0], STATUSES[1]))
    assert isinstance(record, RunRecord)
    read = [weakref.ref(part) for part in (record.spec, record.status)]
    facts.forget(record)
    del record
    gc.collect()
    assert [part() for part in read] == [None, None]


def test_status_that_cannot_be_read_is_told_each_time() -> None:
    facts, raw = Facts(), run(1, SPECS[0], {"rollout": "three"})
    for _ in range(2):
        found = facts.read(Kind.RUN, raw)
        assert isinstance(found, RunRecord)
        assert found.unreadable.startswith("status.rollout: ")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30))
def test_readings_are_those_of_the_content_however_few_are_remembered(steps: list[tuple[int, int]]) -> None:
    readings = Readings(remembered=2)
    for uid, content in steps:
        assert readings.read(f"uid-{uid}", "spec", {"value": content}, lambda raw: raw["value"] * 10) == content * 10


def test_every_change_of_a_pod_gives_another_edition_and_nothing_else_does() -> None:
    facts = Facts()
    editions = [facts.editions[Kind.POD]]
    record = facts.read(Kind.POD, pod(1, PODS[0]))
    newer = facts.read(Kind.POD, pod(2, PODS[1]))
    facts.put(record)
    editions.append(facts.editions[Kind.POD])
    facts.put(record)
    facts.put(facts.read(Kind.RUN, run(1, SPECS[0], STATUSES[0])))
    assert facts.editions[Kind.POD] == editions[-1]
    facts.put(newer)
    editions.append(facts.editions[Kind.POD])
    facts.mark_deleting(newer, 5)
    editions.append(facts.editions[Kind.POD])
    facts.forget(replace(newer))
    editions.append(facts.editions[Kind.POD])
    assert len(set(editions)) == len(editions)
