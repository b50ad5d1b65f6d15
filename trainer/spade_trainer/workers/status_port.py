"""A worker's open port: `GET /status`, `/metrics` and `/healthz`."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from pydantic import BaseModel

Metrics = Callable[[], bytes]


@asynccontextmanager
async def serve_status(
    port: int, status: Callable[[], BaseModel], metrics: Metrics | None = None
) -> AsyncIterator[int]:
    """Serve on all addresses while the block runs; yields the port, which is a free one if 0 was asked for."""

    async def get_status(_: web.Request) -> web.Response:
        return web.Response(body=status().model_dump_json().encode(), content_type="application/json")

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    async def get_metrics(_: web.Request) -> web.Response:
        assert metrics is not None
        return web.Response(body=metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app = web.Application()
    app.add_routes([web.get("/status", get_status), web.get("/healthz", healthz)])
    if metrics is not None:
        app.add_routes([web.get("/metrics", get_metrics)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, None, port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
