"""What a pod answers is checked and bounded; a bad or slow pod neither breaks the poller nor delays the others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from aiohttp import web
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.statuses import EngineStatus, LearnerTarget, SandboxStatus
from spade_operator import poll_schedule, polling
from spade_operator.containers import ContainerRecord
from spade_operator.facts import Facts, Poll
from spade_operator.parts import engine_part
from spade_operator.polling import Poller, Word, pod_address, relevant
from spade_operator.records import PodRecord
from spade_operator.status_request import MAX_ANSWER_BYTES, BadAnswer

Found = TypeVar("Found")
Answer = Callable[[web.BaseRequest], Any]


@asynccontextmanager
async def polled(pods: dict[PodRecord, Answer]) -> AsyncIterator[tuple[Facts, list[tuple[PodRecord, Word]]]]:
    """A poller at work on pods that answer so."""
    changed: list[tuple[PodRecord, Word]] = []
    facts, ports, runners = Facts(), {}, []
    for pod, answer in pods.items():
        if pod.meta.role is not Role.ENGINE or pod == p.ENGINE:
            facts.put(pod)
        runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        runners.append(runner)
        ports[pod.meta.uid] = runner.addresses[0][1]
    poller = Poller(
        facts, lambda pod, word: changed.append((pod, word)), lambda pod, port: ("127.0.0.1", ports[pod.meta.uid])
    )
    running = asyncio.create_task(poller.run(lambda: True))
    try:
        yield facts, changed
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await poller.close()
        for runner in runners:
            await runner.cleanup()


async def until(look: Callable[[], Found | None]) -> Found:
    """The first thing that `look` finds; the poller works meanwhile."""
    async with asyncio.timeout(20):
        while True:
            found = look()
            if found is not None:
                return found
            await asyncio.sleep(0.01)


async def answered(facts: Facts, pod: PodRecord) -> Poll:
    return await until(lambda: facts.poll(pod.meta.uid))


def says(text: str, status: int = 200, **headers: str) -> Answer:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=text, status=status, headers=headers)

    return answer


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "ROUND_SECONDS", 0.01)
    quick = {
        role: replace(pace, first_seconds=0.02, longest_seconds=0.02) for role, pace in poll_schedule.PACES.items()
    }
    monkeypatch.setattr(poll_schedule, "PACES", quick)


async def test_answer_becomes_a_fact_and_news_once() -> None:
    async with polled({p.SANDBOX: says(p.sandbox_says().model_dump_json())}) as (facts, changed):
        first = await answered(facts, p.SANDBOX)
        found = await until(lambda: x if (x := facts.poll(p.SANDBOX.meta.uid)) and x.at > first.at else None)
    assert found.status == p.sandbox_says()
    assert changed == [(p.SANDBOX, Word.FIRST)]


async def test_learners_pod_with_an_engine_is_asked_for_both_words() -> None:
    pod = p.learner_pod(containers=(ContainerRecord("learner"), ContainerRecord("engine")))
    part = engine_part(pod)
    assert part is not None
    answers = {pod: says(p.learner_says().model_dump_json()), part: says(p.engine_says().model_dump_json())}
    async with polled(answers) as (facts, _):
        assert (await answered(facts, pod)).status == p.learner_says()
        assert (await answered(facts, part)).status == p.engine_says()


async def test_change_of_a_figure_that_decides_nothing_is_no_news() -> None:
    tokens = iter(range(10**6))

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=p.engine_says(generated_tokens=next(tokens)).model_dump_json())

    async with polled({p.ENGINE: answer}) as (facts, changed):
        await answered(facts, p.ENGINE)
        await until(lambda: facts.poll(p.ENGINE.meta.uid) if tokens_of(facts) > 5 else None)
    assert changed == [(p.ENGINE, Word.FIRST)]


def tokens_of(facts: Facts) -> int:
    poll = facts.poll(p.ENGINE.meta.uid)
    return poll.status.generated_tokens if poll and isinstance(poll.status, EngineStatus) else 0


@pytest.mark.parametrize(
    "answer",
    [
        says("not json"),
        says('{"boot_id": "x"}'),
        says(p.sandbox_says().model_dump_json().replace("{", '{"extra": 1,', 1)),
        says(" " * (MAX_ANSWER_BYTES + 1)),
        says("{}", status=500),
        says("", status=302, Location="http://127.0.0.1:1/status"),
    ],
)
async def test_answer_that_is_no_status_is_an_error_and_not_a_fact(answer: Answer) -> None:
    async with polled({p.SANDBOX: answer}) as (facts, _):
        found = await answered(facts, p.SANDBOX)
    assert found.status is None
    assert found.error


async def test_redirect_is_not_followed() -> None:
    visited: list[str] = []

    async def elsewhere(request: web.BaseRequest) -> web.Response:
        visited.append(request.path)
        return web.Response(text=p.sandbox_says().model_dump_json())

    runner = web.ServerRunner(web.Server(elsewhere))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    target = f"http://127.0.0.1:{runner.addresses[0][1]}/status"
    async with polled({p.SANDBOX: says("", status=307, Location=target)}) as (facts, _):
        assert (await answered(facts, p.SANDBOX)).status is None
    await runner.cleanup()
    assert visited == []


async def test_slow_pod_delays_nobody() -> None:
    async def never(request: web.BaseRequest) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    async with polled({p.SANDBOX: never, p.ENGINE: says(p.engine_says().model_dump_json())}) as (facts, _):
        assert (await answered(facts, p.ENGINE)).status == p.engine_says()
        assert facts.poll(p.SANDBOX.meta.uid) is None


async def test_poll_that_somebody_cancels_is_made_again() -> None:
    asked = asyncio.Event()

    async def late(request: web.BaseRequest) -> web.Response:
        if not asked.is_set():
            asked.set()
            await asyncio.sleep(60)
        return web.Response(text=p.engine_says().model_dump_json())

    async with polled({p.ENGINE: late}) as (facts, _):
        await asked.wait()
        (poll,) = (task for task in asyncio.all_tasks() if "Poller._poll" in repr(task))
        poll.cancel()
        assert (await answered(facts, p.ENGINE)).status == p.engine_says()


async def test_silence_keeps_the_last_answer_and_counts_failures() -> None:
    answers = [web.Response(text=p.sandbox_says().model_dump_json())]

    async def once(request: web.BaseRequest) -> web.Response:
        return answers.pop() if answers else web.Response(status=503)

    async with polled({p.SANDBOX: once}) as (facts, changed):
        await answered(facts, p.SANDBOX)
        found = await until(lambda: x if (x := facts.poll(p.SANDBOX.meta.uid)) and x.failures >= 3 else None)
    assert isinstance(found.status, SandboxStatus)
    assert changed == [(p.SANDBOX, Word.FIRST), (p.SANDBOX, Word.NEWS)], "the first answer, and the first failure"


def test_only_running_pods_with_a_status_are_asked() -> None:
    assert relevant(p.ENGINE)
    assert not relevant(replace(p.ENGINE, phase="Pending"))
    assert not relevant(replace(p.ENGINE, ip=""))
    assert not relevant(p.pod(Role.ENGINE, deleting=True))
    assert not relevant(p.pod(Role.PREPARE))
    assert relevant(p.learner_pod())
    assert not relevant(replace(p.learner_pod(), index=1))


def test_pod_is_asked_at_its_own_address() -> None:
    assert pod_address(replace(p.ENGINE, ip="fd00::5"), 7422) == ("fd00::5", 7422)


async def test_target_carries_its_token_and_a_refusal_is_an_error() -> None:
    seen: list[tuple[str, str | None]] = []

    async def control(request: web.BaseRequest) -> web.Response:
        seen.append((request.method, request.headers.get("Authorization")))
        return web.Response(status=200 if len(seen) == 1 else 409, text="behind")

    runner = web.ServerRunner(web.Server(control))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    poller = Poller(Facts(), lambda pod, word: None, lambda pod, port: ("127.0.0.1", runner.addresses[0][1]))
    target = LearnerTarget(policy_version=1, engines=())
    await poller.set_target(p.LEARNER, "token", target)
    with pytest.raises(BadAnswer, match="409: behind"):
        await poller.set_target(p.LEARNER, "token", target)
    await poller.close()
    await runner.cleanup()
    assert seen[0] == ("PUT", "Bearer token")
