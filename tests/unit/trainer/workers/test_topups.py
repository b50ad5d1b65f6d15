"""A design worker tops a cycle up: only what is empty, with draws of its own, and nothing of it is a failure."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.builders import design as a_design
from tests.unit.trainer.builders import method, run_manifest, write_cycle, write_rollout
from tests.unit.trainer.byte_model import write_byte_model, write_weights
from tests.unit.trainer.fakes import scripted

from spade_contracts.config import MethodConfig
from spade_contracts.config.method import Profile
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.statuses import DesignSummary
from spade_contracts.tasks import DesignTask, RunRef
from spade_contracts.verdicts import Reason, Stage, accepted, rejected
from spade_sandbox.verify import Judgement
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.chat import load_chat
from spade_trainer.design.designer import Studio, design_slot
from spade_trainer.play.engine_client import EnginePool
from spade_trainer.store import layout, manifests
from spade_trainer.store.canaries import write_sightings
from spade_trainer.store.designs import Design, write_designs
from spade_trainer.store.objects import Store, open_store
from spade_trainer.store.policies import finish
from spade_trainer.workers.design import design
from spade_trainer.workers.figures import new_figures
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.studio import studio_of
from spade_trainer.workers.surroundings import Surroundings

GOOD = Sighting(Canary("chemist", Stage.ACCEPTED, source=""), "class AEnv: ...", accepted())
LET_THROUGH = Sighting(Canary("cheat", Stage.CONTROLS, source=""), "class AEnv: ...", accepted())
SKILLS = ("Optimization", "Causal Inference")


def task(store: Store, rollout: int | None, attempt: int = 0, workers: int = 1) -> DesignTask:
    run = RunRef(namespace="default", name="mini", uid="u", storage_uri=store.uri)
    return DesignTask(
        run=run, cycle=0, rollout=rollout, policy_version=rollout or 0, attempt=attempt, workers=workers,
        engine_host="none.invalid", sandbox_host="",
    )  # fmt: skip


async def told(store: Store, attempt: int = 0, index: int = 0, workers: int = 1) -> DesignSummary:
    """What a worker says of the top-up for rollout 1; engines are not there, so nothing can be designed."""
    around = Surroundings(index=index)
    summary = await design(task(store, 1, attempt, workers), around, Progress("boot"), new_figures())
    return summary.model_copy(update={"seconds": 0.0})


def short(folder: Path, slots: tuple[int, ...] = (0, 2), setting: str = "Fail") -> Store:
    """A run whose first cycle has environments in these of four slots, and was played once."""
    store = open_store(folder.as_uri())
    config = method(Profile.PAPER, environments={"designer": {"all_rejected": setting}})
    manifests.write(store, manifests.run_path(), run_manifest(config))
    write_cycle(store, 0, [a_design(0, slot, "A", f"class G{slot}Env: ...\n") for slot in slots])
    write_rollout(store, 0, 0, {layout.environment_id(0, slot): (1.0, 0.0) for slot in slots})
    return store


def tried(slot: int, *, good: bool) -> Design:
    one = replace(a_design(0, slot, "A", f"class L{slot}Env: ...\n", version=1), attempt=5, hint=None)
    return one if good else replace(one, stage="parse", reason="syntax", program="")


def parts(store: Store, good: dict[int, bool], attempt: int = 0, sighting: Sighting = GOOD) -> None:
    """What an attempt of the Job left of the top-up."""
    for slot, is_good in good.items():
        write_designs(store, 0, slot, attempt, [tried(slot, good=is_good)], rollout=1)
    write_sightings(store, layout.design_folder(0, 1), attempt, [sighting])


async def test_a_top_up_is_composed_of_the_empty_slots_in_a_folder_of_its_own(tmp_path: Path) -> None:
    store = short(tmp_path)
    parts(store, {1: True, 3: False})
    summary = await told(store)
    assert (summary.requested, summary.attempts, summary.accepted) == (2, 2, 1)
    assert summary.storage_uri.endswith("cycles/0000/topup-0001")
    manifest = manifests.read(store, manifests.batch_path(0, 1), type(manifests.read_batch(store, 0)))
    assert (manifest.rollout, manifest.policy_version, [e.id for e in manifest.environments]) == (1, 1, ["c0000-s001"])
    assert manifest.environments[0].hint is None
    assert manifest.designs == ("topup-0001/designs-s001-a00.parquet", "topup-0001/designs-s003-a00.parquet")
    assert await told(store, attempt=7) == summary
    assert manifests.read_batch(store, 0).rollout is None


@pytest.mark.parametrize("setting", ["Fail", "Pause", "KeepLast"])
async def test_a_top_up_in_vain_is_finished_whatever_becomes_of_a_cycle_in_vain(tmp_path: Path, setting: str) -> None:
    store = short(tmp_path, setting=setting)
    parts(store, {1: False, 3: False})
    summary = await told(store)
    assert (summary.accepted, summary.kept, summary.retry_designs_anew) == (0, 0, False)
    assert (tmp_path / manifests.batch_path(0, 1)).exists()


async def test_where_nothing_is_missing_nobody_is_asked(tmp_path: Path) -> None:
    summary = await told(short(tmp_path, (0, 1, 2, 3)))
    assert (summary.requested, summary.attempts, summary.accepted) == (0, 0, 0)


async def test_a_top_up_under_a_gate_that_lets_a_bad_program_through_is_not_finished(tmp_path: Path) -> None:
    store = short(tmp_path)
    parts(store, {1: True, 3: True}, sighting=LET_THROUGH)
    assert (await told(store)).let_through == ("cheat",)
    assert not (tmp_path / manifests.batch_path(0, 1)).exists()
    parts(store, {1: False, 3: True}, attempt=1)
    assert (await told(store, attempt=1)).accepted == 1


async def test_workers_share_the_empty_slots(tmp_path: Path) -> None:
    store = short(tmp_path)
    parts(store, {1: True, 3: False})
    assert (await told(store, index=1, workers=2)).requested == 1


async def judge(answer: str, names: tuple[str, ...]) -> Judgement:
    return Judgement(accepted(), answer)


async def judge_program(content: bytes) -> Judgement:
    return Judgement(accepted(), content.decode())


async def test_draws_of_a_top_up_follow_all_that_its_slots_may_have_had(tmp_path: Path) -> None:
    store = open_store((tmp_path / "run").as_uri())
    config = method(Profile.PAPER, environments={"cycle_length": 4, "corpus": {"uri": ""}})
    write_cycle(store, 0, [a_design(0, 0, "A")])
    for rollout in range(3):
        write_rollout(store, rollout, 0, {"c0000-s000": (1.0, 0.0)})
        write_weights(write_byte_model(tmp_path / f"run/policies/{rollout:04d}"))
        finish(store, rollout)
    seen = [await studio(store, config, rollout) for rollout in (None, 1, 2)]
    tries = config.environments.designer.attempts
    assert [one.first_attempt for one in seen] == [0, tries, 2 * tries]
    assert [len(one.memory) for one in seen] == [0, 1, 1], "the cycle's first rollout is in memory by then"


async def studio(store: Store, config: MethodConfig, rollout: int | None) -> Studio:
    async with (
        EnginePool("none.invalid", "") as engines,
        studio_of(
            task(store, rollout), Surroundings(), store, method=config, engines=engines,
            gate=lambda turns: (judge, judge_program), figures=new_figures(), topped_up=(1, 3) if rollout else (),
        ) as made,
    ):  # fmt: skip
        return made


async def test_programs_of_a_top_up_are_counted_anew_and_get_no_hint(tmp_path: Path) -> None:
    chat = load_chat(write_byte_model(tmp_path / "model"))
    requests: list[GenerateRequest] = []
    words: list[Any] = [rejected(Stage.PARSE, Reason.SYNTAX, "line 1"), accepted(), accepted()]

    async def in_turn(answer: str, names: tuple[str, ...]) -> Judgement:
        return Judgement(words.pop(0), answer)

    made = Studio(
        method=method(Profile.PAPER, environments={"skills": SKILLS}), cycle=0, policy_version=1, chat=chat,
        generate=scripted(chat, lambda prompt, request: f"class G{request.seed}Env: pass", requests), judge=in_turn,
        documents=(), memory=(), show=lambda entry: pytest.fail("no memory"), first_attempt=5, topped_up=(1, 3),
    )  # fmt: skip
    first, second = await design_slot(made, 1), await design_slot(made, 3)
    assert [(d.slot, d.attempt, d.skill) for d in (*first, *second)] == [
        (1, 5, SKILLS[0]), (1, 6, SKILLS[0]), (3, 5, SKILLS[1]),
    ]  # fmt: skip
    assert {d.hint for d in (*first, *second)} == {None}
    assert len({request.seed for request in requests}) == len(requests) == 3
