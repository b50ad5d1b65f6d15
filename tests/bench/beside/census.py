"""Processes and open descriptors of a place, counted from inside."""

import json
import os
import subprocess
import sys

from tests.support.sandbox_pods import RunningPod, descendants


def count(process_ids: set[int]) -> tuple[int, int]:
    """How many of them there are, and their open descriptors, as far as they can be seen."""
    alive = descriptors = 0
    for number in process_ids:
        try:
            descriptors += len(os.listdir(f"/proc/{number}/fd"))
        except FileNotFoundError:
            continue
        except PermissionError:
            pass
        alive += 1
    return alive, descriptors


def census(pod: RunningPod) -> tuple[int, int]:
    """Processes and descriptors of a pod."""
    if not pod.within:
        return count(descendants(pod.process.pid) | {pod.process.pid})
    command = [*pod.within, sys.executable, "-c", _INSIDE]
    processes, descriptors = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return processes, descriptors


_INSIDE = """
import json, os
def descriptors(number):
    try:
        return len(os.listdir(f"/proc/{number}/fd"))
    except OSError:
        return 0
others = [number for number in os.listdir("/proc") if number.isdigit() and int(number) != os.getpid()]
print(json.dumps([len(others), sum(map(descriptors, others))]))
"""
