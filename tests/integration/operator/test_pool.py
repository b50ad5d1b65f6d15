"""An EnvBatch without a run goes from creation to Complete against a real API server, and gives its pods back."""

import asyncio
import json

from prometheus_client.parser import text_string_to_metric_families
from tests.integration.operator.conftest import Stage, condition

from spade_operator.kube import Object
from spade_operator.records import Kind

COMPUTE = (Kind.DEPLOYMENT, Kind.JOB, Kind.POD)
FAMILY = "spade.dev/run=pool-batch"
HANGS_SECONDS = 300
"""Longer than an operator takes to start on a busy machine; tests/e2e holds the promise of 30 seconds."""


def ended(batch: Object) -> Object | None:
    return batch if any(condition(batch, kind)[0] == "True" for kind in ("Complete", "Failed")) else None


async def compute(stage: Stage, selector: str = FAMILY) -> list[str]:
    """Pods, Jobs and Deployments of a family."""
    found = [(kind, await stage.kube.list(kind, stage.namespace, selector)) for kind in COMPUTE]
    return [f"{kind}/{item['metadata']['name']}" for kind, listing in found for item in listing.items]


async def until_none(stage: Stage) -> None:
    end = asyncio.get_running_loop().time() + HANGS_SECONDS
    while left := await compute(stage):
        assert asyncio.get_running_loop().time() < end, left
        await asyncio.sleep(0.1)


async def test_pool_is_verified_beside_a_run_of_the_same_name_and_gives_its_pods_back(stage: Stage) -> None:
    await stage.create_pool()
    await stage.create_run("pool", rollouts=1)
    async with stage.operator():
        batch = await stage.until("the end", ended, name="pool", kind=Kind.BATCH)
        await until_none(stage)
        batch = await stage.kube.get(Kind.BATCH, stage.namespace, "pool")
        metrics = await stage.page("/metrics")
        await stage.until("the run's end", ended, name="pool")
    status = batch["status"]
    assert (status["requested"], status["accepted"], status["validPerAttempt"]) == (8, 5, "0.625")
    assert status["rejected"] == {"controls/wins_by_null": 2, "parse/syntax": 1}
    assert (status["mutationScores"]["median"], status["diversity"]) == ("0.500", "0.750")
    assert status["storageUri"] == f"file:///storage/{stage.namespace}/pool-batch/verifications/abc"
    assert condition(batch, "Generated")[:2] == ("False", "NotApplicable")
    assert condition(batch, "Verified")[0] == condition(batch, "Complete")[0] == "True"
    assert condition(batch, "Isolated")[:2] == ("False", "Finished")
    assert stage.cluster.world.verified == ["file:///storage/programs"]
    assert "finalizers" not in batch["metadata"]
    judged = _samples(metrics, "spade_batch_programs_total", "stage", "reason")
    assert judged["accepted", ""] == 5
    assert (judged["parse", "syntax"], judged["parse", "empty"]) == (1, 0)
    assert _samples(metrics, "spade_batch_condition", "condition")["Complete",] == 1


def _samples(metrics: str, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """A family's values by these labels, of the pool."""
    found = {}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == name and sample.labels["batch"] == "pool":
                found[tuple(sample.labels[label] for label in labels)] = sample.value
    return found


async def test_open_network_holds_the_pool_back_and_nothing_is_judged(stage: Stage) -> None:
    stage.cluster.world.network_open = True
    await stage.create_pool()
    async with stage.operator():
        await stage.until(
            "the finding", lambda batch: condition(batch, "Isolated")[1] == "NetworkOpen", name="pool", kind=Kind.BATCH
        )
    assert not (await stage.kube.list(Kind.JOB, stage.namespace)).items
    assert stage.cluster.world.verified == []


async def test_suspended_pool_has_no_pod_and_goes_on_when_resumed(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_pool()
    async with stage.operator():
        await stage.until(
            "judging", lambda batch: condition(batch, "Verified")[1] == "Judging", name="pool", kind=Kind.BATCH
        )
        await stage.change("pool", "envbatch", suspend="Now")
        await stage.until(
            "suspended", lambda batch: condition(batch, "Suspended")[0] == "True", name="pool", kind=Kind.BATCH
        )
        assert await compute(stage) == []
        stage.cluster.world.hold_play = False
        await stage.change("pool", "envbatch", suspend="Never")
        batch = await stage.until("the end", ended, name="pool", kind=Kind.BATCH)
    assert condition(batch, "Complete")[0] == "True"


async def test_deleted_pool_frees_its_pods_and_a_namesake_starts_anew(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    first = await stage.create_pool()
    async with stage.operator():
        await stage.until(
            "a Job", lambda batch: condition(batch, "Verified")[1] == "Judging", name="pool", kind=Kind.BATCH
        )
        uid = first["metadata"]["uid"]
        await stage.kube.delete(Kind.BATCH, stage.namespace, "pool", uid=uid)
        await until_none(stage)
        stage.cluster.world.hold_play = False
        second = await stage.create_pool()
        assert second["metadata"]["uid"] != uid
        batch = await stage.until("the end", ended, name="pool", kind=Kind.BATCH)
    assert condition(batch, "Complete")[0] == "True"


async def test_operator_that_was_down_frees_the_pods_of_a_pool_deleted_meanwhile(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    first = await stage.create_pool()
    async with stage.operator():
        await stage.until(
            "a Job", lambda batch: condition(batch, "Verified")[1] == "Judging", name="pool", kind=Kind.BATCH
        )
    await stage.kube.delete(Kind.BATCH, stage.namespace, "pool", uid=first["metadata"]["uid"])
    assert await compute(stage)
    async with stage.operator():
        await until_none(stage)


async def test_lost_worker_is_replaced_and_a_killed_sandbox_is_proven_again(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_pool()
    async with stage.operator():
        await stage.until(
            "judging", lambda batch: condition(batch, "Verified")[1] == "Judging", name="pool", kind=Kind.BATCH
        )
        await stage.until("a worker", lambda batch: stage.cluster.of_role("worker"), name="pool", kind=Kind.BATCH)
        await stage.cluster.kill(stage.cluster.of_role("worker")[0])
        await stage.cluster.kill(stage.cluster.of_role("sandbox")[0])
        await stage.until(
            "the loss is counted",
            lambda batch: batch.get("status", {}).get("restarts", {}).get("sandbox", {}).get("total") == 1,
            name="pool",
            kind=Kind.BATCH,
        )
        stage.cluster.world.hold_play = False
        batch = await stage.until("the end", ended, name="pool", kind=Kind.BATCH)
    assert condition(batch, "Complete")[0] == "True", json.dumps(batch["status"])
    assert batch["status"]["restarts"]["worker"]["total"] == 1


async def test_batch_with_the_name_of_a_runs_cycle_is_told_of_and_left_alone(stage: Stage) -> None:
    await stage.create_pool("mini-c0000", suspend="Now")
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("it is told", lambda run: "mini-c0000" in condition(run, "Progressing")[2])
    batch = await stage.kube.get(Kind.BATCH, stage.namespace, "mini-c0000")
    assert batch["spec"]["source"]["programs"] == "file:///storage/programs"
