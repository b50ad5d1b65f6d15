"""For an object whose status nobody can read, or that no run works on, nothing is done, and one condition says why."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p
from tests.unit.operator.test_act import Server
from tests.unit.operator.test_passes import shop

from spade_contracts.labels import RUN, RUN_UID
from spade_contracts.resources import RunCondition, SpadeRunStatus
from spade_operator.keys import Key, run_key
from spade_operator.kube import Object
from spade_operator.readings import status_of
from spade_operator.reconcile.passes import reconcile
from spade_operator.records import BatchRecord, Kind, RolloutRecord, RunRecord, record_of

HEAD = run_key("default", p.RUN)
BAD: list[Object] = [{"rollout": -5}, {"learnerAttempt": -7}, {"restarts": {"engine": {"total": -1}}}, {"cycle": 2**40}]
OF_A_RUN: Object = {"run": p.RUN, "cycle": 0, "policyVersion": 0}
SPECS: dict[str, Object] = {
    Kind.RUN: {"model": {"uri": "package:tiny"}, "rollouts": 4},
    Kind.BATCH: OF_A_RUN,
    Kind.ROLLOUT: OF_A_RUN | {"rollout": 0},
}


class Holding(Server):
    """An API server that has one status."""

    def __init__(self, status: Object) -> None:
        super().__init__()
        self.status = status

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        return await super().get(kind, namespace, name) | {"status": self.status, "spec": SPECS[kind]}


def read(kind: Kind, name: str, status: Object, **spec: Any) -> Any:
    meta = {"name": name, "namespace": "default", "uid": p.UID, "resourceVersion": "7", "generation": 1}
    owned = {"labels": {RUN: p.RUN, RUN_UID: p.UID}, "ownerReferences": [{"uid": p.UID, "controller": True}]}
    whole = meta if kind is Kind.RUN else meta | owned | {"uid": f"uid-of-{name}"}
    return record_of(kind, {"metadata": whole, "spec": spec, "status": status})


def run(status: Object) -> RunRecord:
    made: RunRecord = read(Kind.RUN, p.RUN, status, **SPECS[Kind.RUN])
    return made


@pytest.mark.parametrize("status", BAD)
async def test_run_whose_status_cannot_be_read_is_left_as_it_is_and_says_so_once(status: Object) -> None:
    record = run(status)
    server = Holding(status)
    able = shop(server, record, p.batch(0), p.SANDBOX)
    assert not (await reconcile(able, HEAD)).idle
    ((verb, body),) = server.writes
    assert verb == "update status"
    (said,) = body["status"].pop("conditions")
    assert body["status"] == status, "what is there stays, to be corrected"
    assert (said["type"], said["status"], said["reason"]) == ("Progressing", "False", "StatusUnreadable")
    assert said["message"].startswith(f"status.{record.unreadable.split('.', 1)[1].split(':')[0]}")
    assert f"kubectl -n default edit spaderun {p.RUN} --subresource=status" in said["message"]
    told = shop(server, run(status | {"conditions": [said]}))
    assert (await reconcile(told, HEAD)).idle
    assert len(server.writes) == 1


async def test_units_of_such_a_run_wait() -> None:
    server = Server()
    unit = p.batch(0)
    able = shop(server, run(BAD[0]), unit)
    assert (await reconcile(able, Key(Kind.BATCH, "default", unit.meta.name, p.RUN))).idle
    assert server.writes == []


async def test_unit_whose_status_cannot_be_read_says_so() -> None:
    status = {"jobAttempt": -1}
    unit: RolloutRecord = read(Kind.ROLLOUT, f"{p.RUN}-r0000", status, **SPECS[Kind.ROLLOUT])
    server = Holding(status)
    able = shop(server, p.run_record(), unit)
    await reconcile(able, Key(Kind.ROLLOUT, "default", unit.meta.name, p.RUN))
    ((_, body),) = server.writes
    (said,) = body["status"]["conditions"]
    assert (said["type"], said["reason"]) == ("Complete", "StatusUnreadable")


async def test_pool_whose_status_cannot_be_read_says_so_and_frees_nothing() -> None:
    status = {"handledRetry": -1}
    spec = {"source": {"programs": "file:///storage/p"}, "storage": {"claimName": "c"}}
    pool: BatchRecord = read(Kind.BATCH, p.POOL, status, **spec)
    server = Holding(status)
    await reconcile(shop(server, pool), run_key("default", p.POOL_FAMILY))
    assert [body["status"]["conditions"][0]["reason"] for _, body in server.writes] == ["StatusUnreadable"]


def test_conditions_of_a_status_that_cannot_be_read_are_kept_and_other_fields_are_not() -> None:
    holds = p.condition(RunCondition.ACCEPTED, True)
    raw = {"rollout": -5, "cycle": 3, "conditions": [holds.model_dump(mode="json", by_alias=True)]}
    status, problem = status_of(SpadeRunStatus, raw)
    assert problem == "status.rollout: Input should be greater than or equal to 0"
    assert (status.conditions, status.cycle) == ((holds,), 0)
    assert status_of(SpadeRunStatus, {"rollout": -5, "conditions": [{}]})[0] == SpadeRunStatus()
    assert status_of(SpadeRunStatus, {"cycle": 3, "ofTheNextVersion": "x"}) == (SpadeRunStatus(cycle=3), "")


def by_hand(unit: BatchRecord | RolloutRecord) -> Any:
    return replace(unit, meta=replace(unit.meta, run_uid="", owner_uid=""))


@pytest.mark.parametrize("unit", [p.batch(0), p.plays(0)])
async def test_unit_that_a_user_made_for_a_run_says_that_none_works_on_it(unit: BatchRecord | RolloutRecord) -> None:
    key = Key(unit.meta.kind, "default", unit.meta.name, p.RUN)
    for there, words in ((False, f"There is no SpadeRun default/{p.RUN}"), (True, "did not make this object")):
        server = Holding({})
        able = shop(server, by_hand(unit), *([p.run_record()] if there else []))
        await reconcile(able, key)
        ((_, body),) = server.writes
        (said,) = body["status"]["conditions"]
        assert (said["type"], said["status"], said["reason"]) == ("Complete", "False", "RunNotFound")
        assert words in said["message"]
        assert "Delete this one" in said["message"]


async def test_unit_of_a_run_that_was_deleted_is_left_to_its_owner_reference() -> None:
    server = Holding({})
    unit = p.batch(0)
    assert (await reconcile(shop(server, unit), Key(Kind.BATCH, "default", unit.meta.name, p.RUN))).idle
    assert server.writes == []
