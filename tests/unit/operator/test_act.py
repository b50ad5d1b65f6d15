"""Nothing is written without the lease; every answer is a fact at once; preconditions name what was decided on."""

import asyncio
from typing import Any

import pytest
from tests.support import pictures as p
from tests.support.children import UID, make_run

from spade_contracts.resources import SpadeRunStatus
from spade_operator.children.sandbox import sandbox_deployment
from spade_operator.facts import Facts
from spade_operator.kube import Conflict, NotFound, Object, Refused
from spade_operator.lease import Leadership, NotLeading
from spade_operator.queueing import Standing
from spade_operator.reconcile.act import Hands, act, write_status
from spade_operator.reconcile.steps import (
    Admit,
    Apply,
    Create,
    FetchLog,
    MarkWorkload,
    Remove,
    SetDeletionCost,
    WorkloadMark,
)
from spade_operator.records import Kind, WorkloadRecord


class Server:
    """Remembers writes and answers with what was written; `error` is raised by the next one."""

    def __init__(self) -> None:
        self.writes: list[tuple[str, Any]] = []
        self.error: Exception | None = None

    async def _write(self, verb: str, what: Any) -> Object:
        self.writes.append((verb, what))
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self._stored(what)

    def _stored(self, what: Object) -> Object:
        labels = {"spade.dev/run": p.RUN, "spade.dev/run-uid": UID}
        meta = {"uid": "stored", "resourceVersion": "8", "labels": labels} | what["metadata"]
        return {**what, "metadata": meta}

    async def create(self, manifest: Object) -> Object:
        return await self._write("create", manifest)

    async def apply(self, manifest: Object, *, uid: str | None = None) -> Object:
        return await self._write("apply", manifest)

    async def update(self, manifest: Object, *, part: str = "") -> Object:
        return await self._write(f"update {part}", manifest)

    async def patch(self, kind: str, namespace: str, name: str, patch: Object, *, part: str = "") -> Object:
        await self._write(f"patch {part}", patch)
        return self._stored({"metadata": {"name": name, "namespace": namespace, **patch["metadata"]}})

    async def delete(
        self, kind: str, namespace: str, name: str, *, uid: str, version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:  # fmt: skip
        what = {"name": name, "uid": uid, "grace": grace_seconds} | ({} if version is None else {"version": version})
        await self._write("delete", {"metadata": what})

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        fresh: Object = {"metadata": {"name": name, "namespace": namespace, "generation": 2}}
        return self._stored(fresh | {"spec": {"model": {"uri": "package:tiny"}, "rollouts": 1}})

    async def log(self, *names: str, previous: bool, lines: int) -> str:
        if self.error is not None:
            raise self.error
        return "last words"


def hands(server: Any, *, leads: bool = True) -> Hands:
    leadership = Leadership(clock=lambda: 0.0, held_until=1.0 if leads else -1.0)
    return Hands(server, Facts(), leadership, poller=None, site=p.SITE, clock=lambda: p.NOW)  # type: ignore[arg-type]


META: Object = {"name": "j", "namespace": "default", "labels": {"spade.dev/run": p.RUN, "spade.dev/run-uid": UID}}
MANIFEST: Object = {"kind": "Job", "metadata": META}


def test_nothing_is_written_without_the_lease() -> None:
    server = Server()
    with pytest.raises(NotLeading):
        asyncio.run(act(hands(server, leads=False), (Create(MANIFEST),)))
    with pytest.raises(NotLeading):
        asyncio.run(write_status(hands(server, leads=False), p.run_record(), SpadeRunStatus()))
    assert server.writes == []


async def test_lease_lost_between_two_actions_stops_the_second() -> None:
    server = Server()
    clock = iter([0.0, 2.0])
    able = hands(server)
    able.leadership.clock = lambda: next(clock)
    with pytest.raises(NotLeading):
        await act(able, (Create(MANIFEST), Create(MANIFEST)))
    assert len(server.writes) == 1


async def test_answers_are_facts_at_once() -> None:
    able = hands(Server())
    await act(able, (Create(MANIFEST),))
    assert [(r.meta.kind, r.meta.uid) for r in able.facts.family("default", p.RUN)] == [(Kind.JOB, "stored")]


async def test_object_that_exists_already_is_looked_at_and_not_changed() -> None:
    server = Server()
    server.error = Conflict("create", 409, "exists")
    able = hands(server)
    await act(able, (Create(MANIFEST),))
    assert [verb for verb, _ in server.writes] == ["create"]
    assert able.facts.family("default", p.RUN)


async def test_object_of_another_family_is_refused_and_not_tried_around_for_ever() -> None:
    server = Server()
    server.error = Conflict("create", 409, "exists")
    wanted = {**MANIFEST, "metadata": META | {"labels": {"spade.dev/run": "pool-batch"}}}
    with pytest.raises(Refused, match="Job default/j is there already and of another family; rename or remove it"):
        await act(hands(server), (Create(wanted),))


class Kueue(Server):
    """A server with one Workload."""

    def __init__(self, version: str) -> None:
        super().__init__()
        meta = {"name": "w", "namespace": "default", "uid": "uid-of-w", "resourceVersion": version}
        condition = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}
        self.workload: Object = {
            "metadata": meta | {"labels": META["labels"]},
            "status": {"conditions": [condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        return self.workload

    async def merge(self, kind: str, namespace: str, name: str, patch: Object, *, part: str = "") -> Object:
        self.writes.append((f"merge {part}", patch))
        conditions = patch["status"]["conditions"]
        meta = self.workload["metadata"] | {"resourceVersion": "8"}
        return {"metadata": meta, "status": {"conditions": conditions}}


WORKLOAD = WorkloadRecord(p.meta(Kind.WORKLOAD, "w"), "", Standing(reserved=True))


async def test_workload_is_marked_as_it_was_decided_on_and_other_conditions_stay() -> None:
    server = Kueue("7")
    able = hands(server)
    marks = (WorkloadMark("Requeued", True, "Preempted", "why"), WorkloadMark("Admitted", False, "NoReservation", ""))
    await act(able, (MarkWorkload(WORKLOAD, marks, gives_back=True),))
    ((verb, patch),) = server.writes
    assert verb == "merge status"
    assert patch["metadata"] == {"uid": "uid-of-w", "resourceVersion": "7"}
    assert patch["status"]["admission"] is None
    assert [(c["type"], c["status"]) for c in patch["status"]["conditions"]] == [
        ("QuotaReserved", "True"), ("Requeued", "True"), ("Admitted", "False"),
    ]  # fmt: skip
    assert patch["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert [record.meta.resource_version for record in able.facts.of_kind(Kind.WORKLOAD)] == ["8"]


async def test_workload_that_kueue_changed_meanwhile_is_looked_at_again() -> None:
    server = Kueue("9")
    able = hands(server)
    with pytest.raises(Conflict):
        await act(able, (MarkWorkload(WORKLOAD, ()),))
    assert server.writes == []
    assert [record.meta.resource_version for record in able.facts.of_kind(Kind.WORKLOAD)] == ["9"]


async def test_deletes_and_patches_name_the_uid() -> None:
    server = Server()
    able = hands(server)
    able.facts.put(p.SANDBOX)
    await act(able, (SetDeletionCost(p.SANDBOX, 7), Admit(p.SANDBOX, "boot-0001"), Remove(p.SANDBOX, 1)))
    assert [what["metadata"]["uid"] for _, what in server.writes] == [p.SANDBOX.meta.uid] * 3
    gate = server.writes[1][1]["status"]["conditions"][0]
    assert (gate["type"], gate["status"]) == ("spade.dev/isolated", "True")
    assert "boot boot-0001 after 0 restarts" in gate["message"]
    (known,) = able.facts.family("default", p.RUN)
    assert known.meta.deleting


async def test_status_is_written_for_the_version_it_was_decided_on() -> None:
    server = Server()
    await write_status(hands(server), p.run_record(), SpadeRunStatus(rollout=3))
    ((verb, body),) = server.writes
    assert (verb, body["metadata"]["resourceVersion"], body["status"]["rollout"]) == ("update status", "7", 3)


async def test_conflict_brings_the_fresh_object_and_ends_the_pass() -> None:
    server = Server()
    server.error = Conflict("update", 409, "changed")
    able = hands(server)
    with pytest.raises(Conflict):
        await write_status(able, p.run_record(), SpadeRunStatus())
    run = able.facts.run("default", p.RUN)
    assert run is not None
    assert run.meta.generation == 2


async def test_status_of_an_object_that_is_gone_is_no_error() -> None:
    server = Server()
    server.error = NotFound("update", 404, "")
    await write_status(hands(server), p.run_record(), SpadeRunStatus())


async def test_log_that_cannot_be_read_is_remembered_as_empty() -> None:
    server = Server()
    able = hands(server)
    await act(able, (FetchLog(p.ENGINE, "engine", 0, False),))
    server.error = Refused("log", 400, "gone")
    await act(able, (FetchLog(p.ENGINE, "engine", 1, True),))
    assert able.facts.log((p.ENGINE.meta.uid, "engine", 0)) == "last words"
    assert able.facts.log((p.ENGINE.meta.uid, "engine", 1)) == ""


@pytest.mark.parametrize("labels", [{}, {"spade.dev/run": p.RUN}, {"spade.dev/run": "other", "spade.dev/run-uid": "u"}])
async def test_object_of_somebody_else_under_our_name_is_a_refusal_and_a_claim_is_not(labels: dict[str, str]) -> None:
    class Foreign(Server):
        def _stored(self, what: Object) -> Object:
            return super()._stored({**what, "metadata": {**what["metadata"], "labels": labels}})

    for kind in (Kind.JOB, Kind.CLAIM):
        server = Foreign()
        server.error = Conflict("create", 409, "exists")
        create = act(hands(server), (Create({"kind": kind, "metadata": META}),))
        if kind is Kind.CLAIM:
            await create
            continue
        with pytest.raises(Refused, match="Job default/j is there already"):
            await create


async def test_size_of_a_pool_is_promised_to_nobody_else_while_it_is_written() -> None:
    (manifest,) = sandbox_deployment(make_run().owner, p.SITE, 3)
    seen: list[int] = []

    class Asking(Server):
        async def apply(self, manifest: Object, *, uid: str | None = None) -> Object:
            seen.append(known.facts.sandboxes_beside("default", "another"))
            return await super().apply(manifest, uid=uid)

    known = hands(Asking())
    known.facts.put(p.run_record())
    await act(known, (Apply(manifest),))
    assert seen == [3]


async def test_object_whose_time_is_over_is_deleted_only_if_nobody_changed_it_meanwhile() -> None:
    server = Server()
    able = hands(server)
    run = p.run_record()
    able.facts.put(run)
    await act(able, (Remove(run, unchanged=True),))
    ((verb, what),) = server.writes
    assert (verb, what["metadata"]["version"]) == ("delete", run.meta.resource_version)
    known = able.facts.run("default", p.RUN)
    assert known is not None
    assert not known.meta.deleting, "the API server may have refused; its watch tells"
