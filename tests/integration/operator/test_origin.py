"""A run that starts from another run's policy waits for it, and mounts that run's claim and no other."""

import json
from typing import Any

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_run_life import complete

from spade_operator.kube import Object
from spade_operator.records import Kind


async def preparation(stage: Stage, name: str) -> Object:
    jobs = {job["metadata"]["name"]: job for job in await stage.items(Kind.JOB)}
    return jobs[f"{name}-prepare"]["spec"]["template"]


def origin(template: Object) -> tuple[Any, str, list[str]]:
    task = json.loads(template["metadata"]["annotations"]["spade.dev/task"])["origin"]
    volumes = template["spec"]["volumes"]
    claims = sorted(v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v)
    return task["newest"], task["storage_uri"], claims


async def test_run_waits_for_another_ones_policy_and_starts_from_its_storage_when_it_is_gone(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run("second", model={"fromRun": {"name": "first"}}, rollouts=1)
    async with stage.operator():
        await stage.until("nothing there", lambda run: condition(run, "Accepted")[1] == "PolicyNotFound", name="second")
        await stage.create_run("first", rollouts=1)
        await stage.until("it is prepared", lambda run: condition(run, "Accepted")[0] == "True", name="second")
        where = f"file:///origin/{stage.namespace}/first"
        assert origin(await preparation(stage, "second")) == (0, where, ["first-storage", "second-storage"])

        stage.cluster.world.hold_play = False
        await stage.until("completion", complete, 60, name="first")
        deleted = stage.server.kubectl("delete", "spaderun", "first", "-n", stage.namespace)
        assert deleted.returncode == 0, deleted.stderr
        await stage.create_run("third", model={"fromRun": {"name": "first"}}, rollouts=1)
        await stage.until("it is prepared", lambda run: condition(run, "Accepted")[0] == "True", name="third")
        assert origin(await preparation(stage, "third")) == (None, where, ["first-storage", "third-storage"])
