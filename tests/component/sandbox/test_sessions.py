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


async def test_many_sessions_wait_for_room_and_all_are_served(pool: SandboxPool, pod: RunningPod) -> None:
    capacity = pod.status().capacity
    episodes = await asyncio.gather(*(play(pool, GOOD, steps=2) for _ in range(2 * capacity)))
    assert episodes == [episodes[0]] * (2 * capacity)
    eventually("all sessions are closed", lambda: pod.status().sessions == 0)
