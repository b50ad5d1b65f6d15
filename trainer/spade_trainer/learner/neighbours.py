"""The engines on the learner's own devices: they sleep while it computes, and it moves off while they play."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import aiohttp

from spade_contracts.engine_api import SleepReport
from spade_contracts.statuses import EngineState, EngineTarget
from spade_trainer.weights.engine_client import EngineClient, EngineFault

MakeClient = Callable[[aiohttp.ClientSession, str], EngineClient]
"""Makes the client of an engine's host."""
LOCAL = "127.0.0.1"
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Neighbours:
    """Called from the learner's main thread. Both methods raise EngineFault if an engine does not do as it is told:
    then nobody may touch the devices, and the group ends."""

    client: MakeClient

    def sleep(self, engines: Iterable[EngineTarget]) -> None:
        """All engines give their devices up."""
        asyncio.run(self._all(engines, lambda client: client.sleep(), asleep=True))

    def wake(self, engines: Iterable[EngineTarget]) -> None:
        """All engines take their devices; they are unproven afterwards."""
        asyncio.run(self._all(engines, lambda client: client.wake(), asleep=False))

    async def _all(
        self,
        engines: Iterable[EngineTarget],
        order: Callable[[EngineClient], Awaitable[SleepReport]],
        *,
        asleep: bool,
    ) -> None:
        async with aiohttp.ClientSession() as session:
            orders = [_obeyed(self.client(session, engine.host), order, asleep=asleep) for engine in engines]
            await asyncio.gather(*orders)


async def wait_for_first_sleep(client: MakeClient) -> None:
    """Until the engine of this pod has started, and sleeps: two that start at once would fight for the same memory.

    Without a limit: the operator says what a pod waits for, and a container that ends is its business.
    """
    async with aiohttp.ClientSession() as session:
        engine = client(session, LOCAL)
        while not await _started(engine):  # noqa: ASYNC110  # another process, which tells nobody
            await asyncio.sleep(LOOK_SECONDS)
        await _obeyed(engine, lambda one: one.sleep(), asleep=True)


async def _started(engine: EngineClient) -> bool:
    try:
        return (await engine.status()).state is not EngineState.STARTING
    except EngineFault:
        return False


async def _obeyed(
    engine: EngineClient, order: Callable[[EngineClient], Awaitable[SleepReport]], *, asleep: bool
) -> None:
    report = await order(engine)
    if report.asleep is not asleep:
        raise EngineFault("unreadable", f"{engine.host} was told to {'sleep' if asleep else 'wake up'} and did not")
