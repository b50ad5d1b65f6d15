"""Posting Events delays nobody and fails nothing; each is tried once, and what flaps does not flood."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p

from spade_operator.kube import NamespaceEnding, NotFound, Object, Refused, Unavailable
from spade_operator.posting import BURST, MAX_WAITING, REFILL_SECONDS, Poster, event
from spade_operator.reconcile.events import EventType, News, Regarding
from spade_operator.records import Kind

ABOUT = Regarding(Kind.RUN, "default", "mini", "uid-1")
NEWS = News(ABOUT, EventType.WARNING, "Isolated", "NetworkOpen", "it reached dns", "17")


class Server:
    """Takes Events, or raises these errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.posted: list[Object] = []
        self._errors = list(errors)

    async def post(self, what: Object) -> None:
        if self._errors:
            raise self._errors.pop(0)
        self.posted.append(what)


def poster(server: Any, clock: Any = lambda: 0.0) -> tuple[Poster, Counter[tuple[str, str]]]:
    counted: Counter[tuple[str, str]] = Counter()
    return Poster(server, lambda *what: counted.update([what]), "operator-1", clock), counted


def numbered(count: int, uid: str = "uid-1") -> list[News]:
    return [replace(NEWS, regarding=replace(ABOUT, uid=uid), version=str(number)) for number in range(count)]


async def all_posted(able: Poster) -> None:
    task = asyncio.create_task(able.run())
    for _ in range(5 * MAX_WAITING):
        await asyncio.sleep(0)  # nothing here waits for anything else, so turns of the loop are all it takes
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_news_are_posted_in_their_order() -> None:
    server = Server()
    able, counted = poster(server)
    able.tell(numbered(3))
    await all_posted(able)
    assert [what["note"] for what in server.posted] == ["it reached dns"] * 3
    assert len({what["metadata"]["name"] for what in server.posted}) == 3
    assert counted == {("Warning", "posted"): 3}


@pytest.mark.parametrize(
    "error",
    [
        Refused("create Event", 403, "no"),
        NotFound("create Event", 404, ""),
        NamespaceEnding("create Event", 403, "it ends"),
        Unavailable("create Event", 429, ""),
        Unavailable("create Event", 503, ""),
        RuntimeError("a bug"),
    ],
)
async def test_what_cannot_be_posted_is_counted_and_the_next_one_is_posted(error: Exception) -> None:
    server = Server(error)
    able, counted = poster(server)
    able.tell(numbered(2))
    await all_posted(able)
    assert len(server.posted) == 1
    assert counted == {("Warning", "failed"): 1, ("Warning", "posted"): 1}


async def test_one_object_that_flaps_is_told_of_less_and_no_other_is() -> None:
    now = [0.0]
    server = Server()
    able, counted = poster(server, lambda: now[0])
    able.tell(numbered(BURST + 10))
    able.tell(numbered(2, "uid-2"))
    await all_posted(able)
    assert counted == {("Warning", "posted"): BURST + 2, ("Warning", "dropped"): 10}
    now[0] = REFILL_SECONDS
    able.tell(numbered(2))
    await all_posted(able)
    assert counted["Warning", "posted"] == BURST + 3


def test_silent_api_server_fills_no_memory() -> None:
    able, counted = poster(Server())
    for number in range(MAX_WAITING + 5):
        able.tell(numbered(1, f"uid-{number}"))
    assert counted == {("Warning", "dropped"): 5}


def test_equal_news_of_an_equal_version_have_one_name() -> None:
    first, second = event(NEWS, "operator-1", p.NOW), event(NEWS, "operator-2", p.ago(9))
    assert first["metadata"] == second["metadata"]
    for other in (replace(NEWS, version="18"), replace(NEWS, reason="Proven"), replace(NEWS, action="Accepted")):
        assert event(other, "operator-1", p.NOW)["metadata"] != first["metadata"]


def test_names_sort_as_time_goes() -> None:
    """`kubectl describe` has no other order."""
    told = [replace(NEWS, version=version, order=order) for version in ("9", "10", "100") for order in range(3)]
    names = [event(one, "operator-1", p.NOW)["metadata"]["name"] for one in told]
    assert names == sorted(names)


def test_name_of_an_event_is_one_however_long_its_object_is_called() -> None:
    for name in ("m" * 253, "m" * 199 + "-" + "m" * 20, "m" * 198 + ".-" + "m" * 20):
        told = event(replace(NEWS, regarding=replace(ABOUT, name=name)), "operator-1", p.NOW)
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\.[0-9a-f]{25}", told["metadata"]["name"])


def test_event_says_who_tells_what_of_whom() -> None:
    told = event(NEWS, "operator-1", p.NOW)
    assert (told["type"], told["reason"], told["action"], told["note"]) == (
        "Warning", "NetworkOpen", "Isolated", "it reached dns"
    )  # fmt: skip
    assert told["regarding"] == {
        "apiVersion": "spade.dev/v1alpha1", "kind": "SpadeRun", "namespace": "default", "name": "mini", "uid": "uid-1",
    }  # fmt: skip
    assert (told["reportingController"], told["reportingInstance"]) == ("spade.dev/operator", "operator-1")
    assert told["eventTime"] == "2026-01-01T12:00:00.000000Z"
