"""What is lost is made again: the operator, the learner, a sandbox pod; suspension gives every pod back."""

import asyncio
import signal

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_run_life import complete

from spade_operator.records import Kind


async def test_killed_operator_is_succeeded_by_another_that_goes_on(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=2)
    first = await stage.start_operator()
    await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
    first.send_signal(signal.SIGKILL)
    await first.wait()
    world.hold_play = False
    await stage.until("plays end while nobody watches", lambda run: world.played)
    async with stage.operator():
        await stage.until("completion", complete, 60)
    assert world.played == [0, 1], "finished work is not done twice"


async def test_second_operator_waits_for_the_lease_and_takes_it_when_it_is_given_back(stage: Stage) -> None:
    async with stage.operator():
        await stage.create_run(rollouts=1)
        await stage.until("completion", complete)
    lease = await stage.kube.get("Lease", stage.namespace, "spade-operator")
    assert lease["spec"]["holderIdentity"] == "", "it is given back at SIGTERM"
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with stage.operator():
        await stage.create_run("other", rollouts=1)
        await stage.until("completion", complete, name="other")
    assert loop.time() - began < 15, "it did not wait for the lease to expire"


async def test_suspended_run_gives_every_pod_back_and_goes_on_where_it_was(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=2)
    async with stage.operator():
        await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
        await stage.until("a worker", lambda run: stage.cluster.of_role("worker"))
        await stage.change(suspend="Now")
        await stage.until("suspended", lambda run: condition(run, "Suspended")[0] == "True")
        assert not await stage.items(Kind.POD)
        assert not await stage.items(Kind.DEPLOYMENT)
        world.hold_play = False
        await stage.change(suspend="Never")
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert world.designed == [0]
    assert world.played == [0, 1]
    assert run["status"]["restarts"] == {}, "a suspension is no restart"


async def test_run_suspended_at_a_boundary_finishes_its_rollout_first(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=3)
    async with stage.operator():
        await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
        await stage.change(suspend="AtBoundary")
        await stage.until("it says so", lambda run: condition(run, "Suspended")[1] == "Suspending")
        world.hold_play = False
        run = await stage.until("suspended", lambda run: run if condition(run, "Suspended")[0] == "True" else None)
        assert (run["status"]["rollout"], world.played) == (1, [0])
        await stage.change(suspend="Never")
        await stage.until("completion", complete, 60)


async def test_lost_learner_is_replaced_as_a_group_and_counted(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=2)
    async with stage.operator():
        await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
        (learner,) = stage.cluster.of_role("learner")
        await stage.cluster.kill(learner)
        run = await stage.until("the next group", lambda run: run if run["status"].get("learnerAttempt") == 1 else None)
        assert run["status"]["restarts"]["learner"] == {"sinceProgress": 1, "total": 1}
        stage.cluster.world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert run["status"]["restarts"]["learner"] == {"sinceProgress": 0, "total": 1}, "progress refills the budget"


async def test_sandbox_restarted_in_place_is_replaced_by_a_pod_that_proves_itself_anew(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
        (pod,) = stage.cluster.of_role("sandbox")
        await stage.cluster.kill(pod)
        run = await stage.until(
            "another pod is admitted",
            lambda run: run if run["status"]["admitted"] and pod.name not in run["status"]["admitted"] else None,
        )
        assert run["status"]["restarts"]["sandbox"]["total"] == 1
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 60)


async def test_restarted_engine_serves_nothing_until_it_is_proven_again(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("playing", lambda run: run.get("status", {}).get("phase") == "Playing")
        (engine,) = stage.cluster.of_role("engine")
        await stage.cluster.kill(engine)
        await stage.until("it is counted", lambda run: run["status"]["restarts"].get("engine", {}).get("total") == 1)
        await stage.until("it is proven at its new boot", lambda run: engine.version == 0)
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 60)


async def test_run_fails_with_the_real_cause_when_a_budget_is_spent_and_retry_takes_it_up(stage: Stage) -> None:
    world = stage.cluster.world
    world.crash_learner = True
    await stage.create_run(rollouts=1, learner={"restarts": 1})
    async with stage.operator():
        run = await stage.until("it fails", lambda run: run if condition(run, "Failed")[0] == "True" else None)
        assert condition(run, "Failed")[1] == "RestartBudgetSpent"
        assert "exit code 139" in condition(run, "Failed")[2]
        await stage.until("its pods are gone", lambda run: not world.pods)
        world.crash_learner = False
        await stage.change(retry=1)
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert condition(run, "Failed")[0] == "False"
    assert run["status"]["restarts"]["learner"]["total"] == 2


async def test_deleted_run_frees_its_pods_without_waiting_for_the_garbage_collector(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: stage.cluster.of_role("worker"))
        assert stage.server.kubectl("delete", "spaderun", "mini", "-n", stage.namespace).returncode == 0
        await stage.until("its pods are gone", lambda run: not run and not stage.cluster.world.pods, 20)
        for kind in (Kind.POD, Kind.JOB, Kind.DEPLOYMENT):
            assert not await stage.items(kind)
        assert len(await stage.items(Kind.CLAIM)) == 1, "storage stays"
        metrics = await stage.page("/metrics")
        assert 'run="mini"' not in metrics, "series go with their object"

        stage.cluster.world.hold_play = False
        await stage.create_run(rollouts=1)
        await stage.until("a new run of that name completes", complete, 60)
