"""A real HorizontalPodAutoscaler sizes a sandbox pool in External mode, with the example that users are given.

The API server, the controllers (autoscaler, Deployments, ReplicaSets) and the operator with its metric are real; nodes
and the adapter in front of Prometheus are played.
"""

import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest_asyncio
import yaml
from tests.integration.conftest import install_kinds
from tests.integration.operator.conftest import ROOT, Stage, staged, within
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_drift import drifts
from tests.integration.operator.test_run_life import complete
from tests.support.api_server import running_api_server
from tests.support.controllers import running_controllers
from tests.support.external_metrics import external_metrics

from spade_contracts.metrics import metric
from spade_operator.kube import Object

EXAMPLES = ROOT / "examples" / "autoscaling"
CONTROLLERS = ("horizontal-pod-autoscaler-controller", "deployment-controller", "replicaset-controller")
PER_POD, MOST = 32, 4


@pytest_asyncio.fixture
async def scaled(chart_rights: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage on an API server of its own, because these controllers serve every namespace of theirs."""
    with running_api_server(tmp_path / "api-server") as server:
        install_kinds(server)
        runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}}
        assert server.apply(runtime | {"handler": "runsc"}).returncode == 0
        options = ("--horizontal-pod-autoscaler-sync-period=1s",)
        with running_controllers(server, tmp_path, *CONTROLLERS, options=options):
            async with staged(server, chart_rights, tmp_path) as stage:
                stage.cluster.world.others_scale = True
                yield stage


def autoscaler() -> Object:
    """The example, without the wait before pods go."""
    made: Object = yaml.safe_load((EXAMPLES / "horizontal-pod-autoscaler.yaml").read_text())
    made["spec"]["behavior"]["scaleDown"] = {"stabilizationWindowSeconds": 0}
    return made


def admitted(run: Object) -> set[str]:
    return set(run["status"].get("admitted", {}))


def has(pods: int, run: Object) -> Object | None:
    return run if len(admitted(run)) == pods else None


class Adapter:
    """Asks the operator's own metrics page; while no operator runs, the latest value stands, as Prometheus has it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._latest: float | None = None

    async def read(self, namespace: str, name: str, wanted: dict[str, str]) -> float | None:
        labels = ",".join(f'{key}="{value}"' for key, value in ({"namespace": namespace} | wanted).items())
        try:
            page = await self._stage.page("/metrics")
        except aiohttp.ClientError:
            return self._latest
        found = re.search(rf"^{name}{{{labels}}} (\S+)$", page, re.MULTILINE)
        self._latest = float(found.group(1)) if found else None
        return self._latest


async def test_autoscaler_sizes_the_pool_by_the_operators_metric_and_nothing_counts_as_lost(
    scaled: Stage, tmp_path: Path
) -> None:
    world = scaled.cluster.world
    world.hold_play = True
    await scaled.create_run(rollouts=1, sandbox={"autoscaling": "External", "sessionsPerPod": PER_POD, "maxPods": MOST})
    async with external_metrics(scaled.server, tmp_path, Adapter(scaled).read):
        async with scaled.operator():
            await scaled.until("a worker", lambda run: playing(run) and scaled.cluster.of_role("worker"))
            hpa = autoscaler()
            made = scaled.server.apply(hpa | {"metadata": hpa["metadata"] | {"namespace": scaled.namespace}})
            assert made.returncode == 0, made.stderr
            for sessions, pods in ((500, MOST), (2, 1), (70, 3)):
                world.sessions_wanted = sessions
                run = await scaled.until(f"{pods} pods", partial(has, pods), 60)
            assert "sandbox" not in run["status"].get("restarts", {}), "a pod that was scaled away is no loss"
        known = admitted(run)
        smaller = scaled.server.kubectl("scale", "deployment/mini-sandbox", "--replicas=1", "-n", scaled.namespace)
        assert smaller.returncode == 0, smaller.stderr

        async def others() -> bool:
            return len({pod.name for pod in scaled.cluster.of_role("sandbox")} - known) == 2

        assert await within(240, others), "the autoscaler brings them back"
        async with scaled.operator():
            run = await scaled.until("3 pods again", lambda run: has(3, run) and admitted(run) != known and run, 60)
            assert "sandbox" not in run["status"].get("restarts", {}), "nor where it was scaled back meanwhile"
            assert drifts(scaled) == []
            await scaled.cluster.kill(scaled.cluster.of_role("sandbox")[0])
            lost = await scaled.until("a loss", lambda run: run["status"].get("restarts", {}).get("sandbox"))
            assert lost["total"] == 1, "and one that crashed is"
            world.hold_play = False
            await scaled.until("completion", complete, 60)


def test_examples_ask_for_a_metric_that_the_operator_exports_with_the_labels_that_it_has() -> None:
    demand = metric("spade_sandbox_demand")
    assert demand.exporter == "operator"
    (scaler,) = autoscaler()["spec"]["metrics"]
    assert scaler["external"]["metric"]["name"] == demand.name
    assert set(scaler["external"]["metric"]["selector"]["matchLabels"]) | {"namespace"} == set(demand.labels)
    (rule,) = yaml.safe_load((EXAMPLES / "prometheus-adapter.yaml").read_text())["rules"]["external"]
    assert (rule["seriesQuery"], rule["name"]["as"]) == (demand.name, demand.name)
    keda: dict[str, Any] = yaml.safe_load((EXAMPLES / "keda.yaml").read_text())
    (trigger,) = keda["spec"]["triggers"]
    asked = re.fullmatch(r"sum\((\w+){(.*)}\)", trigger["metadata"]["query"])
    assert asked is not None
    assert asked.group(1) == demand.name
    assert set(re.findall(r"(\w+)=", asked.group(2))) == set(demand.labels)
    target = scaler["external"]["target"]
    assert (target["averageValue"], trigger["metadata"]["threshold"]) == (str(PER_POD), str(PER_POD))
