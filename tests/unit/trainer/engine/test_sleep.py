"""An engine that sleeps computes nothing and serves nothing, and what it serves afterwards was proven afterwards."""

import asyncio

import pytest
from tests.unit.trainer.engine.conftest import CONTROL_TOKEN, DATA_TOKEN, Front, post

from spade_contracts.statuses import EngineState
from spade_trainer.engine.engine import Engine


async def sleep(front: Front) -> tuple[int, dict[str, object]]:
    return await post(front.control, "/sleep", None, CONTROL_TOKEN)


async def wake(front: Front) -> tuple[int, dict[str, object]]:
    return await post(front.control, "/wake", None, CONTROL_TOKEN)


async def test_sleeping_engine_refuses_everything_until_it_is_woken_and_proven_anew(front: Front) -> None:
    assert await sleep(front) == (200, {"boot_id": "boot-1", "asleep": True, "frees_memory": False})
    assert (await front.open.get("/ready")).status == 503
    assert front.engine.status().state is EngineState.ASLEEP
    score = post(front.control, "/score", {"token_ids": [1, 2]}, CONTROL_TOKEN)
    for status, body in (await front.generate(), await front.load(1), await front.admit(0), await score):
        assert (status, body["error"]) == (503, "asleep")
    assert await wake(front) == (200, {"boot_id": "boot-1", "asleep": False, "frees_memory": False})
    assert (await front.generate())[1]["error"] == "not_serving"
    await front.load(1)
    await front.admit(1)
    assert (await front.generate(policy_version=1))[0] == 200
    assert [call for call in front.vllm.calls if call in ("/sleep", "/wake_up")] == ["/sleep", "/wake_up"]


async def test_asking_twice_changes_nothing(front: Front) -> None:
    assert (await wake(front))[0] == 200
    assert (await front.generate())[0] == 200, "one that is awake keeps its proof"
    assert (await sleep(front), (await sleep(front))[0])[1] == 200
    assert front.vllm.calls.count("/sleep") == 1
    assert "/wake_up" not in front.vllm.calls


async def test_running_requests_end_before_it_sleeps(front: Front) -> None:
    front.vllm.release.clear()
    playing = asyncio.create_task(front.generate())
    await front.vllm.waiting.wait()
    sleeping = asyncio.create_task(sleep(front))
    await front.updating.wait()
    front.vllm.release.set()
    assert (await playing)[0] == 200
    assert (await sleeping)[0] == 200
    assert front.vllm.calls.index("/sleep") > front.vllm.calls.index("/inference/v1/generate")


@pytest.mark.parametrize("broken", ["/sleep", "/wake_up"])
async def test_engine_that_cannot_move_its_weights_serves_nothing_and_says_so(front: Front, broken: str) -> None:
    front.vllm.broken.add(broken)
    answers = [await sleep(front), await wake(front)]
    assert "failed" in {body.get("error") for _, body in answers}
    assert front.engine.status().state is EngineState.FAILED
    assert (await front.generate())[1]["error"] == "failed"


async def test_engine_that_wakes_only_in_part_is_not_awake(front: Front) -> None:
    front.vllm.wakes = False
    await sleep(front)
    assert (await wake(front))[1]["error"] == "failed"


async def test_engine_that_starts_has_nothing_to_give(starting: Front) -> None:
    assert (await sleep(starting))[1]["error"] == "not_serving"


async def test_only_the_learner_of_the_same_devices_sends_it_to_sleep(front: Front) -> None:
    assert (await post(front.control, "/sleep", None, DATA_TOKEN))[0] == 401
    parts = front.engine
    alone = Engine(
        boot_id="b", session=parts._session, store=front.store, limits=parts.limits, deadlines=parts._deadlines
    )
    with pytest.raises(Exception, match="has its devices for itself"):
        await alone.sleep()
