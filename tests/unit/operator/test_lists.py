"""What somebody else deleted is missed, also where no watch tells of it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.support.pictures import RUN, meta

from spade_contracts.labels import RUN as RUN_LABEL
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import Listing, Unavailable
from spade_operator.lists import OFTEN, miss, relist, resync, secrets_due
from spade_operator.queue import WorkQueue
from spade_operator.records import ChildRecord, Kind

POLICY = ChildRecord(meta(Kind.NETWORK_POLICY, f"{RUN}-closed"))
SECRET = ChildRecord(meta(Kind.SECRET, f"{RUN}-tokens"))


class Server:
    """Answers lists in turn; the last one stands."""

    def __init__(self, *policies: list[dict[str, Any]] | Exception) -> None:
        self._policies: Iterator[list[dict[str, Any]] | Exception] = iter(policies)
        self.listed: list[str] = []

    async def pages(
        self, kind: str, namespace: str, selector: str = "", *, metadata_only: bool = False
    ) -> AsyncIterator[Listing]:
        """One object a page, and an empty one at the end."""
        self.listed.append(kind)
        items = next(self._policies, []) if kind == Kind.NETWORK_POLICY else []
        if isinstance(items, Exception):
            raise items
        for item in items:
            yield Listing((item,), "9")
        yield Listing((), "9")


def stored(**changes: Any) -> dict[str, Any]:
    labels = {RUN_LABEL: RUN, "spade.dev/run-uid": POLICY.meta.run_uid}
    return {
        "metadata": {
            "name": POLICY.meta.name,
            "namespace": "default",
            "uid": POLICY.meta.uid,
            "resourceVersion": POLICY.meta.resource_version,
            "labels": labels,
            "generation": 1,
            **changes,
        }
    }


@pytest.mark.parametrize("earlier", [(), ([stored()],), (Unavailable("list", 0, "no answer"),)])
async def test_deleted_policy_gets_its_run_a_pass(earlier: tuple[Any, ...]) -> None:
    facts, queue, server = Facts(), WorkQueue[Key](), Server(*earlier, [])
    facts.put(POLICY)
    task = asyncio.create_task(miss(server, facts, queue, "", seconds=0.0))  # type: ignore[arg-type]
    try:
        key = await asyncio.wait_for(queue.get(), 30)
    finally:
        task.cancel()
    assert key == run_key("default", RUN)
    assert facts.family("default", RUN) == ()
    assert set(server.listed) == set(OFTEN)
    assert Kind.SECRET not in server.listed


async def test_changed_policy_gets_its_run_a_pass() -> None:
    facts, queue = Facts(), WorkQueue[Key]()
    facts.put(POLICY)
    server = Server([stored()], [stored(generation=2, resourceVersion="8")])
    task = asyncio.create_task(miss(server, facts, queue, "", seconds=0.0))  # type: ignore[arg-type]
    try:
        assert await asyncio.wait_for(queue.get(), 30) == run_key("default", RUN)
    finally:
        task.cancel()


async def test_frequent_resync_lets_secrets_be_applied_again() -> None:
    facts, queue = Facts(), WorkQueue[Key]()
    facts.put(SECRET)
    facts.put(ChildRecord(meta(Kind.SERVICE, f"{RUN}-engine", resource_version="99")))
    task = asyncio.create_task(resync(Server(), facts, queue, "", 0.0))  # type: ignore[arg-type]
    try:
        assert await asyncio.wait_for(queue.get(), 30) == run_key("default", RUN)
    finally:
        task.cancel()
    assert Kind.SECRET not in {record.meta.kind for record in facts.family("default", RUN)}


def test_secrets_are_applied_again_once_an_hour() -> None:
    due = [number for number in range(1, 25) if secrets_due(number, 300)]
    assert due == [12, 24]


async def test_every_page_of_a_list_counts_and_what_none_of_them_holds_is_gone() -> None:
    facts = Facts()
    facts.put(ChildRecord(meta(Kind.NETWORK_POLICY, f"{RUN}-gone", resource_version="3")))
    server = Server([stored(), stored(name=f"{RUN}-open", uid="other")])
    await relist(server, facts, "", (Kind.NETWORK_POLICY,))  # type: ignore[arg-type]
    assert {record.meta.name for record in facts.family("default", RUN)} == {POLICY.meta.name, f"{RUN}-open"}
