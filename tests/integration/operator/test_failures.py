"""Each cause has its answer, each pause its condition, and a run that failed goes on when what it lacked was given."""

import re

import pytest
from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete

from spade_operator.kube import Object
from spade_operator.records import Kind


def failed_for(reason: str):
    def look(run: Object) -> Object | None:
        return run if condition(run, "Failed")[:2] == ("True", reason) else None

    return look


async def test_learner_killed_for_memory_fails_with_a_figure_and_completes_when_it_is_given(stage: Stage) -> None:
    world = stage.cluster.world
    world.learner_needs = "1200Mi"
    await stage.create_run(rollouts=1, learner={"pod": {"resources": {"limits": {"memory": "1Gi"}}}})
    async with stage.operator():
        run = await stage.until("it fails", failed_for("OutOfMemory"))
        message = condition(run, "Failed")[2]
        assert "container learner of pod mini-learner-a1-0" in message
        assert run["status"]["restarts"]["learner"] == {
            "sinceProgress": 1, "total": 1, "lastCause": "OutOfMemory", "memoryLimit": "1Gi"
        }  # fmt: skip
        hint = re.search(
            r"Raise spec\.learner\.pod\.resources\.limits\.memory above 1Gi, to (\w+) for a start", message
        )
        assert hint is not None
        await stage.until_none(Kind.POD)
        await stage.change(learner={"pod": {"resources": {"limits": {"memory": hint[1]}}}})
        await stage.change(retry=1)
        world.hold_play = True
        await stage.until("a learner", lambda run: playing(run) and stage.cluster.of_role("learner"))
        (job,) = [job for job in await stage.items(Kind.JOB) if "learner" in job["metadata"]["name"]]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["memory"] == hint[1] == "1536Mi"
        world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert condition(run, "Failed")[:2] == ("False", "Finished")


async def test_pods_that_the_infrastructure_takes_cost_no_budget(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1, learner={"restarts": 0}, engine={"restarts": 0})
    async with stage.operator():
        await stage.until("playing", playing)
        (learner,) = stage.cluster.of_role("learner")
        await stage.cluster.kill(learner, 143, disruption="PreemptionByScheduler")
        said = await stage.until("it says so", lambda run: condition(run, "LearnerReady")[2] or None)
        assert said
        run = await stage.until(
            "the next group", lambda run: run if run["status"].get("learnerAttempt") == 1 else None, 60
        )
        assert run["status"]["restarts"]["learner"] == {"sinceProgress": 0, "total": 1, "lastCause": "Preempted"}
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 60)


async def test_open_network_that_a_fresh_pod_finds_in_mid_run_pauses_the_run_until_it_is_closed(stage: Stage) -> None:
    world, cluster = stage.cluster.world, stage.cluster
    world.hold_play = True
    await stage.create_run(rollouts=1, sandbox={"minPods": 1, "maxPods": 2})
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and cluster.of_role("worker"))
        (old,) = cluster.of_role("sandbox")
        world.network_open = True
        await stage.change(sandbox={"minPods": 2})
        run = await stage.until(
            "the finding", lambda run: run if condition(run, "Isolated")[:2] == ("False", "NetworkOpen") else None
        )
        assert "until fresh pods have proven a closed network" in condition(run, "Isolated")[2]
        await stage.until("the plays end", lambda run: not cluster.of_role("worker"))
        run = await stage.until(
            "pods of doubt go",
            lambda run: run if old.name not in {pod.name for pod in cluster.of_role("sandbox")} else None,
        )
        assert run["status"]["admitted"] == {}
        assert condition(run, "Progressing")[:2] == ("False", "NetworkOpen")
        assert run["status"]["doing"].startswith("paused: ")
        metrics = await stage.page("/metrics")
        mini = f'namespace="{stage.namespace}",'
        assert f'spade_run_condition{{condition="Isolated",{mini}run="mini"}} 0.0' in metrics
        assert f'spade_run_phase{{{mini}phase="Playing",run="mini"}} 1.0' in metrics, "the alert asks for a run at work"
        assert world.played == []

        world.network_open = False
        await stage.until("both are proven", lambda run: len(run["status"]["admitted"]) == 2)
        world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert world.played == [0]
    assert "sandbox" not in run["status"]["restarts"], "what we give up ourselves is no loss"


async def test_cycle_without_one_accepted_program_stops_the_run(stage: Stage) -> None:
    stage.cluster.world.reject_all = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        run = await stage.until("it stops", failed_for("AllRejected"))
        assert "most were rejected as parse/syntax" in condition(run, "Failed")[2]
        await stage.until_none(Kind.POD)
    assert stage.cluster.world.played == []


async def test_loss_that_is_no_number_stops_the_run_and_a_retry_goes_on(stage: Stage) -> None:
    world = stage.cluster.world
    world.not_finite = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        run = await stage.until("it stops", failed_for("NonFinite"))
        for words in ("the loss is nan", "raise spec.retry", "spec.learner.optimizer.learningRate"):
            assert words in condition(run, "Failed")[2]
        await stage.until_none(Kind.POD)
        assert world.trained == []
        world.not_finite = False
        await stage.change(retry=1)
        await stage.until("completion", complete, 60)
    assert (world.played, world.trained) == ([0], [1]), "what was played is not played again"


async def test_engines_that_compute_with_other_weights_stop_the_run_past_their_budget(stage: Stage) -> None:
    world = stage.cluster.world
    world.wrong_weights = True
    await stage.create_run(rollouts=1, engine={"restarts": 1})
    async with stage.operator():
        run = await stage.until("it stops", failed_for("RestartBudgetSpent"), 60)
        assert "does not compute with policy version 0: 0.4 nats off" in condition(run, "Failed")[2]
        assert world.designed == []
        world.wrong_weights = False
        await stage.change(retry=1)
        await stage.until("completion", complete, 60)


@pytest.mark.parametrize(("role", "kind"), [("worker", "Progressing"), ("engine", "EnginesReady")])
async def test_pod_that_fits_on_no_node_is_told_by_the_run_until_it_does(stage: Stage, role: str, kind: str) -> None:
    stage.cluster.world.no_room_for = role
    await stage.create_run(rollouts=1)
    async with stage.operator():
        run = await stage.until(
            "it says so", lambda run: run if condition(run, kind)[:2] == ("False", "Unschedulable") else None
        )
        field = {"worker": "workers", "engine": "engine"}[role]
        assert f"Lower spec.{field}.pod.resources.requests.memory, or add nodes." in condition(run, kind)[2]
        await stage.until("for people too", lambda run: "(Unschedulable: mini-" in run["status"]["doing"])
        stage.cluster.world.no_room_for = ""
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert "Unschedulable" not in run["status"]["doing"]
    assert run["status"]["restarts"] == {}, "waiting is no loss"
