"""The beacon: a trusted pod that listens like an engine and tries the probe's targets as a worker may (design §11).

It is the positive control of the isolation probe: what a sandbox did not reach proves something only if it can be
reached at all. Targets are read again each round, because some are known only later.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from pydantic import ValidationError

from spade_contracts.isolation import PROBE_TARGETS, TARGETS_PATH, ProbeTarget
from spade_contracts.ports import ENGINE_DATA, WORKER_STATUS
from spade_contracts.reaching import try_target
from spade_contracts.statuses import BeaconStatus
from spade_trainer.workers.status_port import serve_status

ATTEMPT_SECONDS = 2.0
ROUND_PAUSE_SECONDS = 2.0


async def beacon(
    boot_id: str,
    *,
    targets: Path = Path(TARGETS_PATH),
    data_port: int = ENGINE_DATA,
    status_port: int = WORKER_STATUS,
    pause_seconds: float = ROUND_PAUSE_SECONDS,
) -> None:
    """Listen and try until cancelled."""
    latest = BeaconStatus(boot_id=boot_id, attempts=())
    async with _answering(data_port), serve_status(status_port, lambda: latest):
        while True:
            attempts = await asyncio.gather(*(try_target(target, ATTEMPT_SECONDS) for target in read_targets(targets)))
            latest = BeaconStatus(boot_id=boot_id, attempts=tuple(attempts))
            await asyncio.sleep(pause_seconds)


def read_targets(path: Path) -> tuple[ProbeTarget, ...]:
    """The targets in a file; none while it is missing or being replaced."""
    try:
        return PROBE_TARGETS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return ()


@asynccontextmanager
async def _answering(port: int) -> AsyncIterator[None]:
    """An HTTP server that answers 200 to everything, while the block runs."""

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(text="beacon\n")

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, None, port).start()
        yield
    finally:
        await runner.cleanup()
