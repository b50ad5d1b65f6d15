"""A client of several real pods: what one of them loses, the others do not notice."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.component.sandbox.programs import stepping
from tests.support.sandbox_pods import TOKEN, RunningPod, eventually, pod_in_namespaces

from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client import SandboxLost, SandboxPool
from spade_sandbox.client.pool import PROBE_SECONDS

LIMITS = SandboxLimits()
COUNTING = stepping("pass")
SESSIONS = 12
STEPS = 30


@asynccontextmanager
async def client_of(*pods: RunningPod) -> AsyncIterator[SandboxPool]:
    """A client that is connected to all of them; they admit sessions."""
    for pod in pods:
        pod.tried()
    async with SandboxPool([pod.target for pod in pods], TOKEN) as pool:
        await connected(pool)
        yield pool


async def connected(pool: SandboxPool) -> None:
    """The client is connected to both pods."""
    await asyncio.to_thread(eventually, "both are connected", lambda: list(pool.pods.values()) == [True, True])


async def episode(pool: SandboxPool, begun: asyncio.Barrier, middle: asyncio.Barrier) -> tuple[str, list[str]]:
    """One episode that stands still once in its middle: its pod and what it saw, as far as it came."""
    async with pool.session(COUNTING, LIMITS, max_turns=STEPS) as session:
        seen = [await session.reset(1)]
        await begun.wait()
        try:
            for turn in range(STEPS):
                if turn == STEPS // 2:
                    await middle.wait()
                seen.append((await session.step("x")).observation)
        except SandboxLost:
            seen.append("lost")
        return session.pod.split("/")[0], seen


WHOLE = ["seed 1", *(f"turn {turn}" for turn in range(1, STEPS + 1))]
HALF = [*WHOLE[: STEPS // 2 + 1], "lost"]


async def test_pod_killed_in_the_midst_of_many_sessions_loses_exactly_its_own_and_comes_back() -> None:
    with pod_in_namespaces(capacity=SESSIONS) as other, pod_in_namespaces(capacity=SESSIONS) as doomed:
        port = doomed.session_port
        async with client_of(doomed, other) as pool:
            begun, middle = asyncio.Barrier(SESSIONS + 1), asyncio.Barrier(SESSIONS + 1)
            episodes = [asyncio.create_task(episode(pool, begun, middle)) for _ in range(SESSIONS)]
            await begun.wait()
            await asyncio.to_thread(eventually, "all stand in their middle", lambda: middle.n_waiting == SESSIONS)
            doomed.signal(signal.SIGKILL)
            await asyncio.to_thread(doomed.process.wait, 20)
            await middle.wait()
            ended = await asyncio.gather(*episodes)
            lost, whole = (doomed.target, HALF), (other.target, WHOLE)
            assert sorted(ended) == sorted([lost, whole] * (SESSIONS // 2))
            assert pool.stats.sessions == {"ok": SESSIONS // 2, "lost": SESSIONS // 2}
            with pod_in_namespaces(capacity=SESSIONS, session_port=port) as restarted:
                restarted.tried()
                await connected(pool)
                await asyncio.sleep(PROBE_SECONDS)  # it may have said that it is closed when it was connected
                again = await asyncio.gather(*(_pod_of_a_session(pool) for _ in range(4)))
            assert set(again) == {doomed.target, other.target}


async def test_pod_that_drains_in_the_midst_of_many_sessions_loses_none() -> None:
    with pod_in_namespaces(capacity=SESSIONS) as draining, pod_in_namespaces(capacity=SESSIONS) as other:
        async with client_of(draining, other) as pool:
            begun, middle = asyncio.Barrier(SESSIONS + 1), asyncio.Barrier(SESSIONS + 1)
            episodes = [asyncio.create_task(episode(pool, begun, middle)) for _ in range(SESSIONS)]
            await begun.wait()
            draining.signal(signal.SIGTERM)
            await asyncio.to_thread(eventually, "the pod drains", lambda: draining.status().draining)
            later = await asyncio.gather(*(_pod_of_a_session(pool) for _ in range(4)))
            assert set(later) == {other.target}
            await middle.wait()
            ended = await asyncio.gather(*episodes)
            assert [seen for _, seen in ended] == [WHOLE] * SESSIONS
            assert {pod for pod, _ in ended} == {draining.target, other.target}
            assert await asyncio.to_thread(draining.process.wait, 20) == 0
            assert pool.stats.sessions == {"ok": SESSIONS + 4}


async def test_pod_that_is_frozen_is_given_up_and_believed_again_when_it_thaws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spade_sandbox.client.pool.PROBE_SECONDS", 0.2)
    monkeypatch.setattr("spade_sandbox.client.pool.PROBE_DEADLINE_SECONDS", 1.0)
    monkeypatch.setattr("spade_sandbox.client.pods.DISTRUST_SECONDS", (0.5,))
    with pod_in_namespaces() as pod:
        async with SandboxPool(pod.target, TOKEN) as pool:
            async with pool.session(COUNTING, LIMITS, max_turns=5) as session:
                await session.reset(1)
                pod.signal(signal.SIGSTOP)
                with pytest.raises(SandboxLost, match="probes unanswered"):
                    await session.step("x")
            assert pool.stats.evictions == {"silent": 1}
            pod.signal(signal.SIGCONT)
            assert await _pod_of_a_session(pool) == pod.target


async def _pod_of_a_session(pool: SandboxPool) -> str:
    async with pool.session(COUNTING, LIMITS, max_turns=5) as session:
        await session.reset(1)
        await asyncio.sleep(0.2)  # held, so that the next one goes elsewhere
        return session.pod.split("/")[0]
