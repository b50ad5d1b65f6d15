"""The cluster is looked at for who waits, with the rights that there are, and not otherwise."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p

from spade_contracts.resources import Phase, Reason, RunCondition, SpadeRunStatus
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import (
    NODE,
    PRIORITY_CLASS,
    RESOURCE_QUOTA,
    RUNTIME_CLASS,
    STORAGE_CLASS,
    Listing,
    NotFound,
    Object,
    Refused,
    Unavailable,
)
from spade_operator.looks import look, look_around, waiting_runs
from spade_operator.preflight.surroundings import Look
from spade_operator.queue import WorkQueue

CLASSES = (NODE, RUNTIME_CLASS, PRIORITY_CLASS, STORAGE_CLASS)
SITE = p.SITE.model_copy(update={"look_at_cluster": True})
QUOTA = {"metadata": {"name": "small", "namespace": "default"}, "spec": {"hard": {"pods": "2"}}}


class Server:
    """A cluster with one quota and one claim; `forbidden` kinds may not be read."""

    def __init__(self, *forbidden: str, fails: bool = False) -> None:
        self.forbidden, self.fails = forbidden, fails
        self.asked: list[str] = []

    async def list(self, kind: str, namespace: str = "") -> Listing:
        self.asked.append(kind)
        if self.fails:
            raise Unavailable("list", 0, "no answer")
        if kind in self.forbidden:
            raise Refused("list", 403, "no")
        return Listing((QUOTA,) if kind == RESOURCE_QUOTA else (), "9")

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        if name in self.forbidden:
            raise Refused("get", 403, "no")
        if name != "mini-storage":
            raise NotFound("get", 404, "")
        return {"metadata": {"name": name}, "status": {"phase": "Bound"}}


async def looked(server: Server, site: Any = SITE) -> Look:
    return await look(server, site, (p.run_record(),))  # type: ignore[arg-type]


async def test_everything_is_looked_at_with_all_rights() -> None:
    around = (await looked(Server())).around("default", p.UID)
    assert around is not None
    assert (around.nodes, around.runtime_classes, around.storage_classes) == ((), {}, {})
    assert [quota.name for quota in around.quotas or ()] == ["small"]
    assert around.claims is not None
    assert around.claims["mini-storage"].phase == "Bound"
    assert around.secrets is None, "those are not the operator's to read"


async def test_what_may_not_be_listed_stays_unknown() -> None:
    around = (await looked(Server(*CLASSES, RESOURCE_QUOTA, "mini-storage"))).around("default", p.UID)
    assert around is not None
    assert (around.nodes, around.priority_classes, around.quotas, around.claims) == (None, None, None, None)


async def test_installation_of_one_namespace_asks_for_nothing_of_the_cluster() -> None:
    server = Server()
    await looked(server, p.SITE)
    assert server.asked == [RESOURCE_QUOTA]


def test_look_says_nothing_of_a_run_that_it_was_not_made_for() -> None:
    assert Look(nodes=()).around("default", "another") is None


@pytest.mark.parametrize(
    ("status", "waits"),
    [
        (SpadeRunStatus(), True),
        (p.holding(RunCondition.ACCEPTED), False),
        (SpadeRunStatus(phase=Phase.SUSPENDED), False),
        (SpadeRunStatus(conditions=(
            p.condition(RunCondition.ACCEPTED, True), p.condition(RunCondition.LEARNER_READY, False, Reason.NO_POD),
        )), True),
    ],
    ids=["new", "accepted", "suspended", "a Job gets no pod"],
)  # fmt: skip
def test_who_waits_for_a_look(status: SpadeRunStatus, waits: bool) -> None:
    facts = Facts()
    facts.put(p.run_record(status))
    assert bool(list(waiting_runs(facts))) == waits


@pytest.mark.parametrize("fails", [False, True])
async def test_run_that_waits_gets_a_pass_after_the_look_or_without_one(fails: bool) -> None:
    facts, queue, server = Facts(), WorkQueue[Key](), Server(fails=fails)
    facts.put(p.run_record())
    task = asyncio.create_task(look_around(server, facts, queue, SITE, lambda: True))  # type: ignore[arg-type]
    try:
        assert await asyncio.wait_for(queue.get(), 20) == run_key("default", p.RUN)
        assert (facts.around("default", p.UID) is None) == fails
        assert not facts.look_is_due("default", p.UID), "nobody waits for a look that fails"
        assert facts.look_is_due("default", "another") != fails
        assert not task.done()
    finally:
        task.cancel()


async def test_nobody_who_waits_costs_nothing() -> None:
    facts, server = Facts(), Server()
    facts.put(p.run_record(p.holding(RunCondition.ACCEPTED)))
    facts.set_look(Look(nodes=()))
    task = asyncio.create_task(look_around(server, facts, WorkQueue[Key](), SITE, lambda: True))  # type: ignore[arg-type]
    try:
        await asyncio.sleep(0)
        assert server.asked == []
        assert not facts.set_look(None), "an old look is not kept"
    finally:
        task.cancel()


@pytest.mark.looptime
@pytest.mark.parametrize("leads_at_once", [True, False])
async def test_run_that_begins_to_wait_after_a_long_calm_is_looked_at(leads_at_once: bool) -> None:
    facts, queue, server, leads = Facts(), WorkQueue[Key](), Server(), [leads_at_once]
    facts.put(p.run_record(p.holding(RunCondition.ACCEPTED)))
    task = asyncio.create_task(look_around(server, facts, queue, SITE, lambda: leads[0]))  # type: ignore[arg-type]
    try:
        await asyncio.sleep(60)
        assert server.asked == []
        facts.put(replace(p.run_record(), meta=replace(p.run_record().meta, name="other", run="other", uid="other")))
        await asyncio.sleep(60 * (not leads_at_once))
        leads[0] = True
        assert await asyncio.wait_for(queue.get(), 20) == run_key("default", "other")
    finally:
        task.cancel()
