"""What a session promises: repeatable episodes, limits that the pod itself enforces, room for all in turn."""

import asyncio

from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.sandbox_pods import RunningPod, eventually

from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client import SandboxPool

GOOD = (PROGRAMS / "good" / "number_search.py").read_text()
LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)


async def play(pool: SandboxPool, source: str, steps: int = 1, *, other_hash_seed: bool = False) -> list[str]:
    """Observations of one episode."""
    async with pool.session(source, LIMITS, max_turns=25, wait_seconds=60, other_hash_seed=other_hash_seed) as session:
        seen = [await session.reset(7)]
        for _ in range(steps):
            seen.append((await session.step(r"\boxed{30}")).observation)
    return seen


async def test_same_seed_gives_the_same_episode_in_another_cell(pool: SandboxPool) -> None:
    for path in sorted((PROGRAMS / "good").glob("*.py")):
        source = path.read_text()
        assert await play(pool, source, steps=8) == await play(pool, source, steps=8)


async def test_unseeded_global_generators_are_seeded_with_the_episode(pool: SandboxPool) -> None:
    draw = "import random, numpy\nreturn f'{random.random()} {numpy.random.rand()}', 0.0, False, False, {}"
    assert await play(pool, stepping(draw), steps=3) == await play(pool, stepping(draw), steps=3)


async def test_numpy_is_there_for_programs_that_name_it(pool: SandboxPool) -> None:
    """The name is put together at run time in one of them; in both the module is asked for in the same way."""
    look = "import sys\nreturn ('there' if {} in sys.modules else 'absent'), 0.0, False, False, {{}}"
    assert await play(pool, stepping(look.format("'numpy'")), steps=1) == ["seed 7", "there"]
    assert await play(pool, stepping(look.format("'num' + 'py'")), steps=1) == ["seed 7", "absent"]


async def test_order_of_a_set_is_fixed_and_another_one_can_be_asked_for(pool: SandboxPool) -> None:
    source = stepping("return ' '.join({f'word {n}' for n in range(50)}), 0.0, False, False, {}")
    usual = await play(pool, source)
    assert await play(pool, source) == usual
    other = await play(pool, source, other_hash_seed=True)
    assert other != usual
    assert await play(pool, source, other_hash_seed=True) == other


async def test_operations_begun_together_are_those_begun_one_after_the_other(pool: SandboxPool) -> None:
    actions = [rf"\boxed{{{number}}}" for number in range(40)]
    for path in sorted((PROGRAMS / "good").glob("*.py")):
        async with pool.session(path.read_text(), LIMITS, max_turns=100, wait_seconds=60) as session:
            one_by_one = [await session.reset(7), *[await session.step(action) for action in actions]]
            one_by_one += [await session.inspect(), await session.reset(8)]
            together = await asyncio.gather(
                session.reset(7), *map(session.step, actions), session.inspect(), session.reset(8)
            )
        assert list(together) == one_by_one


async def test_fault_in_the_midst_of_operations_begun_together_ends_those_behind_it(pool: SandboxPool) -> None:
    bad = stepping("if self.turns == 3:\n    return action.no_such_thing\nself.seen = self.turns")
    async with pool.session(bad, LIMITS, max_turns=100, wait_seconds=60) as session:
        await session.reset(1)
        ended = await asyncio.gather(*(session.step("x") for _ in range(40)), return_exceptions=True)
    assert [getattr(result, "observation", None) for result in ended[:2]] == ["turn 1", "turn 2"]
    assert {str(error) for error in ended[2:]} == {str(ended[2])}
    assert "no_such_thing" in str(ended[2])


async def test_each_of_operations_begun_together_has_its_own_time(pool: SandboxPool) -> None:
    """All of them take longer than one may."""
    slow = stepping("import time\ntime.sleep(0.4)")
    limits = LIMITS.model_copy(update={"step_seconds": 3.0})
    async with pool.session(slow, limits, max_turns=100, wait_seconds=60) as session:
        await session.reset(1)
        steps = await asyncio.gather(*(session.step("x") for _ in range(12)))
    assert [step.observation for step in steps] == [f"turn {number}" for number in range(1, 13)]


async def test_many_sessions_wait_for_room_and_all_are_served(pool: SandboxPool, pod: RunningPod) -> None:
    capacity = pod.status().capacity
    episodes = await asyncio.gather(*(play(pool, GOOD, steps=2) for _ in range(2 * capacity)))
    assert episodes == [episodes[0]] * (2 * capacity)
    eventually("all sessions are closed", lambda: pod.status().sessions == 0)
