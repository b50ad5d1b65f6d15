"""A proxy between the operator and the API server that makes trouble by a schedule, and writes down what it did."""

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from tests.support.api_server import ApiServer
from tests.support.schedules import CallFault, CallTrouble, Schedule, WatchFault, WatchTrouble
from yarl import URL

LONGEST_SECONDS = 600.0
MAX_OBJECT_BYTES = 4 * 2**20
OLDER = 3
"""An event is stale when so many others were told after it."""
HOP_BY_HOP = frozenset({"host", "connection", "accept-encoding", "transfer-encoding", "content-length", "keep-alive"})


@dataclass(frozen=True)
class Call:
    """What the operator asks of the API server."""

    verb: str
    resource: str


class FaultyProxy:
    """Counts calls, makes the schedule's trouble, and passes on the rest. `kill` ends the operator's process."""

    def __init__(self, server: ApiServer, schedule: Schedule, kill: Callable[[], None]) -> None:
        self.url = ""
        self.done: list[str] = []
        """The trouble that came to be, in order."""
        self._server, self._kill = server, kill
        self._calls, self._watches = list(schedule.calls), list(schedule.watches)
        self._counted: Counter[Call] = Counter()
        self._session: aiohttp.ClientSession

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["FaultyProxy"]:
        """Serve on a port of loopback meanwhile."""
        context = ssl.create_default_context(cafile=str(self._server.authority))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context), timeout=aiohttp.ClientTimeout(total=LONGEST_SECONDS),
            read_bufsize=MAX_OBJECT_BYTES,
        )  # fmt: skip
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, reuse_address=True).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            await runner.cleanup()
            await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = call_of(request.method, request.path, dict(request.query), request.content_type)
        if call.verb == "watch":
            return await self._watch(request, call)
        trouble = self._due(call)
        body = await request.read()
        try:
            return await self._troubled(request, body, trouble)
        except (aiohttp.ClientError, ConnectionError):
            return _cut(request)

    def _due(self, call: Call) -> CallTrouble | None:
        """Count the call; the trouble that waits for it."""
        kinds = {call, Call(call.verb, ""), Call("", "")}
        self._counted.update(kinds)
        for trouble in self._calls:
            kind = Call(trouble.verb, trouble.resource)
            if kind in kinds and self._counted[kind] >= trouble.nth:
                self._calls.remove(trouble)
                self.done.append(f"{call.verb} {call.resource}, {trouble}")
                return trouble
        return None

    async def _troubled(self, request: web.BaseRequest, body: bytes, trouble: CallTrouble | None) -> web.StreamResponse:
        fault = trouble.fault if trouble is not None else None
        if trouble is None or fault is None:
            return await self._passed_on(request, body)
        if fault is CallFault.ANSWERED:
            return _error(trouble.code)
        if fault is CallFault.KILLED_BEFORE:
            self._kill()
            return _cut(request)
        if fault is CallFault.SILENT:
            await asyncio.sleep(LONGEST_SECONDS)
        if fault is CallFault.OVERDUE:
            _cut(request)
        if fault in (CallFault.SLOW, CallFault.OVERDUE):
            await asyncio.sleep(trouble.seconds)
            if self._session.closed:
                return _cut(request)
        answer = await self._passed_on(request, body)
        if fault is CallFault.KILLED_AFTER:
            self._kill()
        if fault is CallFault.ANSWER_LOST:
            return _error(trouble.code)
        return answer if fault is CallFault.SLOW else _cut(request)

    async def _passed_on(self, request: web.BaseRequest, body: bytes) -> web.Response:
        async with self._session.request(
            request.method, self._upstream(request), data=body or None, headers=_headers(request)
        ) as answer:
            headers = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers}
            return web.Response(status=answer.status, body=await answer.read(), headers=headers)

    # Watches

    async def _watch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        self._counted[call] += 1
        which = (call.resource, self._counted[call])
        trouble = next((t for t in self._watches if (t.resource, t.nth) == which), None)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        told: list[bytes] = []
        try:
            async with self._session.get(self._upstream(request), headers=_headers(request)) as answer:
                response.set_status(answer.status)
                await response.prepare(request)
                async for line in answer.content:
                    if trouble is None or len(told) != trouble.after_events:
                        await response.write(line)
                    elif not await self._troubled_event(request, response, line, told, trouble):
                        return response
                    told.append(line)
        except (aiohttp.ClientError, ConnectionError):
            _cut(request)
        return response

    async def _troubled_event(
        self,
        request: web.BaseRequest,
        response: web.StreamResponse,
        line: bytes,
        told: list[bytes],
        trouble: WatchTrouble,
    ) -> bool:
        """Tell an event as the trouble wants it; whether the watch goes on."""
        self.done.append(str(trouble))
        match trouble.fault:
            case WatchFault.CUT:
                _cut(request)
                return False
            case WatchFault.GONE | WatchFault.BROKEN:
                code = 410 if trouble.fault is WatchFault.GONE else 500
                await response.write(json.dumps({"type": "ERROR", "object": _status(code)}).encode() + b"\n")
                return False
            case WatchFault.STALE:
                await response.write(line + (told[-OLDER:][0] if told else line))
            case WatchFault.LATE:
                await asyncio.sleep(trouble.seconds)
                await response.write(line)
            case WatchFault.TWICE:
                await response.write(line + line)
            case WatchFault.LOST:
                pass
        return True

    def _upstream(self, request: web.BaseRequest) -> URL:
        return URL(f"{self._server.url}{request.raw_path}", encoded=True)


def call_of(method: str, path: str, query: dict[str, str], content_type: str) -> Call:
    """Verb and resource; the resource of what is no object is empty."""
    steps = path.strip("/").split("/")
    rest = steps[2:] if steps[0] == "api" else steps[3:]
    if rest[:1] == ["namespaces"]:
        rest = rest[2:]
    resource, name = (*rest[:2], "", "")[:2]
    if method == "GET":
        watched = query.get("watch") in ("1", "true")
        return Call("watch" if watched else "get" if name or not resource else "list", resource)
    patch = "apply" if "apply" in content_type else "patch"
    return Call({"POST": "create", "PUT": "update", "DELETE": "delete"}.get(method, patch), resource)


def _headers(request: web.BaseRequest) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}


def _status(code: int) -> dict[str, object]:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
            "message": "trouble by schedule", "reason": "Expired" if code == 410 else "InternalError"}  # fmt: skip


def _error(code: int) -> web.Response:
    headers = {"Content-Type": "application/json"} | ({"Retry-After": "1"} if code == 429 else {})
    return web.Response(status=code, text=json.dumps(_status(code)), headers=headers)


def _cut(request: web.BaseRequest) -> web.Response:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
