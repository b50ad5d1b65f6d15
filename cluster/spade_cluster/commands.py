"""Run programs and wait for conditions, always with a deadline."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from spade_cluster.errors import ClusterError

POLL_SECONDS = 0.2


def run(
    command: Sequence[str | Path],
    *,
    timeout_seconds: float = 120.0,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Run to the end and return standard output.

    A failure or a timeout raises ClusterError with the program's last words.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            env=environment,
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{' '.join(words[:4])} … did not finish within {timeout_seconds:.0f} s") from error
    except FileNotFoundError as error:
        raise ClusterError(f"{words[0]} is not installed") from error
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip()[-1500:]
        raise ClusterError(f"{' '.join(words[:6])} failed with exit code {done.returncode}: {tail}")
    return done.stdout


def succeeds(command: Sequence[str | Path], *, timeout_seconds: float = 30.0) -> bool:
    """Tell whether a command ends well in time; what it prints is dropped."""
    try:
        run(command, timeout_seconds=timeout_seconds)
    except ClusterError:
        return False
    return True


def wait_until(condition: Callable[[], bool], *, timeout_seconds: float) -> bool:
    """Ask again and again until the condition holds; False when the time is over."""
    end = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True
