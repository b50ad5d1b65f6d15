"""A design worker says of a cycle without an accepted program what becomes of it, and says it again when asked."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.trainer.builders import design as a_design
from tests.unit.trainer.builders import method, run_manifest, write_cycle, write_rollout

from spade_contracts.statuses import DesignSummary
from spade_contracts.tasks import DesignTask, RunRef
from spade_contracts.verdicts import Stage, accepted
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.store import layout, manifests
from spade_trainer.store.canaries import write_sightings
from spade_trainer.store.designs import Usage, write_designs
from spade_trainer.store.objects import Store, open_store
from spade_trainer.workers.design import design
from spade_trainer.workers.figures import new_figures
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.surroundings import Surroundings

USAGE = Usage(requests=2, prompt_tokens=70, completion_tokens=30, cost=0.125)
"""What each try asked of an endpoint."""
SOUND = Sighting(Canary("chemist", Stage.ACCEPTED, source=""), "class AEnv: ...", accepted())


def in_storage(folder: Path, setting: str, cycle: int) -> Store:
    """A run in which all that was written for a cycle was rejected, and which has a good cycle before, if it is not the
    first.
    """
    store = open_store(folder.as_uri())
    config = method(environments={"per_cycle": 2, "designer": {"all_rejected": setting}})
    manifests.write(store, manifests.run_path(), run_manifest(config))
    if cycle:
        write_cycle(store, 0, [a_design(0, slot, "A", f"class G{slot}Env: ...") for slot in range(2)])
        for rollout in range(2):
            write_rollout(store, rollout, 0, {"c0000-s000": (1.0, 0.0), "c0000-s001": (1.0, 0.0)})
    for slot in range(2):
        rejected = replace(a_design(cycle, slot, "A"), stage="parse", reason="syntax", hint=None, program="")
        one = replace(rejected, usage=USAGE)
        write_designs(store, cycle, slot, 3, [one, replace(one, attempt=1)])
    write_sightings(store, layout.cycle_folder(cycle), 3, [SOUND])
    return store


async def told(store: Store, cycle: int, attempt: int = 3, index: int = 0) -> DesignSummary:
    """What a worker says, the second of two with index 1; nothing can be designed, because engines are not there."""
    run = RunRef(namespace="default", name="mini", uid="u", storage_uri=store.uri)
    task = DesignTask(
        run=run, cycle=cycle, policy_version=0, attempt=attempt, workers=1 + index, engine_host="", sandbox_host=""
    )
    summary = await design(task, Surroundings(index=index), Progress("boot"), new_figures())
    return summary.model_copy(update={"seconds": 0.0})


@pytest.mark.parametrize("setting", ["Fail", "KeepLast"])
async def test_first_cycle_in_vain_is_finished_without_environments(tmp_path: Path, setting: str) -> None:
    store = in_storage(tmp_path, setting, 0)
    summary = await told(store, 0)
    assert (summary.accepted, summary.kept, summary.retry_designs_anew) == (0, 0, False)
    assert (summary.attempts, summary.rejected) == (4, {"parse/syntax": 4})
    assert (summary.endpoint_requests, summary.endpoint_cost) == (8, 0.5)
    assert manifests.read_batch(store, 0).environments == ()
    assert await told(store, 0, attempt=10) == summary


async def test_cycle_in_vain_may_keep_the_environments_of_the_last_good_one(tmp_path: Path) -> None:
    store = in_storage(tmp_path, "KeepLast", 1)
    summary = await told(store, 1)
    assert (summary.accepted, summary.kept, summary.kept_from) == (0, 2, 0)
    assert await told(store, 1) == summary


async def test_cycle_in_vain_may_wait_for_a_retry(tmp_path: Path) -> None:
    store = in_storage(tmp_path, "Pause", 1)
    summary = await told(store, 1)
    assert (summary.accepted, summary.attempts, summary.retry_designs_anew) == (0, 4, True)
    assert not (tmp_path / manifests.batch_path(1)).exists()
    assert (tmp_path / "cycles/0001/rejected-a03.json").exists()
    assert await told(store, 1) == summary, "the same attempt draws nothing anew"


async def test_worker_that_is_not_the_first_says_what_its_own_slots_asked_of_endpoints(tmp_path: Path) -> None:
    store = in_storage(tmp_path, "Fail", 0)
    summary = await told(store, 0, index=1)
    assert (summary.requested, summary.attempts) == (1, 2)
    assert (summary.endpoint_requests, summary.endpoint_cost) == (4, 0.25)
