"""The isolation probe: is this gVisor, and is the network closed? Run at start, before the first program (design §11).

gVisor is believed only on two marks together: the kernel log begins with gVisor's start line, and /proc/version has the
string that gVisor's kernel gives itself. An ordinary container may read its host's log or no log at all; neither
begins so. Targets are tried as spade_contracts.reaching says: a refusal is not reaching, so targets must be places that
listen, and the beacon shows that they do.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from spade_contracts.isolation import ProbeTarget
from spade_contracts.reaching import try_target
from spade_contracts.statuses import ProbeResult
from spade_sandbox.pod import linux

ATTEMPT_SECONDS = 1.0
ROUND_PAUSE_SECONDS = 0.5
MAX_KERNEL_CHARACTERS = 300
_GVISOR_LOG = re.compile(r"^(<\d+>)?\[ *0\.0+\] Starting gVisor\.\.\.")
_GVISOR_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"


def is_gvisor(kernel_log: str, version: str) -> bool:
    """Whether these two marks, the kernel log's beginning and /proc/version, are gVisor's."""
    return _GVISOR_LOG.match(kernel_log) is not None and version.strip() == _GVISOR_VERSION


def read_marks() -> tuple[str, str]:
    """The kernel log's beginning and /proc/version of this machine."""
    try:
        version = Path("/proc/version").read_text("utf-8", "replace")
    except OSError:
        version = ""
    return linux.kernel_log(), version


async def run_probe(targets: Sequence[ProbeTarget], patience_seconds: float) -> ProbeResult:
    """Try all targets in rounds until one round reaches none of them, or patience ends.

    The result holds the attempts of the last round: it is closed exactly if none of them reached its target.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    log, version = read_marks()
    while True:
        attempts = tuple(await asyncio.gather(*(try_target(target, ATTEMPT_SECONDS) for target in targets)))
        elapsed = loop.time() - started
        if not any(attempt.reached for attempt in attempts) or elapsed >= patience_seconds:
            return ProbeResult(
                gvisor=is_gvisor(log, version),
                kernel=version.strip()[:MAX_KERNEL_CHARACTERS],
                attempts=attempts,
                seconds=elapsed,
            )
        await asyncio.sleep(ROUND_PAUSE_SECONDS)
