"""What somebody else does to a run's children is made good and told; what is left to others is not; a namespace's end
is the end of its runs."""

import json
import re
import signal

from tests.integration.operator.conftest import Stage, condition, within
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_events import lists, resynced
from tests.integration.operator.test_run_life import complete

from spade_operator.kube import Object
from spade_operator.reconcile.drift import FREE_REPAIRS
from spade_operator.records import Kind


def drifts(stage: Stage) -> list[str]:
    return [event["note"] for event in stage.events() if event["reason"] == "DriftRepaired"]


def repairs(metrics: str, kind: Kind) -> float:
    found = re.search(rf'spade_drift_repairs_total{{kind="{kind}"}} ([0-9.]+)', metrics)
    return float(found.group(1)) if found else -1.0


async def until_told(stage: Stage, number: int) -> list[str]:
    async def told() -> bool:
        return len(drifts(stage)) >= number

    assert await within(240, told), stage.log.read_text()[-3000:]
    return drifts(stage)


async def delete_and_wait(stage: Stage, name: str) -> None:
    """Delete a NetworkPolicy; another one of its name is there."""
    gone = (await stage.kube.get(Kind.NETWORK_POLICY, stage.namespace, name))["metadata"]["uid"]
    await stage.kube.delete(Kind.NETWORK_POLICY, stage.namespace, name, uid=gone)

    async def there_again() -> bool:
        found = [item["metadata"] for item in await stage.items(Kind.NETWORK_POLICY)]
        return any(meta["name"] == name and meta["uid"] != gone for meta in found)

    assert await within(240, there_again)


async def children(stage: Stage) -> dict[str, Object]:
    """Content of everything that the operator applies and may read, by kind and name."""
    kinds = (Kind.DEPLOYMENT, Kind.NETWORK_POLICY, Kind.SERVICE, Kind.CONFIG_MAP)
    return {
        f"{kind} {item['metadata']['name']}": {
            name: part for name, part in item.items() if name not in ("metadata", "status")
        }
        for kind in kinds
        for item in await stage.items(kind)
    }


async def test_operator_that_starts_again_changes_no_child_and_finds_no_drift(stage: Stage) -> None:
    stage.resync_seconds = 5
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    first = await stage.start_operator()
    await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
    before = await children(stage)
    first.send_signal(signal.SIGKILL)
    await first.wait()
    async with stage.operator():

        async def second_leads() -> bool:
            return stage.log.read_text().count(" leads") == 2

        assert await within(240, second_leads), stage.log.read_text()
        await resynced(stage)
        assert await children(stage) == before
        assert "is repaired" not in stage.log.read_text()
        assert drifts(stage) == []
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 60)


async def test_policy_that_somebody_opened_while_no_operator_ran_is_closed_and_told(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    first = await stage.start_operator()
    await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
    first.send_signal(signal.SIGKILL)
    await first.wait()
    opened = '{"spec": {"egress": [{}]}}'
    edited = stage.server.kubectl("patch", "networkpolicy", "mini-sandbox", "-n", stage.namespace, "-p", opened)
    assert edited.returncode == 0, edited.stderr
    async with stage.operator():
        (note,) = await until_told(stage, 1)
        assert note == "NetworkPolicy mini-sandbox was changed by somebody else and has been applied again."
        policy = await stage.kube.get(Kind.NETWORK_POLICY, stage.namespace, "mini-sandbox")
        assert "egress" not in policy["spec"]
        await stage.until("its sandboxes are replaced", lambda run: condition(run, "Isolated")[1] == "PolicyChanged")


async def test_deleted_policy_is_there_again_at_once_and_sandboxes_that_lived_without_it_are_replaced(
    stage: Stage,
) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        (before,) = stage.cluster.of_role("sandbox")
        listed = await lists(stage, "networkpolicies")
        for _ in range(FREE_REPAIRS):
            await delete_and_wait(stage, "mini-sandbox")
        assert await lists(stage, "networkpolicies") < listed + FREE_REPAIRS, "the watch tells of it, not a list"
        (note,) = await until_told(stage, 1)
        assert note == "NetworkPolicy mini-sandbox was deleted by somebody else and has been applied again."
        policy = await stage.kube.get(Kind.NETWORK_POLICY, stage.namespace, "mini-sandbox")
        assert "Egress" in policy["spec"]["policyTypes"]
        assert "egress" not in policy["spec"]
        run = await stage.until(
            "another pod is proven",
            lambda run: run if set(run["status"]["admitted"]) - {before.name} and isolated(run) else None,
        )
        assert "sandbox" not in run["status"]["restarts"], "what is replaced for safety is no loss"
        told = [(event["type"], event["reason"]) for event in stage.events() if event["action"] == "Isolated"]
        # A fresh pod may be proven between two deletions, and is replaced by the second.
        losses = len(told) // 2
        assert 1 <= losses <= FREE_REPAIRS
        assert told == [("Normal", "Proven"), *losses * [("Warning", "PolicyChanged"), ("Normal", "Proven")]]
        assert repairs(await stage.page("/metrics"), Kind.NETWORK_POLICY) == FREE_REPAIRS
        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 60)


def isolated(run: Object) -> bool:
    return condition(run, "Isolated")[0] == "True"


async def test_each_kind_of_child_is_mended_and_told_of_once(stage: Stage) -> None:
    stage.resync_seconds = 5
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        edits = (
            ("deployment", "mini-engine", {"spec": {"minReadySeconds": 7, "template": {"metadata": {"labels": {
                "spade.dev/role": "engine", "app.kubernetes.io/managed-by": "somebody"}}}}}),
            ("service", "mini-sandbox", {"spec": {"publishNotReadyAddresses": True, "selector": {"a": "b"}}}),
            ("secret", "mini-sandbox-tokens", {"data": {"LEARNER": "eA=="}, "metadata": {"labels": {
                "spade.dev/run-uid": "somebody"}}}),
        )  # fmt: skip
        for kind, name, patch in edits:
            edited = stage.server.kubectl(
                "patch", kind, name, "-n", stage.namespace, "--type=merge", "-p", json.dumps(patch)
            )
            assert edited.returncode == 0, edited.stderr
        assert stage.server.kubectl("delete", "service", "mini-engine", "-n", stage.namespace).returncode == 0
        notes = await until_told(stage, 4)
        await resynced(stage)
        assert sorted(drifts(stage)) == sorted(notes), "each is told once"
        metrics = await stage.page("/metrics")
    assert {note.partition(" by somebody")[0] for note in notes} == {
        "Deployment mini-engine was changed", "Service mini-sandbox was changed",
        "Secret mini-sandbox-tokens was changed", "Service mini-engine was deleted",
    }  # fmt: skip
    assert [repairs(metrics, kind) for kind in (Kind.DEPLOYMENT, Kind.SERVICE, Kind.SECRET)] == [1, 2, 1]


async def test_pool_that_others_scale_and_labels_that_others_add_are_no_drift(stage: Stage) -> None:
    stage.resync_seconds = 5
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1, sandbox={"autoscaling": "External", "maxPods": 3})
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        for kind, name in (
            ("deployment", "mini-engine"),
            ("service", "mini-engine"),
            ("secret", "mini-sandbox-tokens"),
        ):
            marked = stage.server.kubectl("annotate", kind, name, "example.com/seen=yes", "-n", stage.namespace)
            assert marked.returncode == 0, marked.stderr
        for number in (2, 3, 1):
            scaled = stage.server.kubectl(
                "scale", "deployment", "mini-sandbox", f"--replicas={number}", "-n", stage.namespace
            )
            assert scaled.returncode == 0, scaled.stderr
            await stage.until("the pool follows", lambda run, n=number: len(run["status"]["admitted"]) == n)
        await resynced(stage)
        metrics = await stage.page("/metrics")
    assert drifts(stage) == []
    assert {repairs(metrics, kind) for kind in (Kind.DEPLOYMENT, Kind.SERVICE, Kind.SECRET)} == {0}


async def test_run_ends_with_its_namespace_and_no_pass_fails(stage: Stage) -> None:
    stage.resync_seconds = 5
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        gone = stage.server.kubectl("delete", "namespace", stage.namespace, "--wait=false")
        assert gone.returncode == 0, gone.stderr
        (learner,) = stage.cluster.of_role("learner")
        await stage.cluster.kill(learner)
        await stage.until_none(Kind.POD, Kind.JOB, Kind.DEPLOYMENT, seconds=240)
        await resynced(stage)
        metrics = await stage.page("/metrics")
    log = stage.log.read_text()
    errors = set(re.findall(r'^spade_reconcile_errors_total\{error="(\w+)"', metrics, re.MULTILINE))
    assert errors <= {"NotLeading"}, "a busy machine may hold up the Lease, and nothing else"
    assert log.count("ends with its namespace") == 1
    assert "Traceback" not in log
    assert log.count("being terminated") <= 10
