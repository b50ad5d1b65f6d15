"""A learner of several nodes is one group: its pods meet at the first, and a lost one costs all of them one attempt."""

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.pretend_answers import Pod
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete

from spade_operator.records import Kind

INDEX = "batch.kubernetes.io/job-completion-index"


def by_index(stage: Stage) -> dict[str, Pod]:
    return {pod.raw["metadata"]["labels"][INDEX]: pod for pod in stage.cluster.of_role("learner")}


async def test_group_of_two_nodes_that_loses_one_is_replaced_as_a_whole_and_completes(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(rollouts=2, learner={"nodes": 2})
    async with stage.operator():
        await stage.until("playing", playing)
        old = by_index(stage)
        assert set(old) == {"0", "1"}
        (job,) = [job for job in await stage.items(Kind.JOB) if "learner" in job["metadata"]["name"]]
        spec = job["spec"]
        assert (spec["completionMode"], spec["completions"], spec["backoffLimit"]) == ("Indexed", 2, 0)
        pod = spec["template"]["spec"]
        meeting = {item["name"]: item["value"] for item in pod["containers"][0]["env"]}["MASTER_ADDR"]
        assert meeting == f"{job['metadata']['name']}-0.{pod['subdomain']}"
        service = await stage.kube.get(Kind.SERVICE, stage.namespace, pod["subdomain"])
        assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)

        await stage.cluster.kill(old["1"], 137)
        run = await stage.until(
            "the next group is up",
            lambda run: run if run["status"].get("learnerAttempt") == 1 and len(by_index(stage)) == 2 else None,
        )
        assert not {pod.name for pod in old.values()} & {pod.name for pod in by_index(stage).values()}
        assert run["status"]["restarts"]["learner"] == {"sinceProgress": 1, "total": 1, "lastCause": "ExitCode"}
        told = [event["note"] for event in stage.events() if old["1"].name in event["note"]]
        assert told, "the pod that was lost is named"
        await stage.until("playing again", lambda run: condition(run, "LearnerReady")[0] == "True")
        stage.cluster.world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert run["status"]["restarts"]["learner"] == {"sinceProgress": 0, "total": 1}
    assert stage.cluster.world.trained == [1, 2]
