"""A run with a queue against Kueue's own definitions, with the test as Kueue: it is admitted, preempted and finished as
one, by an operator that has the chart's rights for it and no others.
"""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from tests.integration.operator.conftest import PLACEHOLDER, ROOT, Stage, condition, staged
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete
from tests.support import kueue as k
from tests.support.accounts import rights_of
from tests.support.api_server import ApiServer
from tests.support.audit import calls_of, forbidden, granted, used
from tests.support.helm import render

from spade_operator.kube import Object
from spade_operator.reconcile.marks import marked
from spade_operator.reconcile.steps import WorkloadMark
from spade_operator.records import Kind

CRDS = ROOT / "tests" / "data" / "kueue" / "crds.json"
NAME = "mini-workload"


@pytest.fixture(scope="module")
def kueue_rights() -> str:
    """The chart's roles where queues are wanted."""
    return rights_of(render({"watchNamespace": PLACEHOLDER, "kueue": {"enabled": True}}, namespace=PLACEHOLDER))


@pytest_asyncio.fixture
async def queued_stage(api_server: ApiServer, kueue_rights: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """A namespace whose operator may keep Workloads."""
    async with staged(api_server, kueue_rights, tmp_path) as made:
        site = json.loads(made.site_file.read_text())
        made.site_file.write_text(json.dumps(site | {"kueue": True}))
        yield made


def install_kueue(server: ApiServer) -> None:
    """Its definitions, one ResourceFlavor and a priority class."""
    applied = server.kubectl("apply", "--server-side", "-f", str(CRDS))
    assert applied.returncode == 0, applied.stderr
    server.await_kinds("-f", str(CRDS))
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": k.FLAVOR}}
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}}
    made = server.apply(flavor | {"spec": k.PLACE}, priority | {"value": 7})
    assert made.returncode == 0, made.stderr


async def workload(stage: Stage, what: str, look: Callable[[Object], bool], name: str = NAME) -> Object:
    """The run's Workload, once it is so."""

    def there(found: Object) -> Object:
        return found if found and look(found) else {}

    return await stage.until(what, there, name=name, kind=Kind.WORKLOAD)


def other_than(before: Object) -> Callable[[Object], bool]:
    """Whether it is not that one."""
    return lambda found: bool(found["metadata"]["uid"] != before["metadata"]["uid"])


async def say(stage: Stage, *marks: WorkloadMark, admits: bool = False) -> None:
    """Kueue writes a Workload's status."""
    found = await stage.kube.get(Kind.WORKLOAD, stage.namespace, NAME)
    meta, before = found["metadata"], found.get("status", {}).get("conditions", [])
    status: Object = {"conditions": marked(before, marks, meta["generation"], datetime.now(UTC))}
    if admits:
        status["admission"] = k.admission(found)
    version = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    await stage.kube.merge(Kind.WORKLOAD, stage.namespace, NAME, {"metadata": version, "status": status}, part="status")


async def test_a_run_is_admitted_preempted_and_finished_as_one(queued_stage: Stage) -> None:
    stage = queued_stage
    stage.server.kubectl("delete", "--ignore-not-found", "-f", str(CRDS))
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=2, queueName="team", learner={"pod": {"priorityClassName": "urgent"}})
    async with stage.operator():
        await stage.until("no Kueue", lambda run: condition(run, "Accepted")[1] == "KueueMissing")
        install_kueue(stage.server)
        first = await workload(stage, "it is made", bool)
        await stage.change(queueName="other")
        made = await workload(stage, "one for the other queue is made", other_than(first))
        assert (first["spec"]["queueName"], made["spec"]["queueName"]) == ("team", "other")
        await say(stage, *k.WAITS)
        await stage.until("it waits", lambda run: "insufficient unused quota" in condition(run, "Suspended")[2])
        assert [await stage.items(kind) for kind in (Kind.POD, Kind.JOB, Kind.DEPLOYMENT)] == [(), (), ()]

        await say(stage, *k.ADMITTED, admits=True)
        await stage.until("playing", playing, 60)
        change = ("--type=merge", "-p", json.dumps({"spec": {"queueName": None}}))
        refused = stage.server.kubectl("patch", "spaderun", "mini", "-n", stage.namespace, *change)
        assert "spec.queueName can change only while" in refused.stderr
        await workload(stage, "all is ready", lambda found: condition(found, "PodsReady")[0] == "True")
        for pod in await stage.items(Kind.POD):
            assert pod["spec"]["nodeSelector"] == k.PLACE["nodeLabels"], pod["metadata"]["name"]

        await say(stage, *k.PREEMPTED)
        given_back = await workload(
            stage, "the quota is given back", lambda found: condition(found, "QuotaReserved")[0] == "False"
        )
        assert "admission" not in given_back["status"]
        assert condition(given_back, "Requeued")[:2] == ("True", "Preempted")
        assert condition(given_back, "Admitted")[0] == "False"
        await stage.until("it is queued", lambda run: condition(run, "Suspended")[:2] == ("True", "Queued"))
        await stage.until_none(Kind.POD, Kind.DEPLOYMENT)

        stage.cluster.world.hold_play = False
        await say(stage, *k.READMITTED, admits=True)
        run = await stage.until("completion", lambda run: run if complete(run) else {}, 60)
        await workload(stage, "it is finished", lambda found: condition(found, "Finished")[:2] == ("True", "Succeeded"))
        assert {role: lost["total"] for role, lost in run["status"].get("restarts", {}).items() if lost["total"]} == {}

        await stage.change(rollouts=3)
        again = await workload(stage, "a new one is made", other_than(made))
        await stage.change(suspend="Now")
        await stage.until_none(Kind.WORKLOAD)
    assert made["spec"]["priority"] == again["spec"]["priority"] == 7


async def test_every_right_on_workloads_is_used_and_none_is_missed(
    queued_stage: Stage, kueue_rights: str, chart_rights: str
) -> None:
    stage = queued_stage
    install_kueue(stage.server)
    await stage.create_run(rollouts=1, queueName="team", learner={"pod": {"priorityClassName": "urgent"}})
    async with stage.operator():
        first = await workload(stage, "it is made", bool)
        await stage.change(suspend="Now")
        await stage.until_none(Kind.WORKLOAD)
        await stage.change(suspend="Never")
        await workload(stage, "a new one is made", other_than(first))
        await say(stage, *k.ADMITTED, admits=True)
        await stage.until("completion", complete, 60)
        await workload(stage, "it is finished", lambda found: condition(found, "Finished")[0] == "True")
    calls = [dict(call) for call in calls_of(stage.server.audit_log, f"{stage.namespace}:spade-operator")]
    added = granted(json.loads(kueue_rights)["items"]) - granted(json.loads(chart_rights)["items"])
    assert {right.group for right in added} == {"kueue.x-k8s.io", "scheduling.k8s.io"}
    assert forbidden(calls) == []
    assert sorted(map(str, added - used(calls))) == [], "granted and not used: take it from templates/role.yaml"
