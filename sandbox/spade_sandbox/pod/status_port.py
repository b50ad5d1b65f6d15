"""The open, read-only port: `GET /status` (SandboxStatus as JSON) and `GET /healthz`."""

from collections.abc import Callable
from http import HTTPStatus

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from spade_contracts.statuses import SandboxStatus


async def serve_status(host: str, port: int, status: Callable[[], SandboxStatus]) -> Server:
    """Listen; answers are made anew for each request."""

    async def answer(connection: ServerConnection, request: Request) -> Response:
        match request.path:
            case "/status":
                return _response(HTTPStatus.OK, status().model_dump_json(), "application/json")
            case "/healthz":
                return _response(HTTPStatus.OK, "ok\n", "text/plain")
            case _:
                return _response(HTTPStatus.NOT_FOUND, "try /status or /healthz\n", "text/plain")

    async def never(connection: ServerConnection) -> None:
        """No request gets past `answer`."""

    return await serve(never, host, port, process_request=answer, server_header=None, open_timeout=5)


def _response(status: HTTPStatus, body: str, kind: str) -> Response:
    content = body.encode()
    headers = Headers([
        ("Content-Type", kind), ("Content-Length", str(len(content))), ("Connection", "close"),
    ])  # fmt: skip
    return Response(status.value, status.phrase, headers, content)
