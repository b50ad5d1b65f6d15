"""What Kueue says becomes a fact while a run has a queue; where none has one, nothing is asked."""

import asyncio
from typing import Any

import pytest
from tests.support import kueue as k
from tests.support import pictures as p
from tests.support.children import make_run, make_site

from spade_operator import queues
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import Listing, NotFound, Object, Unavailable
from spade_operator.queue import WorkQueue
from spade_operator.queueing import Queueing
from spade_operator.reconcile.marks import marked
from spade_operator.reconcile.pod_sets import workload_of
from spade_operator.records import Kind, WorkloadRecord


class Server:
    """Lists these Workloads, and has one flavor and one priority class."""

    def __init__(self, *workloads: Object, error: Exception | None = None) -> None:
        self.workloads, self.error = workloads, error
        self.asked: list[str] = []
        self.looks = asyncio.Event()

    async def list(self, kind: str, namespace: str, selector: str) -> Listing:
        self.asked.append(kind)
        self.looks.set()
        if self.error is not None:
            raise self.error
        return Listing(self.workloads, "90")

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        self.asked.append(f"{kind} {name}")
        objects: dict[str, Object] = {k.FLAVOR: {"spec": k.PLACE}, "urgent": {"value": 7}}
        if name not in objects:
            raise NotFound("get", 404, "")
        return objects[name]


def workload(*, admitted: bool = True, version: int = 8) -> Object:
    made = workload_of(make_run(queueName="team"), make_site(), None)
    status = {"conditions": marked((), k.ADMITTED, 1, p.NOW), "admission": k.admission(made)} if admitted else {}
    return made | {"metadata": made["metadata"] | {"uid": "w", "resourceVersion": str(version)}, "status": status}


def facts(**spec: Any) -> Facts:
    made = Facts()
    made.put(p.run_record(**spec))
    return made


def standing(made: Facts) -> list[WorkloadRecord]:
    return [record for record in made.of_kind(Kind.WORKLOAD) if isinstance(record, WorkloadRecord)]


async def test_workloads_flavors_and_priorities_become_facts() -> None:
    made = facts(queueName="team", learner={"pod": {"priorityClassName": "urgent"}})
    server = Server(workload())
    await queues.look(server, made, "")  # type: ignore[arg-type]
    (found,) = standing(made)
    assert found.standing.runs
    assert made.queueing.flavors[k.FLAVOR].node_selector == k.PLACE["nodeLabels"]
    assert made.queueing.priorities == {"urgent": 7}
    server.asked.clear()
    await queues.look(server, made, "")  # type: ignore[arg-type]
    assert server.asked == [Kind.WORKLOAD], "what is known and in use is not asked for again"
    server.workloads = ()
    await queues.look(server, made, "")  # type: ignore[arg-type]
    assert standing(made) == []
    assert made.queueing.flavors == {}


async def test_what_is_not_there_stays_unknown() -> None:
    made = facts(queueName="team", learner={"pod": {"priorityClassName": "no-such"}})
    await queues.look(Server(), made, "")  # type: ignore[arg-type]
    assert made.queueing == Queueing(True)


async def test_a_cluster_without_kueue_has_no_workloads() -> None:
    made = facts(queueName="team")
    server = Server(workload())
    await queues.look(server, made, "")  # type: ignore[arg-type]
    server.error = NotFound("list", 404, "page not found")
    await queues.look(server, made, "")  # type: ignore[arg-type]
    assert standing(made) == []
    assert made.queueing.served is False


async def test_a_failed_look_changes_nothing() -> None:
    made, server = facts(queueName="team"), Server(workload())
    await queues.look(server, made, "")  # type: ignore[arg-type]
    before, server.error = standing(made), Unavailable("list", 0, "no answer")
    with pytest.raises(Unavailable):
        await queues.look(server, made, "")  # type: ignore[arg-type]
    assert standing(made) == before


async def test_news_get_the_run_a_pass_and_a_failed_look_is_repeated() -> None:
    made, queue, server = facts(queueName="team"), WorkQueue[Key](), Server(error=Unavailable("list", 0, "no answer"))
    task = asyncio.create_task(queues.keep_looking(server, made, queue, "", seconds=0.0))  # type: ignore[arg-type]
    try:
        await asyncio.wait_for(server.looks.wait(), 30)
        server.workloads, server.error = (workload(admitted=False),), None
        assert await asyncio.wait_for(queue.get(), 30) == run_key("default", p.RUN)
        queue.done(run_key("default", p.RUN))
        server.workloads = (workload(version=9),)
        assert await asyncio.wait_for(queue.get(), 30) == run_key("default", p.RUN)
        queue.done(run_key("default", p.RUN))
        server.workloads = ()
        assert await asyncio.wait_for(queue.get(), 30) == run_key("default", p.RUN)
    finally:
        task.cancel()


async def test_nothing_is_asked_while_no_run_has_a_queue() -> None:
    made, server = facts(), Server()
    task = asyncio.create_task(queues.keep_looking(server, made, WorkQueue[Key](), "", seconds=0.0))  # type: ignore[arg-type]
    for _ in range(20):
        await asyncio.sleep(0)
    assert server.asked == []
    made.put(p.run_record(queueName="team"))
    await asyncio.wait_for(server.looks.wait(), 30)
    task.cancel()
