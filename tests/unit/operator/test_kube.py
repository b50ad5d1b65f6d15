"""Every call ends: with its answer, or with an error of ours that says what was refused; each attempt is counted."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from spade_operator import kube as module
from spade_operator.kube import ApiError, Conflict, Kube, NamespaceEnding, NotFound, Refused, Unavailable
from spade_operator.kube_config import Connection
from spade_operator.records import Kind


@asynccontextmanager
async def served(
    *answers: web.Response, seconds: float = 20.0, bodies: list[bytes] | None = None
) -> AsyncIterator[tuple[Kube, list[web.BaseRequest], Counter[str]]]:
    """An API server that gives these answers in turn, and then the last one for ever."""
    requests: list[web.BaseRequest] = []
    calls: Counter[str] = Counter()
    waiting = list(answers)

    async def answer(request: web.BaseRequest) -> web.Response:
        body = await request.read()
        requests.append(request)
        if bodies is not None:
            bodies.append(body)
        given = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return web.Response(status=given.status, body=given.body, headers=given.headers)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    kube = Kube(
        Connection(f"http://127.0.0.1:{port}", "", token="secret"),
        lambda *call: calls.update([" ".join(call)]),
        seconds,
    )
    try:
        yield kube, requests, calls
    finally:
        await kube.close()
        await runner.cleanup()


def reply(status: int, text: str = "{}", **headers: str) -> web.Response:
    return web.Response(status=status, text=text, headers=headers)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)


@pytest.mark.parametrize(
    ("status", "error", "permanent"),
    [(404, NotFound, False), (409, Conflict, False), (403, Refused, True), (422, Refused, True), (400, Refused, True)],
)
async def test_refusals_are_told_apart_and_not_repeated(status: int, error: type[ApiError], permanent: bool) -> None:
    async with served(reply(status, '{"message": "because"}')) as (kube, requests, _):
        with pytest.raises(error, match="because") as caught:
            await kube.get(Kind.POD, "ns", "name")
    assert caught.value.permanent is permanent
    assert len(requests) == 1


async def test_refused_creation_names_the_object() -> None:
    async with served(reply(422)) as (kube, _, _):
        with pytest.raises(Refused, match=r"create Job team/job: "):
            await kube.create({"kind": Kind.JOB, "metadata": {"name": "job", "namespace": "team"}})


async def test_overload_and_server_errors_are_tried_again_and_counted() -> None:
    async with served(reply(503), reply(429), reply(200, '{"metadata": {}}')) as (kube, _, calls):
        assert await kube.get(Kind.POD, "ns", "name") == {"metadata": {}}
    assert calls == {"get pods 503": 1, "get pods 429": 1, "get pods 200": 1}


async def test_lasting_outage_ends_in_an_error_that_may_be_tried_again() -> None:
    async with served(reply(500)) as (kube, requests, _):
        with pytest.raises(Unavailable) as caught:
            await kube.get(Kind.POD, "ns", "name")
    assert not caught.value.permanent
    assert len(requests) == module.ATTEMPTS


async def test_silent_server_does_not_hold_a_pass_up() -> None:
    async with served(reply(503, "{}", **{"Retry-After": "60"}), seconds=0.2) as (kube, _, calls):
        with pytest.raises(Unavailable, match="no answer within"):
            await kube.get(Kind.POD, "ns", "name")
    assert calls["get pods timeout"] == 1


async def test_nobody_listening_is_unavailable() -> None:
    kube = Kube(Connection("http://127.0.0.1:1", ""))
    with pytest.raises(Unavailable):
        await kube.get(Kind.POD, "ns", "name")
    await kube.close()


async def test_list_follows_its_pages_and_knows_that_an_empty_one_has_no_items() -> None:
    first = reply(200, '{"items": [{"a": 1}], "metadata": {"continue": "more", "resourceVersion": "1"}}')
    last = reply(200, '{"items": null, "metadata": {"resourceVersion": "2"}}')
    async with served(first, last) as (kube, requests, _):
        listing = await kube.list(Kind.POD, "ns", "spade.dev/run")
    assert (listing.items, listing.resource_version) == (({"a": 1},), "2")
    assert requests[1].rel_url.query["continue"] == "more"
    assert requests[1].rel_url.query["labelSelector"] == "spade.dev/run"


async def test_apply_is_forced_under_our_field_manager() -> None:
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"}}
    async with served(reply(200)) as (kube, requests, _):
        await kube.apply(manifest)
    request = requests[0]
    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/ns/services/s")
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert dict(request.rel_url.query) == {"fieldManager": "spade-operator", "force": "true"}
    assert request.headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(("uid", "only"), [("u-1", {"uid": "u-1"}), ("", {"resourceVersion": "1"}), (None, {})])
async def test_apply_names_the_object_that_it_is_for_or_that_there_is_none(
    uid: str | None, only: dict[str, str]
) -> None:
    meta = {"name": "s", "namespace": "ns"}
    bodies: list[bytes] = []
    async with served(reply(200), bodies=bodies) as (kube, _, _):
        await kube.apply({"apiVersion": "v1", "kind": "Service", "metadata": meta}, uid=uid)
    assert json.loads(bodies[0])["metadata"] == meta | only


async def test_object_with_another_uid_is_a_conflict() -> None:
    answer = {"message": "is invalid", "details": {"causes": [{"field": "metadata.uid"}]}}
    async with served(reply(422, json.dumps(answer))) as (kube, _, _):
        with pytest.raises(Conflict):
            await kube.apply({"kind": "Service", "metadata": {"name": "s", "namespace": "ns"}}, uid="u-1")


async def test_object_is_found_by_its_name_in_a_list() -> None:
    listed = '{"items": [{"metadata": {"name": "s"}}], "metadata": {}}'
    async with served(reply(200, listed), reply(200, '{"items": null, "metadata": {}}')) as (kube, requests, _):
        assert await kube.find(Kind.SERVICE, "ns", "s") == {"metadata": {"name": "s"}}
        assert await kube.find(Kind.SERVICE, "ns", "s", metadata_only=True) is None
    assert [request.rel_url.query["fieldSelector"] for request in requests] == ["metadata.name=s"] * 2
    assert "PartialObjectMetadataList" in requests[1].headers["Accept"]


async def test_delete_names_the_uid_and_what_is_gone_already_is_no_error() -> None:
    for status in (200, 404, 409):
        async with served(reply(status)) as (kube, requests, _):
            await kube.delete(Kind.POD, "ns", "name", uid="u", grace_seconds=5)
        body = await requests[0].read()
        assert b'"preconditions": {"uid": "u"}' in body
        assert b'"gracePeriodSeconds": 5' in body


async def test_log_is_text_and_bounded() -> None:
    async with served(reply(200, "line\n")) as (kube, requests, _):
        assert await kube.log("ns", "pod", "main", previous=True, lines=7) == "line\n"
    assert requests[0].rel_url.query["tailLines"] == "7"
    assert requests[0].rel_url.query["previous"] == "true"
    assert int(requests[0].rel_url.query["limitBytes"]) == module.MAX_LOG_BYTES


ENDING = (
    """{"message": "because it is being terminated", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}"""
)
GONE = """{"message": "namespaces \\"ns\\" not found", "details": {"name": "ns", "kind": "namespaces"}}"""


@pytest.mark.parametrize(("status", "text"), [(403, ENDING), (404, GONE)])
async def test_namespace_that_ends_is_told_apart_from_a_refusal(status: int, text: str) -> None:
    async with served(reply(status, text)) as (kube, _, _):
        with pytest.raises(NamespaceEnding):
            await kube.create({"kind": "Job", "metadata": {"namespace": "ns", "name": "j"}})
        await kube.delete(Kind.POD, "ns", "p", uid="u")


EVENT = {"metadata": {"namespace": "ns", "name": "mini.1"}}


async def test_event_is_tried_once_and_one_that_is_there_was_told_already() -> None:
    async with served(reply(503), reply(409)) as (kube, requests, calls):
        with pytest.raises(Unavailable):
            await kube.post(EVENT)
        await kube.post(EVENT)
    assert [request.path for request in requests] == ["/apis/events.k8s.io/v1/namespaces/ns/events"] * 2
    assert calls == {"create events 503": 1, "create events 409": 1}


async def test_event_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVENT_SECONDS", 0.1)
    hung_up = asyncio.Event()

    async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        hung_up.set()

    server = await asyncio.start_server(says_nothing, "127.0.0.1", 0)
    kube = Kube(Connection(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", ""))
    try:
        with pytest.raises(Unavailable, match="no answer"):
            await kube.post(EVENT)
        await asyncio.wait_for(hung_up.wait(), 30)
    finally:
        await kube.close()
        server.close()
