"""A run in the queues of Kueue's own controllers: admitted, held back, preempted by a more urgent one, and finished."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kubernetes.utils import parse_quantity
from tests.integration.operator.conftest import PLACEHOLDER, Stage, condition, staged, within
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_kueue import install_kueue, workload
from tests.integration.operator.test_run_life import complete
from tests.support import kueue as k
from tests.support.accounts import rights_of
from tests.support.api_server import ApiServer
from tests.support.helm import render
from tests.support.kueue_program import running_kueue

from spade_operator.kube import Object
from spade_operator.records import Kind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
"""The first time, Kueue is built: half an hour on two cores."""
QUOTA_RUNS = 1.5
"""The quota, in what one run asks for."""


@pytest_asyncio.fixture
async def stage(api_server: ApiServer, tmp_path: Path) -> AsyncIterator[Stage]:
    """A namespace whose operator may keep Workloads, beside a running Kueue."""
    rights = rights_of(render({"watchNamespace": PLACEHOLDER, "kueue": {"enabled": True}}, namespace=PLACEHOLDER))
    async with staged(api_server, rights, tmp_path) as made:
        site = json.loads(made.site_file.read_text())
        made.site_file.write_text(json.dumps(site | {"kueue": True}))
        install_kueue(api_server)
        with running_kueue(api_server, tmp_path / "kueue"):
            yield made


def queue(stage: Stage, cpu: float, memory: int) -> None:
    """A ClusterQueue with such a quota, that lets the more urgent preempt, and the team's queue on it."""
    resources = [{"name": "cpu", "nominalQuota": f"{cpu:.3f}"}, {"name": "memory", "nominalQuota": memory}]
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [
            {"coveredResources": ["cpu", "memory"], "flavors": [{"name": k.FLAVOR, "resources": resources}]}
        ],
    }
    version = "kueue.x-k8s.io/v1beta2"
    name = f"{stage.namespace}-team"
    whole = {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
    local = {"apiVersion": version, "kind": "LocalQueue", "metadata": {"name": "team", "namespace": stage.namespace}}
    made = stage.server.apply(whole, local | {"spec": {"clusterQueue": name}})
    assert made.returncode == 0, made.stderr


def asked_for(found: Object) -> tuple[float, int]:
    """CPU and bytes of everything that the Workload was admitted with, as Kueue counted them."""
    usage = [one["resourceUsage"] for one in found["status"]["admission"]["podSetAssignments"]]
    cpu, memory = (sum(parse_quantity(one[name]) for one in usage) for name in ("cpu", "memory"))
    return float(cpu), int(memory)


async def test_kueue_admits_holds_back_preempts_and_admits_again(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    queue(stage, cpu=10_000, memory=2**50)
    await stage.create_run("calm", rollouts=2, queueName="team")
    async with stage.operator():
        admitted = await workload(
            stage, "it is admitted", lambda w: condition(w, "Admitted")[0] == "True", name="calm-workload"
        )
        await stage.until("it plays", playing, 60, name="calm")
        await workload(stage, "it is ready", lambda w: condition(w, "PodsReady")[0] == "True", name="calm-workload")
        cpu, memory = asked_for(admitted)
        queue(stage, cpu * QUOTA_RUNS, round(memory * QUOTA_RUNS))

        await stage.create_run("patient", rollouts=1, queueName="team")
        await stage.until(
            "it is held back with Kueue's words",
            lambda run: "insufficient unused quota" in condition(run, "Suspended")[2],
            name="patient",
        )
        urgent = {"pod": {"priorityClassName": "urgent"}}
        await stage.create_run("urgent", rollouts=1, queueName="team", learner=urgent)
        await stage.until("the calm one is out", lambda r: condition(r, "Suspended")[1] == "Queued", 60, name="calm")
        await stage.until("the urgent one plays", playing, 60, name="urgent")
        names = {pod["metadata"]["labels"]["spade.dev/run"] for pod in await stage.items(Kind.POD)}
        assert names == {"urgent"}, "two runs hold pods on a quota for one and a half"

        stage.cluster.world.hold_play = False
        for name in ("urgent", "calm", "patient"):
            run = await stage.until("completion", lambda run: run if complete(run) else {}, 120, name=name)
            lost = {role: one["total"] for role, one in run["status"].get("restarts", {}).items() if one["total"]}
            assert lost == {}, f"{name} paid for being queued: {lost}"
            await workload(
                stage, "it is finished", lambda w: condition(w, "Finished")[0] == "True", name=f"{name}-workload"
            )

    async def free() -> bool:
        found = await asyncio.to_thread(stage.server.get, "clusterqueue", f"{stage.namespace}-team", stage.namespace)
        return bool(found["status"]["admittedWorkloads"] == found["status"]["pendingWorkloads"] == 0)

    assert await within(240, free), "Kueue counts a finished run"
