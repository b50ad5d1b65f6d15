"""Events tell transitions that matter, once each; progress, words and beginnings are no news."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.resources import BatchCondition, Condition, Reason, RolloutCondition, RunCondition
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.events import MAX_NOTE_BYTES, MAX_PER_PASS, EventType, News, news
from spade_operator.records import BatchRecord, RolloutRecord, RunRecord

NORMAL, WARNING = EventType.NORMAL, EventType.WARNING
PARTS = ("Accepted", "Isolated", "SandboxesReady", "EnginesReady", "LearnerReady")
CONDITIONS = st.dictionaries(st.sampled_from(RunCondition), st.tuples(st.booleans(), st.sampled_from(Reason)))


def known(kind: str, holds: bool, reason: Reason, message: str = "") -> Condition:
    return p.condition(kind, holds, reason, message)


def run(*conditions: Condition) -> RunRecord:
    return p.run_record(p.SpadeRunStatus(conditions=conditions))


def told(record: RunRecord | BatchRecord | RolloutRecord, *after: Condition) -> tuple[News, ...]:
    return news(record, after, record.meta)


def short(found: tuple[News, ...]) -> list[tuple[EventType, str, str]]:
    return [(one.type, one.action, one.reason) for one in found]


@pytest.mark.parametrize(
    ("kind", "before", "after", "kind_of_event"),
    [
        ("Accepted", None, (True, Reason.PREPARED), NORMAL),
        ("Accepted", (False, Reason.PREPARING), (False, Reason.MODEL_NOT_FOUND), WARNING),
        ("Accepted", None, (False, Reason.INVALID_SPEC), WARNING),
        ("Accepted", None, (False, Reason.PREPARING), None),
        ("Isolated", (False, Reason.PROBING), (True, Reason.PROVEN), NORMAL),
        ("Isolated", (True, Reason.PROVEN), (False, Reason.PROBING), WARNING),
        ("Isolated", (False, Reason.PROBING), (False, Reason.NETWORK_OPEN), WARNING),
        ("Isolated", (True, Reason.PROVEN), (False, Reason.FINISHED), None),
        ("EnginesReady", (True, Reason.READY), (False, Reason.RESTARTING), WARNING),
        ("EnginesReady", (False, Reason.RESTARTING), (False, Reason.STARTING), None),
        ("EnginesReady", (False, Reason.RESTARTING), (True, Reason.READY), NORMAL),
        ("LearnerReady", (False, Reason.STARTING), (False, Reason.UNSCHEDULABLE), WARNING),
        ("SandboxesReady", (True, Reason.READY), (False, Reason.SUSPENDED_BY_USER), None),
        ("WeightsVerified", (True, Reason.VERIFIED), (False, Reason.VERIFYING), None),
        ("WeightsVerified", (False, Reason.VERIFYING), (True, Reason.VERIFIED), None),
        ("WeightsVerified", (False, Reason.VERIFYING), (False, Reason.MISMATCH), WARNING),
        ("ScalingLimited", None, (True, Reason.STARTS_FAIL), WARNING),
        ("ScalingLimited", (True, Reason.NAMESPACE_FULL), (True, Reason.STARTS_FAIL), WARNING),
        ("ScalingLimited", (True, Reason.STARTS_FAIL), (False, Reason.WITHIN_LIMITS), NORMAL),
        ("ScalingLimited", (True, Reason.STARTS_FAIL), (False, Reason.FINISHED), None),
        ("ScalingLimited", (False, Reason.WITHIN_LIMITS), (False, Reason.SUSPENDED_BY_USER), None),
        ("Progressing", (True, Reason.PLAYING), (True, Reason.TRAINING), None),
        ("Progressing", (True, Reason.PLAYING), (False, Reason.WAITING), None),
        ("Progressing", (True, Reason.PLAYING), (False, Reason.INVALID_SPEC), WARNING),
        ("Suspended", (False, Reason.SUSPENDING), (True, Reason.SUSPENDED_BY_USER), NORMAL),
        ("Suspended", (True, Reason.SUSPENDED_BY_USER), (False, Reason.RUNNING), NORMAL),
        ("Suspended", None, (False, Reason.RUNNING), None),
        ("Complete", (False, Reason.RUNNING), (True, Reason.FINISHED), NORMAL),
        ("Complete", (False, Reason.RUNNING), (False, Reason.SUSPENDED_BY_USER), None),
        ("Complete", (True, Reason.FINISHED), (False, Reason.RUNNING), NORMAL),
        ("Failed", (False, Reason.RUNNING), (True, Reason.JOB_FAILED), WARNING),
        ("Failed", (True, Reason.JOB_FAILED), (False, Reason.RUNNING), NORMAL),
        ("Failed", None, (False, Reason.RUNNING), None),
    ],
)
def test_each_transition_is_told_by_its_rule(
    kind: str, before: tuple[bool, Reason] | None, after: tuple[bool, Reason], kind_of_event: EventType | None
) -> None:
    record = run(known(kind, *before)) if before is not None else run()
    expected = [(kind_of_event, kind, after[1])] if kind_of_event is not None else []
    assert short(told(record, known(kind, *after))) == expected


@given(CONDITIONS, st.text(max_size=50))
def test_words_alone_are_no_news(conditions: dict[RunCondition, tuple[bool, Reason]], words: str) -> None:
    record = run(*(known(kind, *mark) for kind, mark in conditions.items()))
    assert told(record, *(known(kind, *mark, words) for kind, mark in conditions.items())) == ()


@given(CONDITIONS, CONDITIONS)
def test_there_are_few_at_once_and_an_end_is_told_alone(
    before: dict[RunCondition, tuple[bool, Reason]], after: dict[RunCondition, tuple[bool, Reason]]
) -> None:
    found = told(
        run(*(known(kind, *mark) for kind, mark in before.items())),
        *(known(kind, *mark) for kind, mark in after.items()),
    )
    assert len(found) <= MAX_PER_PASS
    assert [one.order for one in found] == list(range(len(found)))
    ends = {kind for kind in (RunCondition.COMPLETE, RunCondition.FAILED) if after.get(kind, (False,))[0]}
    assert not ends or {one.action for one in found} <= ends


def test_beginning_of_a_run_is_no_news() -> None:
    seen = p.seen()
    for _ in range(3):
        after = decide(seen, p.NOW).status
        assert len(after.conditions) > 1
        assert news(seen.run, after.conditions, seen.run.meta) == ()
        seen = p.seen(p.run_record(after))


def test_usual_rollout_is_told_by_no_event() -> None:
    stages = [
        p.at_work(batches=[p.batch(0)]),
        p.at_work(batches=[p.batch(0, "Complete")], rollouts=[p.plays(0)]),
        p.at_work(rollouts=[p.plays(0, "Complete")]),
    ]
    status = decide(stages[0], p.NOW).status
    for seen in stages:
        record = p.run_record(status)
        status = decide(replace(seen, head=record), p.NOW).status
        assert news(record, status.conditions, record.meta) == ()


def test_units_of_a_run_tell_only_that_they_failed() -> None:
    for unit in (p.batch(0), p.plays(0)):
        assert told(unit, known(RolloutCondition.COMPLETE, True, Reason.FINISHED)) == ()
        failed = told(unit, known(RolloutCondition.FAILED, True, Reason.JOB_FAILED, "because"))
        assert short(failed) == [(WARNING, "Failed", Reason.JOB_FAILED)]


def test_batch_that_stands_alone_tells_its_end_and_what_holds_it_up() -> None:
    pool = p.pool_record()
    assert short(told(pool, known(BatchCondition.COMPLETE, True, Reason.FINISHED))) == [
        (NORMAL, "Complete", Reason.FINISHED)
    ]
    assert short(told(pool, known(BatchCondition.VERIFIED, False, Reason.UNSCHEDULABLE))) == [
        (WARNING, "Verified", Reason.UNSCHEDULABLE)
    ]
    assert told(pool, known(BatchCondition.VERIFIED, False, Reason.JUDGING)) == ()


@given(st.text(max_size=2000))
def test_note_is_the_message_as_far_as_the_api_server_takes_it(message: str) -> None:
    (one,) = told(run(), known("Failed", True, Reason.JOB_FAILED, message))
    assert len(one.note.encode()) <= MAX_NOTE_BYTES
    assert one.note
    assert not message or message.startswith(one.note)
