"""The batch of a step is a pure function of run storage: who is in it, with which credit, in which order."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.unit.trainer.builders import (
    design,
    method,
    run_manifest,
    write_cycle,
    write_rollout,
    write_step,
)

from spade_contracts.config import MethodConfig
from spade_contracts.config.method import Profile
from spade_contracts.errors import ManifestMissing
from spade_contracts.statuses import StepFigures
from spade_trainer.assembly import Batch, SampleRole, assemble, samples_digest
from spade_trainer.learner.figures import Figures, new_figures
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import Store, open_store

SKILLS = "ABAB"
MIXED = (1.0, 0.0, 0.0, 0.0)


def ids(cycle: int) -> list[str]:
    return [environment_id(cycle, slot) for slot in range(4)]


def small_run(folder: Path, cycles: int = 2) -> Store:
    """Cycles of two rollouts with four environments each; environment i is won i times of four."""
    store = open_store(folder.as_uri())
    for cycle in range(cycles):
        write_cycle(store, cycle, [design(cycle, slot, SKILLS[slot], version=2 * cycle) for slot in range(4)])
        for rollout in (2 * cycle, 2 * cycle + 1):
            unhinted = {name: [1.0] * slot + [0.0] * (4 - slot) for slot, name in enumerate(ids(cycle))}
            hinted = {name: [1.0, 1.0, 0.0, 0.0] for name in ids(cycle)} if rollout % 2 == 0 else None
            write_rollout(store, rollout, cycle, unhinted, hinted)
    return store


def digests(store: Store, settings: MethodConfig) -> list[str]:
    return [assemble(store, run_manifest(settings), rollout).samples_sha256 for rollout in range(4)]


def stepped(figures: Figures, batch: Batch) -> None:
    """Have the learner's metrics show a step on this batch."""
    step = StepFigures(
        rollout=batch.rollout,
        loss=0.0,
        gradient_norm=0.0,
        kl=0.0,
        importance_mean=1.0,
        importance_clipped_fraction=0.0,
        player_samples=batch.player_samples,
        designer_samples=batch.designer_samples,
        tokens=batch.tokens,
        seconds=1.0,
    )
    figures.stepped(step, batch.designer_reward_mean, batch.counts)


def test_the_first_rollouts_train_the_players_plays_only(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    for rollout in (0, 1):
        batch = assemble(store, run_manifest(method()), rollout)
        assert (batch.designer_samples, batch.player_samples, batch.designer_cycles) == (0, 16, ())
        assert batch.denominator == 16


def test_designer_samples_are_trained_at_the_start_of_the_next_cycle_before_the_plays(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    batch = assemble(store, run_manifest(method()), 2)
    assert batch.designer_cycles == (0,)
    assert [s.role for s in batch.samples[:4]] == [SampleRole.DESIGNER] * 4
    assert [s.id for s in batch.samples[:5]] == [f"{name}/design" for name in ids(0)] + ["c0001-s000/r0002-p000"]
    assert batch.denominator == 20
    assert assemble(store, run_manifest(method()), 3).designer_samples == 0


def test_designer_credit_is_centred_by_skill_and_scaled_by_what_trains_with_it(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    batch = assemble(store, run_manifest(method()), 2)
    # win rates 0, .25, .5, .75; hinted mean .5, so regrets .5, .25, 0, -.25
    blends = [0.4, 0.6 * 0.4 + 0.4, 0.6, 0.6 * 0.4]
    scale = 16 / 4 * 2
    expected = [
        (blends[0] - blends[2]) / 2 * scale,
        (blends[1] - blends[3]) / 2 * scale,
        (blends[2] - blends[0]) / 2 * scale,
        (blends[3] - blends[1]) / 2 * scale,
    ]
    assert [s.advantage for s in batch.samples[:4]] == pytest.approx(expected)
    assert batch.designer_reward_mean == pytest.approx(sum(blends) / 4)
    assert {s.policy_version for s in batch.samples[:4]} == {0}


def test_a_lone_environment_of_a_skill_gets_no_credit_and_is_counted(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [design(0, slot, "AAB"[slot]) for slot in range(3)])
    for rollout in (0, 1):
        write_rollout(store, rollout, 0, {name: [1.0] * slot + [0.0] * 2 for slot, name in enumerate(ids(0)[:3])})
    batch = assemble(store, run_manifest(method(environments={"per_cycle": 3})), 1, last_rollout=True)
    credit = [sample.advantage for sample in batch.samples if sample.role is SampleRole.DESIGNER]
    assert [value != 0 for value in credit] == [True, True, False]
    assert batch.counts["alone"] == 1
    figures = new_figures()
    assert figures.registry.get_sample_value("spade_step_samples", {"kind": "alone"}) == 0
    stepped(figures, batch)
    assert figures.registry.get_sample_value("spade_step_samples", {"kind": "alone"}) == 1
    whole = method(environments={"per_cycle": 3}, rewards={"centring": "Batch"})
    assert assemble(store, run_manifest(whole), 1, last_rollout=True).counts["alone"] == 0


def test_a_rollout_of_which_no_play_is_left_trains_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [])
    write_rollout(store, 0, 0, {})
    batch = assemble(store, run_manifest(method()), 0)
    assert batch.samples == ()
    assert set(batch.counts.values()) == {0}
    figures = new_figures()
    stepped(figures, assemble(small_run(tmp_path / "before"), run_manifest(method()), 0))
    assert figures.registry.get_sample_value("spade_step_samples", {"kind": "player"}) == 16
    stepped(figures, batch)
    for kind in batch.counts:
        assert figures.registry.get_sample_value("spade_step_samples", {"kind": kind}) == 0, kind


def test_player_credit_is_a_z_score_within_each_environment(tmp_path: Path) -> None:
    batch = assemble(small_run(tmp_path), run_manifest(method()), 0)
    by_group = {name: [s.advantage for s in batch.samples if s.group == name] for name in ids(0)}
    assert by_group[ids(0)[0]] == [0.0] * 4
    assert by_group[ids(0)[2]] == pytest.approx([1, 1, -1, -1])


@pytest.mark.switch("leftoverDesignerSamples")
def test_the_last_rollout_trains_the_samples_that_would_be_left_over(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    assert assemble(store, run_manifest(method()), 3, last_rollout=True).designer_cycles == (1,)
    assert assemble(store, run_manifest(method()), 2, last_rollout=True).designer_cycles == (0, 1)


@pytest.mark.switch("leftoverDesignerSamples")
def test_paper_drops_left_over_samples(tmp_path: Path) -> None:
    batch = assemble(small_run(tmp_path), run_manifest(method(Profile.PAPER)), 3, last_rollout=True)
    assert batch.designer_cycles == ()


def test_a_run_that_grows_after_its_last_rollout_trains_no_sample_twice(tmp_path: Path) -> None:
    store = small_run(tmp_path, cycles=3)
    write_step(store, 2, (0,))
    write_step(store, 3, (1,))
    assert assemble(store, run_manifest(method()), 4).designer_cycles == ()


def test_replay_trains_what_the_recorded_step_trained(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    first = assemble(store, run_manifest(method()), 3, last_rollout=True)
    write_step(store, 3, first.designer_cycles)
    assert assemble(store, run_manifest(method()), 3).samples_sha256 == first.samples_sha256


def test_masked_plays_are_no_samples_and_their_environment_pays(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [design(0, slot, "A") for slot in range(4)])
    names = ids(0)
    write_rollout(store, 0, 0, dict.fromkeys(names[:3], MIXED) | {names[3]: (1.0, None, 0.0, 0.0)})
    write_rollout(store, 1, 0, dict.fromkeys(names, MIXED))
    write_cycle(store, 1, [design(1, 0, "A")])
    write_rollout(store, 2, 1, {ids(1)[0]: MIXED})
    batch = assemble(store, run_manifest(method()), 0)
    assert [s.id for s in batch.samples if s.group == names[3]] == [f"{names[3]}/r0000-p{p:03d}" for p in (0, 2, 3)]
    later = assemble(store, run_manifest(method()), 2)
    credit = {s.group: s.advantage for s in later.samples if s.role is SampleRole.DESIGNER}
    assert credit[names[3]] < 0 < credit[names[0]]
    assert credit[names[0]] == credit[names[1]] == credit[names[2]]


def test_environments_whose_plays_were_all_lost_leave_their_designer_out(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [design(0, slot, "A") for slot in range(2)])
    for rollout in (0, 1):
        write_rollout(store, rollout, 0, {ids(0)[0]: MIXED, ids(0)[1]: ()})
    write_cycle(store, 1, [])
    write_rollout(store, 2, 1, {})
    batch = assemble(store, run_manifest(method()), 2)
    assert [(s.id, s.advantage) for s in batch.samples] == [("c0000-s000/design", 0.0)]


@pytest.mark.switch("logProbTemperature")
def test_the_learner_uses_the_sampling_temperature_or_one_by_the_switch(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    corrected = assemble(store, run_manifest(method()), 2)
    assert {s.temperature for s in corrected.samples} == {0.6}
    paper = assemble(store, run_manifest(method(Profile.PAPER)), 2)
    assert {s.temperature for s in paper.samples} == {1.0}
    for profile, expected in ((Profile.PAPER, 0.7), (Profile.CORRECTED, 0.6)):
        warm = assemble(store, run_manifest(method(profile, learner={"loss": {"temperature": 0.7}})), 2)
        assert {s.temperature for s in warm.samples} == {expected}


@pytest.mark.switch("batchDenominator")
def test_the_fixed_denominator_averages_over_real_samples_without_a_penalty(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [design(0, 0, "A")])
    write_rollout(store, 0, 0, {ids(0)[0]: MIXED})
    real = assemble(store, run_manifest(method()), 0)
    alone = {"short_batches": "RealSamples"}
    free = assemble(store, run_manifest(method(Profile.PAPER, switches=alone)), 0)
    penalty = {"loss": {"kl_coefficient": 0.005}}
    pulled = assemble(store, run_manifest(method(Profile.PAPER, learner=penalty, switches=alone)), 0)
    assert (real.denominator, free.denominator, pulled.denominator) == (4, 16, 16)
    assert [s.advantage / 16 for s in free.samples] == pytest.approx([s.advantage / 4 for s in real.samples])
    assert [s.advantage for s in pulled.samples] == [s.advantage for s in real.samples]


def test_the_same_storage_gives_the_same_digest_and_any_change_another(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    assert digests(store, method()) == digests(store, method())
    batch = assemble(store, run_manifest(method()), 2)
    sample = batch.samples[0]
    bumped = sample.log_probs.copy()
    bumped[-1] = np.nextafter(bumped[-1], np.float32(0))
    for change in (
        {"advantage": float(np.nextafter(sample.advantage, 99))},
        {"log_probs": bumped},
        {"token_ids": sample.token_ids[::-1]},
        {"loss_mask": ~sample.loss_mask},
        {"temperature": 0.7},
    ):
        changed = (dataclasses.replace(sample, **change), *batch.samples[1:])
        assert samples_digest(changed, batch.denominator) != batch.samples_sha256
    assert samples_digest(batch.samples[::-1], batch.denominator) != batch.samples_sha256
    assert samples_digest(batch.samples, batch.denominator + 1) != batch.samples_sha256


def test_a_batch_needs_finished_units(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    with pytest.raises(ManifestMissing):
        assemble(store, run_manifest(method()), 0)
