"""A run with `storage.onDelete: Delete` is gone only after its folder, and no namespace hangs on it."""

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_disturbances import playing

from spade_operator.kube import Object
from spade_operator.records import Kind

FINALIZER = "spade.dev/storage"


def held(run: Object) -> bool:
    return FINALIZER in run.get("metadata", {}).get("finalizers", [])


async def test_folder_of_a_deleted_run_is_deleted_and_a_failure_keeps_the_run_and_is_told(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(storage={"onDelete": "Delete"})
    async with stage.operator():
        await stage.until("it is held", lambda run: held(run) and playing(run))
        world.fail_cleanup = True
        assert stage.server.kubectl("delete", "spaderun", "mini", "-n", stage.namespace, "--wait=false").returncode == 0
        run = await stage.until("told", lambda run: run if condition(run, "StorageDeleted")[1] == "JobFailed" else None)
        assert "mini-cleanup" in condition(run, "StorageDeleted")[2]
        assert held(run)
        assert {pod.raw["metadata"]["name"].rpartition("-")[0] for pod in world.pods.values()} == {"mini-cleanup-0"}

        world.fail_cleanup = False
        again = stage.server.kubectl("delete", "job", "mini-cleanup", "-n", stage.namespace)
        assert again.returncode == 0, again.stderr
        await stage.until("it is gone", lambda run: not run)
        assert world.cleaned == [f"file:///storage/{stage.namespace}/mini"]
        assert len(await stage.items(Kind.CLAIM)) == 1, "the claim stays"


async def test_change_of_mind_lets_a_deleted_run_go_and_keeps_its_folder(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    await stage.create_run(storage={"onDelete": "Delete"})
    async with stage.operator():
        await stage.until("it is held", held)
        await stage.change(storage={"onDelete": "Retain"})
        await stage.until("it is not held", lambda run: run and not held(run))
        assert stage.server.kubectl("delete", "spaderun", "mini", "-n", stage.namespace).returncode == 0
        await stage.until("it is gone", lambda run: not run)
    assert stage.cluster.world.cleaned == []
