"""What a pool counts agrees with what happened to its sessions, and every outcome has its word."""

import asyncio

import pytest
from tests.support.fake_pods import FakePods, Said, lying, refusal

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import SpadeError
from spade_sandbox.client import OUTCOMES
from spade_sandbox.client.errors import ProgramCrash

pytestmark = pytest.mark.looptime

LIMITS = SandboxLimits()


@pytest.mark.parametrize(
    ("operation", "said", "outcome"),
    [
        ("step", None, "lost"),
        ("step", "mischief", "violation"),
        ("step", refusal("lost"), "lost"),
        *(("step", refusal(kind), kind) for kind in ("timeout", "memory", "crash", "invalid_return")),
        *(("open", refusal(kind), kind) for kind in ("timeout", "memory", "crash", "invalid_return")),
        ("open", refusal("capacity"), "no_capacity"),
        ("open", refusal("lost"), "lost"),
    ],
)
async def test_session_is_counted_once_by_its_outcome(operation: str, said: Said, outcome: str) -> None:
    seen: list[str] = []
    async with FakePods(lying(operation, said)) as pods, pods.pool(observe_session=seen.append) as pool:
        with pytest.raises(SpadeError):
            async with pool.session("source", LIMITS, max_turns=5, wait_seconds=60) as session:
                await session.step("x")
        assert pool.stats.sessions == {outcome: 1}
        assert (pool.stats.open, pool.stats.wanted) == (0, 0)
    assert seen == [outcome]
    assert outcome in OUTCOMES


async def test_operations_are_counted_by_their_outcome() -> None:
    async with FakePods(lying("solution", refusal("crash"))) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            await session.reset(1)
            await session.step("x")
            with pytest.raises(SpadeError):
                await session.solution()
        assert pool.stats.operations == {"ok": 3, "crash": 1}


async def test_what_was_begun_behind_an_error_raises_it_too_and_is_not_counted() -> None:
    async with FakePods(lying("step", refusal("crash"))) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            ended = await asyncio.gather(*(session.step("x") for _ in range(4)), return_exceptions=True)
            assert {type(error) for error in ended} == {ProgramCrash}
            assert len(set(map(id, ended))) == 1
        assert pool.stats.operations == {"ok": 1, "crash": 1}


async def test_error_of_the_caller_is_no_outcome_of_the_session() -> None:
    async with FakePods(lying("solution", None)) as pods, pods.pool() as pool:
        with pytest.raises(KeyError):
            async with pool.session("source", LIMITS, max_turns=5):
                raise KeyError
        assert pool.stats.sessions == {"ok": 1}
