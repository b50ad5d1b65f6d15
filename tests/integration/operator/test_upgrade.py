"""Another version of the operator, or of the CRDs, in mid-run: work goes on as it was, or waits and says why."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete
from tests.support.api_server import ApiServer

from spade_operator.kube import Object
from spade_operator.records import Kind

ROOT = Path(__file__).parents[3]
OLD_IMAGE, NEW_IMAGE = "spade/{}:test", "spade/{}:next"
OF_OTHERS = "SpadeRun, SPADE 9.9.9, edition 0123456789ab"


async def of_pods(stage: Stage) -> dict[str, str]:
    """Pod UID → image."""
    return {pod["metadata"]["uid"]: pod["spec"]["containers"][0]["image"] for pod in await stage.items(Kind.POD)}


async def templates(stage: Stage) -> dict[str, Object]:
    return {item["metadata"]["name"]: item["spec"]["template"] for item in await stage.items(Kind.DEPLOYMENT)}


def next_version(stage: Stage) -> None:
    """From now on operators have other images, and build other pods."""
    site = json.loads(stage.site_file.read_text())
    site["images"] = {name: NEW_IMAGE.format(name) for name in site["images"]}
    site["runPods"] = {"labels": {"team": "next"}}
    site["resources"]["engine"]["requests"]["cpu"] = "450m"
    stage.site_file.write_text(json.dumps(site))


async def test_next_operator_replaces_no_pod_of_a_run_and_repeats_no_work_until_it_is_resumed(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=4)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        before, made = await of_pods(stage), await templates(stage)
    next_version(stage)
    async with stage.operator():
        await stage.change(engine={"replicas": 2})
        await stage.until("another engine", lambda run: len(stage.cluster.of_role("engine")) == 2)
        after = await of_pods(stage)
        assert before.items() <= after.items(), "a pod at work was replaced"
        assert await templates(stage) == made
        assert {image for uid, image in after.items() if uid not in before} == {OLD_IMAGE.format("trainer")}

        world.hold_play = False
        await stage.until("rollout 2", lambda run: run["status"]["rollout"] == 2)
        assert set((await of_pods(stage)).values()) <= {OLD_IMAGE.format(n) for n in ("sandbox", "worker", "trainer")}
        world.hold_play = True
        run = await stage.until("plays", lambda run: run if playing(run) and stage.cluster.of_role("worker") else None)
        assert run["status"]["images"]["trainer"] == OLD_IMAGE.format("trainer")

        await stage.change(suspend="Now")
        await stage.until("suspended", lambda run: condition(run, "Suspended")[0] == "True")
        await stage.change(suspend="Never")
        await stage.until("plays again", lambda run: playing(run) and stage.cluster.of_role("worker"))
        assert set((await of_pods(stage)).values()) == {NEW_IMAGE.format(n) for n in ("sandbox", "worker", "trainer")}
        world.hold_play = False
        run = await stage.until("completion", lambda run: run if complete(run) else None, 60)
    assert (world.designed, world.played, world.trained) == ([0, 1], [0, 1, 2, 3], [1, 2, 3, 4])
    assert run["status"]["restarts"] == {}, "an upgrade is no restart"


@pytest.fixture
def foreign_definition(api_server: ApiServer) -> Iterator[str]:
    """SpadeRun's definition as another version of the product has it; ours is back afterwards."""
    ours = (ROOT / "crds/spaderuns.yaml").read_text()
    theirs = yaml.safe_load(ours)
    schema = theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["title"] = OF_OTHERS
    schema["properties"]["status"]["properties"]["ofTheNextVersion"] = {"type": "string", "maxLength": 9}
    yield json.dumps(theirs)
    applied = api_server.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=ours)
    assert applied.returncode == 0, applied.stderr


async def test_run_under_definitions_of_another_version_is_left_alone_says_why_and_goes_on(
    stage: Stage, foreign_definition: str
) -> None:
    """With the rights of a namespaced operator, which may not read CustomResourceDefinitions."""
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
        applied = stage.server.kubectl(
            "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=foreign_definition
        )
        assert applied.returncode == 0, applied.stderr
        await stage.until("it says so", lambda run: condition(run, "Progressing")[1] == "EditionDiffers")
        marked = stage.server.kubectl(
            "patch", "spaderun", "mini", "-n", stage.namespace, "--subresource=status", "--type=merge",
            "-p", '{"status": {"ofTheNextVersion": "kept"}}',
        )  # fmt: skip
        assert marked.returncode == 0, marked.stderr
        await stage.create_run("second")
        run = await stage.until("told", lambda run: run if condition(run, "Progressing")[0] else None, name="second")
        assert "SpadeRun is of SPADE 9.9.9" in condition(run, "Progressing")[2]
        before = await of_pods(stage)
        world.hold_play = False
        await stage.until("the plays end", lambda run: world.played)
        await stage.change(engine={"replicas": 2})
        run = await stage.run()
        assert run["status"]["ofTheNextVersion"] == "kept", "fields of another version are not written over"
        assert run["status"]["rollout"] == 0
        assert set(await of_pods(stage)) == set(before), "nothing is made or deleted"
        assert not [job for job in await stage.items(Kind.JOB) if "second" in job["metadata"]["name"]]
        assert any(event["reason"] == "EditionDiffers" for event in stage.events())

        ours = stage.server.kubectl(
            "apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds/spaderuns.yaml")
        )
        assert ours.returncode == 0, ours.stderr
        await stage.until("completion", complete, 60)
    assert (world.designed[:1], world.played[:1]) == ([0], [0])
