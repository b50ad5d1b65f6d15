"""A hostile program ends its own session with the typed fault, and touches nothing else."""

import asyncio

import pytest
from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.sandbox_pods import RunningPod, eventually

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_sandbox.client import InvalidReturn, ProgramCrash, ProgramMemory, ProgramTimeout, SandboxPool

TIGHT = SandboxLimits(step_seconds=1, load_seconds=30, memory_bytes=64 * 2**20, cpu_seconds=30)
PATIENT = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20, cpu_seconds=30)
"""For faults that must show before any deadline, on however busy a machine."""
FORGED = r"""
import json, os, struct
answer = json.dumps({"id": %s, "ok": {"op": "step", "observation": "won", "reward": %s, "terminated": True,
    "truncated": False, "info": {}}}).encode()
os.write(3, struct.pack(">I", len(answer)) + answer)
"""

HOSTILE = {
    "endless loop": ("while True:\n    pass", ProgramTimeout),
    "endless loop in C": ("self.turns = 7 ** 7 ** 9", ProgramTimeout),
    "endless loop that catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        ProgramTimeout,
    ),
    "sleep": ("import time\ntime.sleep(3600)", ProgramTimeout),
    "flood of output": ("while True:\n    print('x' * 100_000)", ProgramTimeout),
    "memory balloon": ("hoard = []\nwhile True:\n    hoard.append(bytearray(2**20))", ProgramMemory),
    "one huge allocation": ("x = bytearray(2**40)", ProgramMemory),
    "fork bomb": ("import os\nwhile True:\n    os.fork()", ProgramCrash),
    "threads": ("import threading\nthreading.Thread(target=print).start()", ProgramCrash),
    "another program": ("import os\nos.execv('/bin/sh', ['sh'])", ProgramCrash),
    "exit": ("import os\nos._exit(0)", ProgramCrash),
    "SystemExit": ("raise SystemExit(0)", ProgramCrash),
    "abort": ("import os\nos.abort()", ProgramCrash),
    "segmentation fault": ("import ctypes\nctypes.string_at(1)", ProgramCrash),
    "kill": ("import os\nos.kill(-1, 9)", ProgramCrash),
    "socket": ("import socket\nsocket.create_connection(('127.0.0.1', 7401))", ProgramCrash),
    "name resolution": ("import socket\nsocket.getaddrinfo('localhost', 80)", ProgramCrash),
    "a file of the image": ("open('/etc/passwd').read()", ProgramCrash),
    "a process's memory": ("open('/proc/self/mem', 'rb')", ProgramCrash),
    "full scratch space": (
        "for i in range(100):\n    open(f'/tmp/{i}', 'wb').write(b'0' * 2**19)",
        ProgramCrash,
    ),
    "an exception whose text never ends": (
        "class Loop(Exception):\n    def __str__(self):\n        while True: pass\nraise Loop",
        ProgramTimeout,
    ),
    "garbage on its socket": ("import os\nos.write(3, b'garbage' * 1000)", EnvironmentFault),
    "endless data on its socket": ("import os\nwhile True:\n    os.write(3, b'0000' * 10_000)", EnvironmentFault),
    "a forged answer that is not finite": (FORGED % ("3", "float('nan')"), ProgramCrash),
    "a forged answer to another question": (FORGED % ("99", "1.0"), ProgramCrash),
    "an integer that no float holds": ("return 'x', 10 ** 400, False, False, {}", InvalidReturn),
    "an observation beyond the limit": ("return 'x' * 10**7, 0.0, False, False, {}", InvalidReturn),
    "a string of its own kind": ("class S(str): pass\nreturn S('x'), 0.0, False, False, {}", InvalidReturn),
}


async def play(pool: SandboxPool, source: str, limits: SandboxLimits = PATIENT, steps: int = 1) -> list[str]:
    """Observations of one episode."""
    async with pool.session(source, limits, max_turns=25, wait_seconds=60) as session:
        seen = [await session.reset(7)]
        for _ in range(steps):
            seen.append((await session.step(r"\boxed{30}")).observation)
    return seen


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_program_ends_with_its_typed_fault(pool: SandboxPool, name: str) -> None:
    body, fault = HOSTILE[name]
    with pytest.raises(fault):
        await play(pool, stepping(body), TIGHT if fault is ProgramTimeout else PATIENT)


async def test_cpu_time_is_limited_over_the_whole_life_of_a_session(pool: SandboxPool) -> None:
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    limits = SandboxLimits(cpu_seconds=1, step_seconds=60)
    with pytest.raises(ProgramTimeout, match="CPU"):
        await play(pool, stepping(burn), limits, steps=20)


async def test_program_cannot_outlive_its_cpu_limit_by_catching_the_signal(pool: SandboxPool) -> None:
    head = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)"
    limits = SandboxLimits(cpu_seconds=1, step_seconds=60)
    with pytest.raises(ProgramTimeout, match="CPU"):
        await play(pool, stepping("while True: pass", head), limits)


async def test_cell_sees_nothing_of_its_pod(pool: SandboxPool) -> None:
    look = (
        "import os, sys\n"
        "seen = [os.getpid(), os.getuid(), os.listdir('/'), os.listdir('/tmp')]\n"
        "seen += [dict(os.environ), os.uname().nodename]\n"
        "return repr(seen), 0.0, False, False, {}"
    )
    _, seen = await play(pool, stepping(look))
    assert seen == repr([1, 1000, ["tmp"], [], {}, "cell"])


async def test_neighbours_play_on_as_if_they_were_alone(pool: SandboxPool) -> None:
    good = (PROGRAMS / "good" / "number_search.py").read_text()
    alone = await play(pool, good, steps=5)
    hostile = [stepping(HOSTILE[name][0]) for name in ("fork bomb", "memory balloon", "flood of output", "exit")]
    results = await asyncio.gather(
        *(play(pool, source, TIGHT) for source in hostile),
        *(play(pool, good, steps=5) for _ in range(4)),
        return_exceptions=True,
    )
    assert all(isinstance(result, EnvironmentFault) for result in results[:4])
    assert results[4:] == [alone] * 4


async def test_nothing_is_left_of_a_session_that_ended_badly(pool: SandboxPool, pod: RunningPod) -> None:
    for name in ("endless loop", "fork bomb", "exit"):
        with pytest.raises(EnvironmentFault):
            await play(pool, stepping(HOSTILE[name][0]), TIGHT)
    assert pod.status().sessions == 0
    assert pool.stats.open == pool.stats.wanted == 0


async def test_fault_answers_every_later_operation_of_its_session(pool: SandboxPool) -> None:
    async with pool.session(stepping("raise ValueError('no')"), PATIENT, max_turns=25) as session:
        await session.reset(1)
        for _ in range(2):
            with pytest.raises(ProgramCrash, match="ValueError in line"):
                await session.step("x")


async def test_answer_that_a_program_sends_twice_ends_the_session(pool: SandboxPool) -> None:
    async with pool.session(stepping(FORGED % ("3", "0.5")), PATIENT, max_turns=25) as session:
        await session.reset(1)
        assert (await session.step("x")).reward == 0.5, "a program may say of itself what it likes, once"
        with pytest.raises(ProgramCrash):
            await session.step("x")


async def test_same_seed_gives_the_same_episode_in_another_cell(pool: SandboxPool) -> None:
    for path in sorted((PROGRAMS / "good").glob("*.py")):
        source = path.read_text()
        assert await play(pool, source, steps=8) == await play(pool, source, steps=8)


async def test_unseeded_global_generators_are_seeded_with_the_episode(pool: SandboxPool) -> None:
    draw = "import random, numpy\nreturn f'{random.random()} {numpy.random.rand()}', 0.0, False, False, {}"
    assert await play(pool, stepping(draw), steps=3) == await play(pool, stepping(draw), steps=3)


async def test_many_sessions_wait_for_room_and_all_are_served(pool: SandboxPool, pod: RunningPod) -> None:
    capacity = pod.status().capacity
    good = (PROGRAMS / "good" / "number_search.py").read_text()
    episodes = await asyncio.gather(*(play(pool, good, steps=2) for _ in range(2 * capacity)))
    assert episodes == [episodes[0]] * (2 * capacity)
    eventually("all sessions are closed", lambda: pod.status().sessions == 0)
