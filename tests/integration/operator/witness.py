"""Watches a namespace on the API server itself: every version of every object, in the order in which it was written."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from tests.integration.operator.conftest import within
from tests.support.api_server import ApiServer
from tests.support.watched import WATCHED

from spade_contracts.labels import ROLE, Role
from spade_operator.kube import PATHS, Kube, Object
from spade_operator.kube_config import read_kubeconfig
from spade_operator.records import Kind

MAX_OBJECT_BYTES = 4 * 2**20
CATCH_UP_SECONDS = 90.0


@dataclass(frozen=True)
class Event:
    """One write: the object as it was from then on, or that it went."""

    version: int
    kind: Kind
    gone: bool
    object: Object

    @property
    def uid(self) -> str:
        """Of the object."""
        return str(self.object["metadata"]["uid"])


class Witness:
    """Of one namespace, for all kinds that the operator watches, too."""

    def __init__(self, server: ApiServer, kube: Kube, namespace: str) -> None:
        self._server, self._kube, self._namespace = server, kube, namespace
        self._events: list[Event] = []

    @asynccontextmanager
    async def watching(self) -> AsyncIterator["Witness"]:
        """Remember what happens meanwhile."""
        versions = {kind: (await self._kube.list(kind, self._namespace)).resource_version for kind in WATCHED}
        connection = read_kubeconfig(self._server.kubeconfig)
        context = connection.ssl_context()
        assert context is not None
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context), timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=MAX_OBJECT_BYTES, headers={"Authorization": f"Bearer {connection.bearer()}"},
        ) as session:  # fmt: skip
            tasks = [asyncio.create_task(self._watch(session, kind, versions[kind])) for kind in WATCHED]
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, session: aiohttp.ClientSession, kind: Kind, since: str) -> None:
        root, plural = PATHS[kind]
        url = f"{self._server.url}/{root}/namespaces/{self._namespace}/{plural}"
        async with session.get(url, params={"watch": "true", "resourceVersion": since}) as answer:
            async for line in answer.content:
                event = json.loads(line)
                version = int(event["object"]["metadata"]["resourceVersion"])
                self._events.append(Event(version, kind, event["type"] == "DELETED", event["object"]))

    async def history(self) -> list[Event]:
        """All events so far, in order; what the API server has now is among them."""

        async def caught_up() -> bool:
            latest = {event.uid: event for event in sorted(self._events, key=lambda event: event.version)}
            mine = {uid: event.version for uid, event in latest.items() if not event.gone}
            theirs = {
                item["metadata"]["uid"]: int(item["metadata"]["resourceVersion"])
                for kind in WATCHED
                for item in (await self._kube.list(kind, self._namespace)).items
            }
            return mine == theirs

        assert await within(CATCH_UP_SECONDS, caught_up), "the watches of the witness ended early"
        return sorted(self._events, key=lambda event: event.version)


def most_pods(history: Iterable[Event], role: Role) -> int:
    """Pods of a role that were there at once, at most: draining ones too, ended ones not."""
    present: set[str] = set()
    most = 0
    for event in history:
        if event.kind is not Kind.POD or event.object["metadata"]["labels"].get(ROLE) != role:
            continue
        ended = event.gone or event.object["status"].get("phase") in ("Succeeded", "Failed")
        present = present - {event.uid} if ended else present | {event.uid}
        most = max(most, len(present))
    return most
