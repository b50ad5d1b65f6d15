"""Sessions of the battery follow each other closely, and its CPU time is known where it decides."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import cast

import pytest

from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify.trial import OutOfTime, Program


class _Session:
    cpu_seconds = 0.0


class Pool:
    """Sessions that have used `used` seconds of CPU time once `closes` is set."""

    def __init__(self, used: float) -> None:
        self.used, self.opened, self.closes = used, 0, asyncio.Event()

    @contextlib.asynccontextmanager
    async def session(self, *_: object, **__: object) -> AsyncIterator[_Session]:
        self.opened += 1
        session = _Session()
        yield session
        await self.closes.wait()
        session.cpu_seconds = self.used


def program(pool: Pool, **settings: float) -> Program:
    return Program("", cast(SandboxPool, pool), SandboxLimits(), settings=VerificationSettings(**settings))


async def test_next_session_opens_while_the_last_one_is_closed_and_all_cpu_time_is_counted() -> None:
    pool = Pool(used=0.5)
    judged = program(pool)
    for _ in range(2):
        async with judged.session("one"):
            pass
    assert (pool.opened, judged.cpu_seconds) == (2, 0.0)
    pool.closes.set()
    await judged.settle()
    assert judged.cpu_seconds == 1.0


@pytest.mark.parametrize(("used", "opens"), [(0.02, False), (0.001, True)])
async def test_session_that_may_have_used_up_the_time_is_waited_for(used: float, opens: bool) -> None:
    pool = Pool(used)
    judged = program(pool, max_cpu_seconds=0.01)
    async with judged.session("long"):
        await asyncio.sleep(0.02)
    asyncio.get_running_loop().call_later(0.02, pool.closes.set)
    with contextlib.nullcontext() if opens else pytest.raises(OutOfTime):
        async with judged.session("next"):
            assert judged.cpu_seconds == used
    await judged.settle()
    assert pool.opened == 1 + opens


async def test_cpu_time_of_what_is_done_again_does_not_count() -> None:
    pool = Pool(used=0.5)
    pool.closes.set()
    judged = program(pool)
    async with judged.session("kept"):
        pass
    mark = judged.mark()
    async with judged.session("again"):
        pass
    judged.rewind(mark)
    await judged.settle()
    assert judged.cpu_seconds == 0.5
