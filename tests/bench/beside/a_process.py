"""A plain process per program, spoken to through pipes: the least that keeps a crash away from the trainer."""

import asyncio
import json
import sys
import time

HARNESS = """
import json, sys
from spade_sandbox.pod.programs import loading
environment = loading.load(json.loads(sys.stdin.readline()), 12)
print(json.dumps(environment.reset(seed=1)[0]), flush=True)
for line in sys.stdin:
    print(json.dumps(environment.step(json.loads(line))[:4]), flush=True)
"""


async def start(source: str) -> asyncio.subprocess.Process:
    """A process that has loaded and reset the program."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HARNESS, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    await ask(process, source)
    return process


async def ask(process: asyncio.subprocess.Process, what: str) -> str:
    """One line there and back."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(what).encode() + b"\n")
    return (await process.stdout.readline()).decode()


async def measured(source: str, times: int, steps: int) -> tuple[list[float], list[float]]:
    """Seconds until a program is ready, and seconds of each step."""
    ready, stepped = [], []
    for _ in range(times):
        began = time.perf_counter()
        process = await start(source)
        ready.append(time.perf_counter() - began)
        for _ in range(steps):
            began = time.perf_counter()
            await ask(process, "x")
            stepped.append(time.perf_counter() - began)
        process.kill()
        await process.wait()
    return ready, stepped
