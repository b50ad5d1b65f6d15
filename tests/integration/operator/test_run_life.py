"""A run goes from creation to Complete against a real API server, and says on the way how it goes."""

import json
import re

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.pretend_answers import EPISODES

from spade_contracts.metrics import METRICS
from spade_operator.kube import Object
from spade_operator.records import Kind

WRITES_PER_ROLLOUT = 12
WRITING = ("create", "apply", "update", "patch", "delete")


def complete(run: Object) -> bool:
    return condition(run, "Complete")[0] == "True"


def reached(rollout: int, run: Object) -> Object | None:
    return run if run.get("status", {}).get("rollout", 0) >= rollout else None


def writes(metrics: str) -> int:
    """Writes that the operator counted, Lease renewals excluded."""
    pattern = r'spade_api_requests_total\{code="[^"]*",resource="(\w+)",verb="(\w+)"\} ([0-9.]+)'
    return sum(int(float(n)) for what, verb, n in re.findall(pattern, metrics) if verb in WRITING and what != "leases")


async def test_run_goes_from_creation_to_complete_within_its_write_budget(stage: Stage) -> None:
    await stage.create_run(rollouts=6, history={"envBatches": 1, "rolloutJobs": 2})
    async with stage.operator():
        await stage.until("rollout 2", lambda run: run.get("status", {}).get("rollout") == 2)
        before = writes(await stage.page("/metrics"))
        await stage.until("rollout 4", lambda run: run["status"]["rollout"] == 4)
        in_one_cycle = writes(await stage.page("/metrics")) - before
        run = await stage.until("completion", lambda run: run if complete(run) else None)
        await stage.until_none(Kind.DEPLOYMENT, Kind.JOB, Kind.POD)
        metrics = await stage.page("/metrics")

    assert in_one_cycle / 2 <= WRITES_PER_ROLLOUT
    status, world = run["status"], stage.cluster.world
    assert (status["phase"], status["rollout"], status["cycle"], status["policyVersion"]) == ("Complete", 6, 2, 6)
    assert (world.designed, world.played, world.trained) == ([0, 1, 2], [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6])
    assert status["episodes"] == {"scored": 66, "scored/hinted": 24, "truncated": 6}
    assert status["environments"] == {"accepted": 18, "parse/syntax": 6}
    assert status["proofs"] == {"verified": 7}, "policy 0 is proven like any other"
    assert [figures["rollout"] for figures in status["rollouts"]] == [0, 1, 2, 3, 4, 5]
    assert {"design", "before_play", "play", "before_train", "train"} <= set(status["rollouts"][0]["stageSeconds"])
    assert status["rollouts"][-1]["proof"] == "verified"
    assert status["storageUri"] == f"file:///storage/{stage.namespace}/mini"

    assert len(await stage.items(Kind.BATCH)) == 1
    assert len(await stage.items(Kind.ROLLOUT)) == 2
    for child in (*await stage.items(Kind.BATCH), *await stage.items(Kind.ROLLOUT)):
        assert condition(child, "Complete")[0] == "True"
    assert [c["metadata"]["name"] for c in await stage.items(Kind.CLAIM)] == ["mini-storage"]
    assert "finalizers" not in run["metadata"]
    assert "annotations" not in run["metadata"]
    missing = {
        m.name for m in METRICS if m.exporter == "operator" and not re.search(rf"^# TYPE {m.name} ", metrics, re.M)
    }
    assert not missing


async def test_pool_follows_demand_live_page_counts_and_a_complete_run_goes_on_when_rollouts_grow(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1, sandbox={"sessionsPerPod": 8, "maxPods": 2, "quietSeconds": 1})
    async with stage.operator():
        await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
        stage.cluster.world.sessions_wanted = 20
        await stage.until("the pool has grown", lambda run: len(run["status"]["admitted"]) == 2)
        stage.cluster.world.sessions_wanted = 0
        run = await stage.until("the pool has shrunk", lambda run: run if len(run["status"]["admitted"]) == 1 else None)
        assert "sandbox" not in run["status"]["restarts"], "a pod that is not needed is not lost"
        view = {}
        while not view.get("episodes_planned"):
            view = json.loads(await stage.page(f"/runs/{stage.namespace}/mini"))
        metrics = await stage.page("/metrics")
        assert (view["phase"], view["episodes_done"], view["episodes_planned"]) == ("Playing", 5, EPISODES)
        assert f"(5 of {EPISODES} episodes)" in view["doing"]
        assert f'spade_rollout_episodes_done{{namespace="{stage.namespace}",run="mini"}} 5.0' in metrics
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete)
        await stage.change(rollouts=2)
        await stage.until("it runs again", lambda run: not complete(run))
        await stage.until("completion", complete)
    assert stage.cluster.world.played == [0, 1]
