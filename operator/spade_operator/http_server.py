"""The operator's own port: health, metrics, and live progress of runs. Read-only."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from spade_operator.facts import Facts
from spade_operator.view import live_view

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class _Page:
    """Families as they were read, in the place of a registry."""

    families: tuple[Metric, ...]

    def collect(self) -> Iterable[Metric]:
        return self.families


def make_app(facts: Facts, registry: CollectorRegistry, healthy: Callable[[], str]) -> web.Application:
    """`healthy` returns what is wrong, or ''. `/metrics?name[]=NAME` shows these metrics only."""

    async def health(request: web.Request) -> web.Response:
        wrong = healthy()
        return web.Response(text=f"{wrong or 'ok'}\n", status=503 if wrong else 200)

    async def metrics(request: web.Request) -> web.Response:
        names = request.query.getall("name[]", [])
        asked = registry.restricted_registry(names) if names else registry
        page: Any = _Page(tuple(asked.collect()))
        # A hundred runs have twenty thousand figures: writing them down is no reason for the loop to stand still.
        body = await asyncio.to_thread(generate_latest, page)
        return web.Response(body=body, headers={"Content-Type": METRICS_TYPE})

    async def run(request: web.Request) -> web.Response:
        found = facts.run(request.match_info["namespace"], request.match_info["name"])
        if found is None:
            return web.json_response({"error": "no such run"}, status=404)
        return web.json_response(live_view(found, facts))

    app = web.Application()
    app.router.add_get("/healthz", health)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/runs/{namespace}/{name}", run)
    return app


async def serve(app: web.Application, host: str, port: int) -> web.AppRunner:
    """Listen; `cleanup` of what is returned ends it."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner
