"""A pod whose container is not made is told after a while, and the Secrets that it may lack are applied again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.support import pictures as p
from tests.unit.operator.test_lists import SECRET, Server

from spade_contracts.labels import Role
from spade_contracts.resources import Reason
from spade_operator.containers import ContainerRecord
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import Listing
from spade_operator.lists import OFTEN, miss
from spade_operator.making import MAKING_SECONDS, told_after
from spade_operator.queue import WorkQueue
from spade_operator.reconcile.causes import trouble
from spade_operator.reconcile.decide import decide
from spade_operator.records import Kind, PodRecord

WAITS = (ContainerRecord("worker", waiting_reason="ContainerCreating"),)


def waiting(seconds: float, **changes: object) -> PodRecord:
    known = {"containers": WAITS, "node": "node-1", "phase": "Pending"} | changes
    return p.pod(Role.WORKER, created_at=p.ago(seconds), **known)  # type: ignore[arg-type]


def test_pod_without_a_container_is_told_with_where_to_look() -> None:
    pod = waiting(MAKING_SECONDS)
    reason, words = trouble(pod, p.NOW) or ("", "")
    assert reason == Reason.WAITING
    assert "FailedMount" in words
    assert words.endswith(f"kubectl -n default describe pod {pod.meta.name}")
    assert trouble(pod, p.ago(-60)) == (reason, words), "the words stay, so they cost one write"


@pytest.mark.parametrize(
    "pod",
    [
        waiting(MAKING_SECONDS - 1),
        waiting(MAKING_SECONDS, node=""),
        waiting(MAKING_SECONDS, containers=()),
        waiting(MAKING_SECONDS, containers=(ContainerRecord("worker", 1, waiting_reason="ContainerCreating"),)),
        waiting(MAKING_SECONDS, phase="Failed"),
    ],
    ids=["young", "without a node", "unknown", "restarted", "ended"],
)
def test_other_pods_are_not_told(pod: PodRecord) -> None:
    assert trouble(pod, p.NOW) is None


def test_pass_comes_back_when_it_is_to_be_told() -> None:
    pods = (waiting(10), waiting(20), waiting(40))
    assert told_after(pods, p.NOW) == MAKING_SECONDS - 20
    assert told_after((waiting(40),), p.NOW) is None
    decision = decide(p.at_work(pods={waiting(29): None}), p.NOW)
    assert decision.wake_after_seconds is not None
    assert decision.wake_after_seconds <= 1


class Counting(Server):
    """Tells when every kind was listed several times."""

    def __init__(self) -> None:
        super().__init__()
        self.looked_often = asyncio.Event()

    async def pages(
        self, kind: str, namespace: str, selector: str = "", *, metadata_only: bool = False
    ) -> AsyncIterator[Listing]:
        if len(self.listed) > 3 * len(OFTEN):
            self.looked_often.set()
        async for page in super().pages(kind, namespace, selector, metadata_only=metadata_only):
            yield page


@pytest.mark.parametrize(("seconds", "dropped"), [(20, True), (2, False), (500, False)])
async def test_secrets_of_a_family_whose_pod_waits_are_applied_again(seconds: float, dropped: bool) -> None:
    facts, queue = Facts(), WorkQueue[Key]()
    others = replace(SECRET, meta=replace(SECRET.meta, run="other"))
    for record in (SECRET, others, waiting(seconds)):
        facts.put(record)
    server = Counting()
    task = asyncio.create_task(miss(server, facts, queue, "", 0.0, clock=lambda: p.NOW))  # type: ignore[arg-type]
    try:
        if dropped:
            assert await asyncio.wait_for(queue.get(), 30) == run_key("default", p.RUN)
        await asyncio.wait_for(server.looked_often.wait(), 30)
    finally:
        task.cancel()
    assert (facts.child("default", p.RUN, (Kind.SECRET, SECRET.meta.name)) is None) == dropped
    assert facts.child("default", "other", (Kind.SECRET, SECRET.meta.name)) is not None
