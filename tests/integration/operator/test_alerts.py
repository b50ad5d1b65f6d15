"""A real Prometheus that scrapes a real operator fires the alerts users are paged by, and no others."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from tests.integration.operator.conftest import Stage, within
from tests.support.ports import free_port
from tests.support.prometheus import RULES, prometheus_program

WARM_UP_ROLLOUTS = 4
SECONDS = 300.0


@dataclass(frozen=True)
class Prometheus:
    """A running server."""

    url: str

    async def firing(self) -> dict[str, dict[str, Any]]:
        """Alerts that fire, by name."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/api/v1/alerts") as answer:
            found = json.loads(await answer.text())["data"]["alerts"]
        return {alert["labels"]["alertname"]: alert for alert in found if alert["state"] == "firing"}

    async def until_firing(self, name: str) -> dict[str, Any]:
        """The alert as soon as it fires."""

        async def look() -> dict[str, Any] | None:
            return (await self.firing()).get(name)

        found = await within(SECONDS, look)
        assert found, f"{name} does not fire; {sorted(await self.firing())} do"
        return found


@asynccontextmanager
async def prometheus(folder: Path, target_port: int) -> AsyncIterator[Prometheus]:
    """Prometheus with our rules, which scrapes one target each second."""
    scrape = {
        "job_name": "operator",
        "static_configs": [{"targets": [f"127.0.0.1:{target_port}"]}],
        "honor_labels": True,
    }
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [scrape],
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            prometheus_program("prometheus"), f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}", stdout=log, stderr=log,
        )  # fmt: skip
    server = Prometheus(f"http://127.0.0.1:{port}")

    async def ready() -> bool:
        try:
            async with aiohttp.ClientSession() as session, session.get(f"{server.url}/-/ready") as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    try:
        assert await within(SECONDS, ready), (folder / "prometheus.log").read_text()[-2000:]
        yield server
    finally:
        process.terminate()
        await process.wait()


async def test_verifier_failures_and_a_drop_of_the_learnable_fraction_fire_and_nothing_else(
    stage: Stage, tmp_path: Path
) -> None:
    async with stage.operator(), prometheus(tmp_path, stage.http_port) as server:
        await stage.create_run(rollouts=500, environments={"cycleLength": 2, "perCycle": 6, "activeSkills": 6})
        failures = await server.until_firing("SpadeVerifierFailures")
        await stage.until("a baseline", lambda run: run.get("status", {}).get("learnableBaseline"))
        assert "SpadeLearnableFractionDrop" not in await server.firing()

        stage.cluster.world.learnable_fraction = 0.125
        drop = await server.until_firing("SpadeLearnableFractionDrop")
        run = await stage.run()
        assert set(await server.firing()) == {"SpadeVerifierFailures", "SpadeLearnableFractionDrop"}

    assert failures["labels"] == {
        "alertname": "SpadeVerifierFailures", "namespace": stage.namespace, "run": "mini",
        "reason": "success_with_error", "severity": "critical",
    }  # fmt: skip
    assert (drop["labels"]["namespace"], drop["labels"]["run"]) == (stage.namespace, "mini")
    (baseline,) = run["status"]["learnableBaselines"].values()
    assert baseline["rollouts"] >= WARM_UP_ROLLOUTS
    assert len(json.dumps(run["status"])) < 8 * 1024
