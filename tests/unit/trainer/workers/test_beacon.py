"""The beacon answers where an engine would and says which targets it reaches."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from tests.support.ports import free_port

from spade_contracts.isolation import ProbeTarget, TargetKind
from spade_contracts.statuses import BeaconStatus
from spade_trainer.workers.beacon import beacon, read_targets


def target(port: int) -> ProbeTarget:
    return ProbeTarget.model_validate({"name": "one", "kind": TargetKind.DNS, "host": "127.0.0.1", "port": port})


async def test_targets_that_come_later_are_tried_and_everything_is_answered(tmp_path: Path) -> None:
    data, status = free_port(), free_port()
    file = tmp_path / "targets.json"
    assert read_targets(file) == ()
    serving = asyncio.create_task(beacon("boot", targets=file, data_port=data, status_port=status, pause_seconds=0.02))
    async with aiohttp.ClientSession() as http, asyncio.timeout(20):
        assert (await _get(http, f"http://127.0.0.1:{status}/healthz"))[0] == 200
        assert (await _get(http, f"http://127.0.0.1:{data}/any/path"))[0] == 200
        file.write_text(json.dumps([target(data).model_dump(mode="json")]))
        while True:
            seen = BeaconStatus.model_validate_json((await _get(http, f"http://127.0.0.1:{status}/status"))[1])
            if seen.attempts:
                break
            await asyncio.sleep(0.02)
    assert (seen.boot_id, seen.attempts[0].kind, seen.attempts[0].reached) == ("boot", "dns", True)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", data)


async def _get(http: aiohttp.ClientSession, url: str) -> tuple[int, str]:
    """Status code and body, as soon as somebody listens."""
    while True:
        try:
            async with http.get(url) as reply:
                return reply.status, await reply.text()
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(0.02)


def test_the_beacon_needs_no_heavy_library() -> None:
    code = "import sys, spade_trainer.workers.main, spade_trainer.workers.beacon; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert not {"torch", "pyarrow", "transformers", "numpy", "vllm"} & set(modules)
