"""Engines in the learner's pods: one group of pods, two words of each, and the loss of either is the group's."""

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete

from spade_contracts import ports
from spade_operator.records import Kind


async def test_colocated_run_of_two_nodes_loses_an_engine_replaces_the_group_and_completes(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.world.hold_play = True
    await stage.create_run(rollouts=2, placement="Colocated", learner={"nodes": 2}, engine={"replicas": 2})
    async with stage.operator():
        run = await stage.until("playing", lambda run: run if playing(run) else None)
        assert condition(run, "WeightsVerified")[0] == "True"
        assert (
            condition(run, "EnginesReady")[2] == "All 2 engine processes are up. They sleep while the learner computes."
        )
        roles = {d["metadata"]["name"] for d in await stage.items(Kind.DEPLOYMENT)}
        assert "mini-engine" not in roles
        (job,) = [job for job in await stage.items(Kind.JOB) if "learner" in job["metadata"]["name"]]
        assert [c["name"] for c in job["spec"]["template"]["spec"]["containers"]] == ["learner", "engine"]
        service = await stage.kube.get(Kind.SERVICE, stage.namespace, "mini-engine")
        assert service["spec"]["selector"]["spade.dev/role"] == "learner"
        assert service["spec"]["ports"][0]["port"] == ports.ENGINE_DATA

        first = min(cluster.of_role("learner"), key=lambda pod: pod.name)
        await cluster.kill_container(first, "engine")
        run = await stage.until(
            "the next group plays",
            lambda run: (
                run if run["status"].get("learnerAttempt") == 1 and len(cluster.of_role("engine")) == 2 else None
            ),
        )
        assert run["status"]["restarts"] == {"learner": {"sinceProgress": 1, "total": 1, "lastCause": "ExitCode"}}
        assert [e for e in stage.events() if f"container engine of pod {first.name} ended" in e["note"]]
        cluster.world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
        await stage.until_none(Kind.POD, Kind.JOB)
    assert run["status"]["proofs"] == {"verified": 6}, "two engines at three versions"


async def test_placement_changes_while_the_run_is_suspended(stage: Stage) -> None:
    await stage.create_run(rollouts=2)
    stage.cluster.world.hold_play = True
    async with stage.operator():
        await stage.until("playing", playing)
        assert len(await stage.items(Kind.DEPLOYMENT)) == 3
        await stage.change(suspend="Now")
        await stage.until("suspended", lambda run: condition(run, "Suspended")[0] == "True")
        await stage.change(placement="Colocated")
        await stage.change(suspend="Never")
        stage.cluster.world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert run["status"]["restarts"] == {}


async def test_engine_that_computes_something_else_costs_its_group(stage: Stage) -> None:
    stage.cluster.world.wrong_weights = True
    await stage.create_run(rollouts=1, placement="Colocated", learner={"restarts": 1})
    async with stage.operator():
        run = await stage.until("it fails", lambda run: run if condition(run, "Failed")[0] == "True" else None)
    assert condition(run, "Failed")[1] == "RestartBudgetSpent"
    assert not stage.cluster.world.played
