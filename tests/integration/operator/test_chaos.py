"""A run outlives whatever goes wrong: nothing is done twice, nothing is left over, no bound is broken, status is true.

`pytest -k seed-17` plays one schedule alone, `make slow` plays those that are not in the sample.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio
from tests.integration.operator.chaos import Outcome, play
from tests.support.api_server import ApiServer
from tests.support.schedules import CallFault, WatchFault, WordFault, draw

SCHEDULES, SAMPLE = 200, 20
AT_ONCE = 4
"""Runs that live side by side; most of a run is waiting."""


def seeds(first: int, last: int) -> list[object]:
    return [pytest.param(seed, id=f"seed-{seed}") for seed in range(first, last)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outcomes(
    request: pytest.FixtureRequest, api_server: ApiServer, chart_rights: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Mapping[int, "asyncio.Task[Outcome]"]]:
    """All schedules that were asked for, in work."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> Outcome:
        async with places:
            return await play(api_server, chart_rights, tmp_path_factory.mktemp(f"seed-{seed}"), draw(seed))

    asked = [item.callspec.params["seed"] for item in request.session.items if is_schedule(item)]
    tasks = {seed: asyncio.create_task(one(seed)) for seed in asked}
    yield tasks
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)


def is_schedule(item: pytest.Item) -> bool:
    return item.path.name == "test_chaos.py" and hasattr(item, "callspec")


@pytest.mark.parametrize("seed", seeds(0, SAMPLE))
@pytest.mark.asyncio(loop_scope="module")
async def test_run_outlives_its_schedule_in_a_sample(
    seed: int, outcomes: Mapping[int, "asyncio.Task[Outcome]"]
) -> None:
    outcome = await outcomes[seed]
    assert not outcome.breaches, str(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(SAMPLE, SCHEDULES))
@pytest.mark.asyncio(loop_scope="module")
async def test_run_outlives_its_schedule(seed: int, outcomes: Mapping[int, "asyncio.Task[Outcome]"]) -> None:
    outcome = await outcomes[seed]
    assert not outcome.breaches, str(outcome)


def test_schedules_of_the_sample_hold_every_kind_of_trouble_and_repeat() -> None:
    schedules = [draw(seed) for seed in range(SAMPLE)]
    assert {trouble.fault for s in schedules for trouble in s.calls} == set(CallFault)
    assert {trouble.fault for s in schedules for trouble in s.watches} == set(WatchFault)
    assert {trouble.fault for s in schedules for trouble in s.words} == set(WordFault)
    assert {death.role for s in schedules for death in s.deaths} >= {"learner", "engine", "sandbox", "worker"}
    assert schedules == [draw(seed) for seed in range(SAMPLE)]
