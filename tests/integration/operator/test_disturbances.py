"""What is lost or changed is made again: the operator, the learner, a sandbox pod; suspension gives every pod back."""

import asyncio
import signal
from dataclasses import replace
from functools import partial

from tests.integration.operator.chaos import through
from tests.integration.operator.conftest import LEASE, Stage, condition
from tests.integration.operator.test_run_life import complete, reached
from tests.support.faulty_proxy import FaultyProxy
from tests.support.ports import free_port
from tests.support.schedules import WatchFault, WatchTrouble, draw

from spade_operator.kube import Object
from spade_operator.records import Kind

QUIET = replace(draw(0), calls=(), watches=(), deaths=(), words=())


def playing(run: Object) -> bool:
    return bool(run.get("status", {}).get("phase") == "Playing")


async def test_killed_operator_is_succeeded_by_another_that_goes_on(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=2)
    first = await stage.start_operator()
    await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
    first.send_signal(signal.SIGKILL)
    await first.wait()
    world.hold_play = False
    await stage.until("plays end while nobody watches", lambda run: world.played)
    async with stage.operator():
        await stage.until("completion", complete, 60)
    assert world.played == [0, 1], "finished work is not done twice"


async def test_second_operator_waits_for_the_lease_and_takes_it_when_it_is_given_back(stage: Stage) -> None:
    async with stage.operator() as first:
        await stage.create_run(rollouts=1)
        await stage.until("somebody leads", lambda run: run.get("status"))
        async with stage.operator(free_port()) as second:
            assert (await lease_holder(stage)).endswith(f"-{first.pid}")
            first.send_signal(signal.SIGTERM)
            await first.wait()
            await stage.until("completion", complete)
            assert (await lease_holder(stage)).endswith(f"-{second.pid}")


async def test_leader_that_was_frozen_does_no_harm_when_it_wakes_beside_its_successor(stage: Stage) -> None:
    """Each of two operators sleeps through the other's work, with its own work half done, and wakes while it leads."""
    world = stage.cluster.world
    async with stage.operator() as first:
        await stage.create_run(rollouts=4)
        await stage.until("somebody leads", lambda run: run.get("status"))
        async with stage.operator(free_port()) as second:
            for asleep, awake in ((first, second), (second, first)):
                world.hold_play = True
                found = await stage.until("a worker", lambda run: run if playing(run) and at_work(stage) else None)
                asleep.send_signal(signal.SIGSTOP)
                world.hold_play = False
                await stage.until("the next rollout", partial(reached, found["status"].get("rollout", 0) + 1))
                assert (await lease_holder(stage)).endswith(f"-{awake.pid}")
                asleep.send_signal(signal.SIGCONT)
            await stage.until("completion", complete)
        assert world.played == [0, 1, 2, 3], "nothing is done twice"
        assert len(await stage.items(Kind.ROLLOUT)) == 4


def at_work(stage: Stage) -> bool:
    return bool(stage.cluster.of_role("worker"))


async def lease_holder(stage: Stage) -> str:
    return str((await stage.kube.get("Lease", stage.namespace, LEASE))["spec"]["holderIdentity"])


async def test_watches_that_break_begin_again_in_the_same_process(stage: Stage) -> None:
    broken = tuple(WatchTrouble(WatchFault.BROKEN, resource, 1, 1) for resource in ("spaderuns", "pods", "jobs"))
    proxy = FaultyProxy(stage.server, replace(QUIET, watches=broken), kill=lambda: None)
    async with proxy.listening():
        stage.kubeconfig = through(stage.kubeconfig, proxy.url)
        async with stage.operator() as operator:
            await stage.create_run(rollouts=1)
            await stage.until("completion", complete, 90)
            assert operator.returncode is None
    assert proxy.done, "no watch was broken"
    assert "they begin again in" in stage.log.read_text()


async def test_run_is_suspended_at_once_or_at_a_boundary_and_goes_on_where_it_was(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=3)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        await stage.change(suspend="Now")
        await stage.until("suspended", lambda run: condition(run, "Suspended")[0] == "True")
        assert not await stage.items(Kind.POD)
        assert not await stage.items(Kind.DEPLOYMENT)
        await stage.change(suspend="Never")
        await stage.until("playing again", lambda run: playing(run) and stage.cluster.of_role("worker"))

        await stage.change(suspend="AtBoundary")
        await stage.until("it says so", lambda run: condition(run, "Suspended")[1] == "Suspending")
        world.hold_play = False
        run = await stage.until("suspended", lambda run: run if condition(run, "Suspended")[0] == "True" else None)
        assert (run["status"]["rollout"], world.played) == (1, [0])
        await stage.change(suspend="Never")
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert (world.designed, world.played) == ([0, 1], [0, 1, 2])
    assert run["status"]["restarts"] == {}, "a suspension is no restart"


async def test_each_lost_part_is_replaced_proven_anew_and_counted_once(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.world.hold_play = True
    await stage.create_run(rollouts=2)
    async with stage.operator():
        await stage.until("playing", playing)
        (learner,), (engine,), (sandbox,) = (cluster.of_role(role) for role in ("learner", "engine", "sandbox"))

        await cluster.kill(learner)
        await stage.until("the next group", lambda run: run["status"].get("learnerAttempt") == 1)
        await cluster.kill(sandbox)
        await stage.until(
            "another pod is admitted",
            lambda run: run["status"]["admitted"] and sandbox.name not in run["status"]["admitted"],
        )
        await cluster.kill(engine)
        await stage.until("it is proven at its new boot", lambda run: engine.version == 0)
        run = await stage.until("all are counted", lambda run: run if len(run["status"]["restarts"]) == 3 else None)
        once = {"sinceProgress": 1, "total": 1}
        learners = once | {"lastCause": "ExitCode"}
        assert run["status"]["restarts"] == {"learner": learners, "sandbox": once, "engine": once}

        cluster.world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    refilled = {"sinceProgress": 0, "total": 1}
    assert run["status"]["restarts"] == {"learner": refilled, "sandbox": refilled, "engine": refilled}


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
        await stage.until("it is gone", lambda run: not run)
        await stage.until_none(Kind.POD, Kind.JOB, Kind.DEPLOYMENT)
        assert len(await stage.items(Kind.CLAIM)) == 1, "storage stays"
        metrics = await stage.page("/metrics")
        assert 'run="mini"' not in metrics, "series go with their object"

        stage.cluster.world.hold_play = False
        await stage.create_run(rollouts=1)
        await stage.until("a new run of that name completes", complete, 60)


async def test_policy_of_others_that_lets_sandboxes_out_pauses_the_run_until_it_is_gone(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        (used,) = stage.cluster.of_role("sandbox")
        theirs: Object = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "allow-all", "namespace": stage.namespace},
            "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
        }
        made = await stage.kube.create(theirs)
        run = await stage.until(
            "the pause", lambda run: run if condition(run, "Isolated")[:2] == ("False", "NetworkOpen") else None
        )
        assert "allow-all" in condition(run, "Isolated")[2]
        await stage.until("the used pod is gone", lambda run: used not in stage.cluster.of_role("sandbox"))
        assert "NetworkOpen" in [event["reason"] for event in stage.events()]
        await stage.kube.delete(Kind.NETWORK_POLICY, stage.namespace, "allow-all", uid=made["metadata"]["uid"])
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 90)


async def test_policy_that_somebody_opened_and_a_deployment_that_somebody_scaled_are_mended(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        for kind, name, patch in (
            ("networkpolicy", "mini-sandbox", '{"spec": {"egress": [{}]}}'),
            ("deployment", "mini-engine", '{"spec": {"replicas": 0}}'),
        ):
            edited = stage.server.kubectl("patch", kind, name, "-n", stage.namespace, "--type=merge", "-p", patch)
            assert edited.returncode == 0, edited.stderr
        mended = False
        async with asyncio.timeout(60):
            while not mended:
                policy = await stage.kube.get(Kind.NETWORK_POLICY, stage.namespace, "mini-sandbox")
                engine = await stage.kube.get(Kind.DEPLOYMENT, stage.namespace, "mini-engine")
                mended = "egress" not in policy["spec"] and engine["spec"]["replicas"] == 1
