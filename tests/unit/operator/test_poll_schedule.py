"""Pods are asked soon where something may have happened, seldom where nothing does, and never too many at once."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_operator.poll_schedule import PACES, POLLS_PER_SECOND, STEADY_POLLS_PER_SECOND, Schedule, pause_seconds
from spade_operator.records import ContainerRecord, PodRecord

ROUND_SECONDS = 0.1
FAMILY = (p.ENGINE.meta.namespace, p.ENGINE.meta.run)


def asked_between(
    schedule: Schedule, pods: Iterable[PodRecord], begin: float, end: float, news: Iterable[float] = ()
) -> dict[str, list[float]]:
    """When each pod is asked, if answers come at once and none is news but those of the polls after these times."""
    pods, pending = tuple(pods), sorted(news)
    times: dict[str, list[float]] = {pod.meta.uid: [] for pod in pods}
    rounds = int((end - begin) / ROUND_SECONDS)
    for number in range(rounds):
        now = begin + number * ROUND_SECONDS
        if number % 10 == 0:
            schedule.scan(pods, now)
        for pod in schedule.due(now, 128):
            told = bool(pending and pending[0] <= now)
            pending = pending[1:] if told else pending
            times[pod.meta.uid].append(now)
            schedule.asked(pod.meta.uid, now, news=told)
    return times


def many(count: int) -> list[PodRecord]:
    return [replace(p.SANDBOX, meta=replace(p.SANDBOX.meta, uid=f"sandbox-{n}", name=f"s-{n}")) for n in range(count)]


@given(st.sampled_from(sorted(PACES)), st.floats(0, 1e6), st.integers(0, 100_000))
def test_pause_is_a_share_of_the_quiet_time_within_its_bounds(role: Role, quiet: float, pods: int) -> None:
    pace = PACES[role]
    pause = pause_seconds(pace, quiet, pods)
    assert pause >= pace.first_seconds
    assert pause <= max(pace.first_seconds, pace.quiet_share * quiet)
    assert pause <= max(pace.longest_seconds, pods / STEADY_POLLS_PER_SECOND)


def test_new_pod_is_asked_at_once_and_then_more_and_more_seldom() -> None:
    times = asked_between(Schedule(), [p.SANDBOX], 0.0, 300.0)[p.SANDBOX.meta.uid]
    assert times[0] == 0.0
    assert sum(1 for at in times if at < 5) >= 4
    assert sum(1 for at in times if at >= 200) <= 5
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert max(pauses) <= PACES[Role.SANDBOX].longest_seconds + 2 * ROUND_SECONDS


def test_what_a_stage_waits_for_is_noticed_late_by_a_small_share_of_its_length() -> None:
    times = asked_between(Schedule(), [p.LEARNER], 0.0, 400.0)[p.LEARNER.meta.uid]
    pace = PACES[Role.LEARNER]
    for earlier, later in pairwise(times):
        assert later - earlier <= max(pace.first_seconds, pace.quiet_share * earlier) + 2 * ROUND_SECONDS


def test_news_of_one_pod_of_a_stage_makes_the_others_of_its_family_due_soon() -> None:
    schedule = Schedule()
    pods = [p.ENGINE, p.LEARNER]
    asked_between(schedule, pods, 0.0, 200.0)
    schedule.stir(FAMILY, 200.0)
    times = asked_between(schedule, pods, 200.0, 203.0)
    for pod in pods:
        assert len(times[pod.meta.uid]) >= 4


def test_news_of_another_family_or_of_a_sandbox_hastens_nobody() -> None:
    schedule = Schedule()
    asked_between(schedule, [p.ENGINE, p.SANDBOX], 0.0, 400.0)
    schedule.asked(p.SANDBOX.meta.uid, 400.0, news=True)
    schedule.stir(("elsewhere", "other"), 400.0)
    assert len(asked_between(schedule, [p.ENGINE], 400.0, 410.0)[p.ENGINE.meta.uid]) <= 2


def test_pod_whose_container_was_restarted_is_asked_at_once() -> None:
    schedule = Schedule()
    asked_between(schedule, [p.SANDBOX], 0.0, 400.0)
    restarted = replace(p.SANDBOX, containers=(ContainerRecord("sandbox", restarts=1),))
    assert asked_between(schedule, [restarted], 400.0, 401.0)[p.SANDBOX.meta.uid][0] == 400.0


def test_thousands_of_pods_are_asked_within_the_budget_and_nobody_is_forgotten() -> None:
    pods = many(3_000)
    times = asked_between(Schedule(), pods, 0.0, 60.0)
    seconds = Counter(int(at) for asked in times.values() for at in asked)
    assert max(seconds.values()) <= 2 * POLLS_PER_SECOND
    assert sum(seconds.values()) <= 61 * POLLS_PER_SECOND
    assert all(times.values()), "each has been asked"


def test_crowd_of_waiting_pods_does_not_keep_a_stage_from_being_noticed() -> None:
    times = asked_between(Schedule(), [*many(5_000), p.LEARNER], 0.0, 20.0)[p.LEARNER.meta.uid]
    alone = asked_between(Schedule(), [p.LEARNER], 0.0, 20.0)[p.LEARNER.meta.uid]
    assert times == alone


def test_pod_that_has_gone_is_asked_no_more_and_one_that_is_being_asked_not_twice() -> None:
    schedule = Schedule()
    schedule.scan([p.ENGINE, p.SANDBOX], 0.0)
    assert {pod.meta.uid for pod in schedule.due(0.0, 128)} == {p.ENGINE.meta.uid, p.SANDBOX.meta.uid}
    assert not list(schedule.due(100.0, 128)), "both are being asked"
    schedule.asked(p.ENGINE.meta.uid, 100.0, news=False)
    schedule.scan([p.SANDBOX], 101.0)
    assert not list(schedule.due(200.0, 128))
    schedule.asked(p.ENGINE.meta.uid, 200.0, news=True)


def test_learner_and_engines_are_asked_at_leisure_while_workers_work_and_soon_again_when_told() -> None:
    pods = [p.ENGINE, p.LEARNER]
    at_work = asked_between(Schedule(lambda namespace, run: (namespace, run) == FAMILY), pods, 0.0, 30.0)
    awaited = asked_between(Schedule(), pods, 0.0, 30.0)
    for pod in pods:
        assert len(at_work[pod.meta.uid]) * 3 <= len(awaited[pod.meta.uid])
    working = [True]
    schedule = Schedule(lambda namespace, run: working[0])
    asked_between(schedule, pods, 0.0, 200.0)
    working[0] = False
    schedule.stir(FAMILY, 200.0)
    assert all(len(times) >= 4 for times in asked_between(schedule, pods, 200.0, 203.0).values())


def test_news_of_a_worker_hastens_no_learner() -> None:
    worker = p.pod(Role.WORKER)
    schedule = Schedule()
    asked_between(schedule, [worker, p.LEARNER], 0.0, 400.0)
    schedule.asked(worker.meta.uid, 400.0, news=True)
    assert len(asked_between(schedule, [worker, p.LEARNER], 400.0, 410.0)[p.LEARNER.meta.uid]) <= 2
