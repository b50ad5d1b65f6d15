"""The API external.metrics.k8s.io for a test's API server: what an adapter in front of Prometheus serves."""

import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.support.api_server import ApiServer
from tests.support.ports import free_port

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
NAME = f"{VERSION}.{GROUP}"
ROOT = f"/apis/{GROUP}/{VERSION}"
Read = Callable[[str, str, dict[str, str]], Awaitable[float | None]]
"""Namespace, metric and labels → its value, if there is one."""


@asynccontextmanager
async def external_metrics(server: ApiServer, folder: Path, read: Read) -> AsyncIterator[None]:
    """The API server passes questions about external metrics on to this process; `read` answers them."""

    async def resources(_: web.Request) -> web.Response:
        known: dict[str, Any] = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}"}
        return web.json_response(known | {"resources": []})

    async def values(request: web.Request) -> web.Response:
        wanted = dict(pair.split("=", 1) for pair in request.query.get("labelSelector", "").split(",") if pair)
        namespace, metric = request.match_info["namespace"], request.match_info["metric"]
        value = await read(namespace, metric, wanted)
        item = {
            "metricName": metric, "metricLabels": wanted, "value": f"{value or 0:.0f}",
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }  # fmt: skip
        items = [item] if value is not None else []
        listed = {"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}
        return web.json_response(listed)

    app = web.Application()
    app.router.add_get(ROOT, resources)
    app.router.add_get(f"{ROOT}/namespaces/{{namespace}}/{{metric}}", values)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    port = free_port()
    await runner.setup()
    await web.TCPSite(runner, "localhost", port, ssl_context=_own_certificate(folder)).start()
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "external-metrics", "namespace": "default"},
               "spec": {"type": "ExternalName", "externalName": "localhost"}}  # fmt: skip
    where = {"name": "external-metrics", "namespace": "default", "port": port}
    spec = {"group": GROUP, "version": VERSION, "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": True, "service": where}  # fmt: skip
    api = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": NAME}, "spec": spec}
    applied = server.apply(service, api)
    assert applied.returncode == 0, applied.stderr
    try:
        yield
    finally:
        server.kubectl("delete", "apiservice", NAME)
        await runner.cleanup()


def _own_certificate(folder: Path) -> ssl.SSLContext:
    key, certificate = folder / "metrics.key", folder / "metrics.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
