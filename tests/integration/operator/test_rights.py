"""In the life of a run and a pool every right of the chart's roles is used, and none is missed."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.integration.operator.chaos import through
from tests.integration.operator.conftest import Stage, within
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete
from tests.support.audit import calls_of, forbidden, granted, used
from tests.support.faulty_proxy import FaultyProxy
from tests.support.schedules import CallFault, CallTrouble, Schedule

from spade_operator.kube import Object
from spade_operator.records import Kind

CREATED_ONCE = ("jobs", "envbatches", "rolloutjobs", "persistentvolumeclaims")
"""When a create is told to have failed and had not, the operator reads what is there."""


@asynccontextmanager
async def answers_lost(stage: Stage) -> AsyncIterator[None]:
    """The first answer to a create of each of these kinds is an error, although the object was made."""
    lost = tuple(CallTrouble(CallFault.ANSWER_LOST, "create", kind, 1, code=500) for kind in CREATED_ONCE)
    schedule = Schedule(0, lost, (), (), (), learner_restarts=3, in_place=False, sessions_wanted=0, colocated=False)
    proxy = FaultyProxy(stage.server, schedule, kill=lambda: None)
    async with proxy.listening():
        stage.kubeconfig = through(stage.kubeconfig, proxy.url)
        yield


async def live(stage: Stage) -> None:
    """A run that grows, shrinks, loses an engine, completes and goes when its time is over; a pool beside it."""
    cluster, world = stage.cluster, stage.cluster.world
    world.hold_play, world.sessions_held = True, 3
    await stage.create_pool()
    await stage.create_run(
        history={"envBatches": 1, "rolloutJobs": 1},
        sandbox={"sessionsPerPod": 8, "maxPods": 2, "quietSeconds": 1},
        storage={"onDelete": "Delete"},
    )
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and cluster.of_role("worker"))
        world.sessions_wanted = 20
        await stage.until("the pool has grown", lambda run: len(run["status"]["admitted"]) == 2)
        world.sessions_wanted = 0
        await stage.until("the pool has shrunk", lambda run: len(run["status"]["admitted"]) == 1)
        (engine,) = cluster.of_role("engine")
        await cluster.kill(engine)
        await stage.until("the loss is counted", lambda run: "engine" in run["status"]["restarts"])
        world.hold_play = False
        await stage.until("completion", complete, 60)
        await stage.until("the pool's end", complete, name="pool", kind=Kind.BATCH)
        await stage.change(ttlSecondsAfterFinished=0)
        pool = (await stage.kube.get(Kind.BATCH, stage.namespace, "pool"))["metadata"]
        await stage.kube.delete(Kind.BATCH, stage.namespace, pool["name"], uid=pool["uid"])
        await stage.until("the run is gone with its folder", lambda run: not run)

        async def looked_for() -> bool:
            asked = {(call["objectRef"]["resource"], call["verb"]) for call in own_calls(stage) if named(call)}
            return {("spaderuns", "get"), ("envbatches", "get")} <= asked

        assert await within(240, looked_for), "the operator did not ask whether what was deleted is gone"


def named(call: Object) -> bool:
    """Whether a call is about the run or the pool itself."""
    return call.get("objectRef", {}).get("name") in ("mini", "pool") and "subresource" not in call["objectRef"]


def own_calls(stage: Stage) -> list[Object]:
    return [dict(call) for call in calls_of(stage.server.audit_log, f"{stage.namespace}:spade-operator")]


async def test_every_right_is_used_and_none_is_missed(stage: Stage, chart_rights: str) -> None:
    async with answers_lost(stage):
        await live(stage)
    calls = own_calls(stage)
    rights = granted(json.loads(chart_rights)["items"])
    assert rights, "the chart grants nothing"
    assert forbidden(calls) == []
    assert sorted(map(str, rights - used(calls))) == [], "granted and not used: take it from templates/role.yaml"
    assert sorted(map(str, used(calls) - rights)) == []
