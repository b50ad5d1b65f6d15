"""Finished objects with a time to live are gone when it is over; their storage is not."""

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_run_life import complete

from spade_operator.records import Kind


async def test_finished_run_and_batch_are_deleted_with_their_children_and_claims_stay(stage: Stage) -> None:
    await stage.create_run(rollouts=1)
    await stage.create_pool()
    await stage.create_run("patient", rollouts=1, ttlSecondsAfterFinished=86400)
    async with stage.operator():
        await stage.until("completion", complete, 60)
        await stage.until("completion", complete, 60, name="patient")
        await stage.until(
            "verdicts", lambda batch: condition(batch, "Complete")[0] == "True", 60, name="pool", kind=Kind.BATCH
        )
        await stage.change(ttlSecondsAfterFinished=0)
        await stage.change("pool", "envbatch", ttlSecondsAfterFinished=0)
        await stage.until("it is gone", lambda run: not run)
        await stage.until("it is gone", lambda batch: not batch, name="pool", kind=Kind.BATCH)
        assert complete(await stage.run("patient"))
        await stage.until_none(Kind.POD, Kind.JOB, Kind.DEPLOYMENT)
    assert {claim["metadata"]["name"] for claim in await stage.items(Kind.CLAIM)} == {"mini-storage", "patient-storage"}
