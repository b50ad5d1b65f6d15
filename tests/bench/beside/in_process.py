"""The reference's way: `exec` in the trainer's own process. No isolation at all, and the fastest there can be."""

import time

from spade_sandbox.pod.programs import loading


def ready_seconds(source: str, times: int) -> list[float]:
    """Seconds from text to a constructed environment."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        loading.load(source, 12)
        taken.append(time.perf_counter() - began)
    return taken


def steps_per_second(source: str, seconds: float) -> float:
    """Steps of one environment."""
    environment = loading.load(source, 12)
    environment.reset(seed=1)
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        environment.step("x")
        count += 1
    return count / (time.perf_counter() - began)
