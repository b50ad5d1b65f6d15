"""Trims, repeats, delays and settings of credit shape the batch that storage gives (method.md §1.2, §5.2, §5.5)."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.trainer.builders import design, method, run_manifest, write_cycle, write_rollout, write_step
from tests.unit.trainer.test_assembly import MIXED, ids, small_run

from spade_contracts.config import MethodConfig
from spade_contracts.config.method import Profile
from spade_trainer.assembly import Batch, SampleRole, assemble
from spade_trainer.due import paid_designs
from spade_trainer.store import manifests
from spade_trainer.store.objects import Store, open_store

PAPER = Profile.PAPER


def batch(store: Store, config: MethodConfig, rollout: int, *, last: bool = False) -> Batch:
    return assemble(store, run_manifest(config), rollout, last_rollout=last)


def paper(**switches: str) -> MethodConfig:
    return method(PAPER, switches=switches)


def players(made: Batch) -> list[str]:
    return [sample.id for sample in made.samples if sample.role is SampleRole.PLAYER]


@pytest.mark.switch("surplusSamples")
def test_the_tail_is_cut_where_designer_samples_are_trained(tmp_path: Path) -> None:
    made = batch(small_run(tmp_path), paper(), 2)
    assert (made.designer_samples, made.player_samples, made.trimmed) == (4, 12, 4)
    assert {sample.group for sample in made.samples if sample.role is SampleRole.PLAYER} == set(ids(1)[:3])
    kept = batch(small_run(tmp_path / "kept"), paper(surplus_samples="Kept"), 2)
    assert (kept.designer_samples, kept.player_samples, kept.trimmed) == (4, 16, 0)


def test_a_random_cut_is_the_same_every_time_and_keeps_all_designs(tmp_path: Path) -> None:
    store, config = small_run(tmp_path), paper(surplus_samples="Random")
    made = batch(store, config, 2)
    assert (made.designer_samples, made.player_samples) == (4, 12)
    assert made.samples_sha256 == batch(store, config, 2).samples_sha256
    assert players(made) == sorted(players(made))
    other = method(PAPER, seed=7, switches={"surplus_samples": "Random"})
    assert players(batch(store, other, 2)) != players(made)


def test_the_scale_counts_the_plays_before_the_cut(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    cut, whole = (batch(store, paper(surplus_samples=rule), 2) for rule in ("Tail", "Kept"))
    assert [s.advantage for s in cut.samples[:4]] == [s.advantage for s in whole.samples[:4]]


def lone(folder: Path, plays: tuple[float | None, ...] = MIXED) -> Store:
    """A cycle of one environment where four are wanted, and the next one."""
    store = open_store(folder.as_uri())
    write_cycle(store, 0, [design(0, 0, "A")])
    for rollout in (0, 1):
        write_rollout(store, rollout, 0, {ids(0)[0]: plays}, {ids(0)[0]: (1.0,)} if rollout == 0 else None)
    write_cycle(store, 1, [design(1, 0, "A")])
    write_rollout(store, 2, 1, {ids(1)[0]: plays})
    return store


@pytest.mark.switch("shortBatches")
def test_a_short_batch_repeats_its_plays_with_their_credit(tmp_path: Path) -> None:
    store = lone(tmp_path)
    filled = batch(store, paper(), 1)
    assert (filled.player_samples, filled.repeats, filled.padding) == (16, 12, 0)
    assert filled.samples[4].id == f"{filled.samples[0].id}+1"
    assert filled.samples[4].advantage == filled.samples[0].advantage
    assert len({sample.id for sample in filled.samples}) == 16
    real = batch(store, paper(short_batches="RealSamples"), 1)
    assert (real.player_samples, real.repeats) == (4, 0)


def test_places_for_the_designs_of_a_first_rollout_are_padded_and_the_rest_weighs_more(tmp_path: Path) -> None:
    made = batch(lone(tmp_path), paper(), 0)
    assert (made.player_samples, made.padding, made.denominator) == (15, 1, 16)
    assert made.samples[0].advantage == pytest.approx(3**0.5 * 16 / 15)


@pytest.mark.switch("repeatedReturns")
def test_a_repeated_play_counts_again_in_its_window_by_the_switch(tmp_path: Path) -> None:
    store = lone(tmp_path, (1.0, 0.0, 0.0, 0.0, 0.0))
    (again,) = paid_designs(store, paper(), 0, until=1)
    (once,) = paid_designs(store, paper(repeated_returns="Once"), 0, until=1)
    # 15 of 5 plays in the first rollout, 16 of 5 in the second: the first play is there once more than the others
    assert again.reward.signals.win_rate == pytest.approx((3 + 4) / 31)
    assert once.reward.signals.win_rate == pytest.approx(0.2)


@pytest.mark.switch("baselineMemory")
def test_a_moving_average_reaches_back_to_the_cycle_or_nowhere(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    ema: dict[str, Any] = {"player_normalisation": "EmaBaseline"}
    cycle = batch(store, method(rewards=ema), 1)
    rollout = batch(store, method(rewards=ema, switches={"baseline_memory": "Rollout"}), 1)
    third = ids(0)[2]
    assert [s.advantage for s in cycle.samples if s.group == third] == [0.5, 0.5, -0.5, -0.5]
    assert [s.advantage for s in rollout.samples if s.group == third] == [1, 1, 0, 0]


def test_a_designer_that_is_not_trained_leaves_all_plays_in(tmp_path: Path) -> None:
    made = batch(small_run(tmp_path), method(PAPER, rewards={"train_designer": False}), 2)
    assert (made.designer_samples, made.player_samples, made.designer_cycles) == (0, 16, ())


def test_negative_blends_are_no_samples_and_enter_no_mean(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    open_ended = {"regret_floor": False, "regret_weight": 4.0}
    masked = batch(store, method(rewards=open_ended), 2)
    trained = batch(store, method(rewards=open_ended | {"negative_blends": "Trained"}), 2)
    assert (masked.designer_samples, masked.masked_designers) == (3, 1)
    assert (trained.designer_samples, trained.masked_designers) == (4, 0)
    alone = next(s for s in masked.samples if s.id == f"{ids(0)[1]}/design")
    assert alone.advantage == 0.0


def test_without_a_delay_designs_are_paid_in_the_rollout_that_they_begin(tmp_path: Path) -> None:
    config = method(rewards={"variant": "Regret", "delay_cycles": 0}, switches={"regret_estimator": "FirstOffset"})
    store = small_run(tmp_path)
    assert [batch(store, config, r).designer_cycles for r in range(4)] == [(0,), (), (1,), ()]
    made = batch(store, config, 0)
    # hinted mean .5, win rates 0, .25, .5, .75: regrets .5, .25, 0, 0; scale 16 / 4 * 2
    assert [s.advantage for s in made.samples[:4]] == pytest.approx([2.0, 1.0, -2.0, -1.0])


def test_a_longer_delay_is_made_up_for_at_the_end(tmp_path: Path) -> None:
    config, store = method(rewards={"delay_cycles": 2}), small_run(tmp_path, cycles=3)
    assert [batch(store, config, r).designer_cycles for r in range(5)] == [(), (), (), (), (0,)]
    assert batch(store, config, 5, last=True).designer_cycles == (1, 2)


def test_learning_potential_measures_against_all_earlier_cycles(tmp_path: Path) -> None:
    store = small_run(tmp_path, cycles=3)
    config = method(rewards={"variant": "LearningPotential"})
    paid = paid_designs(store, config, 1, until=3)
    # skill A has win rates 0 and .5, B .25 and .75, in every cycle; averages of like values stay
    distances = [one.reward.signals.learning_potential for one in paid]
    assert distances == pytest.approx([0.25, 0.25, 0.25, 0.25])
    first = manifests.read_rollout(store, 0)
    assert [len(entry.unhinted) for entry in first.environments] == [4] * 4


CYCLES = st.integers(1, 4)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cycles=CYCLES, length=st.integers(1, 3), delay=st.integers(1, 3), short=st.integers(0, 2))
def test_corrected_trains_every_design_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, cycles: int, length: int, delay: int, short: int
) -> None:
    store = open_store(tmp_path_factory.mktemp("run").as_uri())
    config = method(environments={"cycle_length": length}, rewards={"delay_cycles": delay})
    last = max((cycles - 1) * length, cycles * length - 1 - short)
    for cycle in range(cycles):
        write_cycle(store, cycle, [design(cycle, slot, "AB"[slot % 2]) for slot in range(2)])
    trained: list[str] = []
    for rollout in range(last + 1):
        write_rollout(store, rollout, rollout // length, dict.fromkeys(ids(rollout // length)[:2], MIXED))
        made = batch(store, config, rollout, last=rollout == last)
        write_step(store, rollout, made.designer_cycles)
        trained += [sample.id for sample in made.samples if sample.role is SampleRole.DESIGNER]
    assert sorted(trained) == [f"{name}/design" for cycle in range(cycles) for name in ids(cycle)[:2]]


RETURNS = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=4)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(returns=st.lists(RETURNS, min_size=4, max_size=4), order=st.permutations(range(4)))
def test_credit_goes_with_the_environment_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, returns: list[list[float]], order: list[int]
) -> None:
    credit = []
    for arranged in (list(range(4)), order):
        store = open_store(tmp_path_factory.mktemp("run").as_uri())
        write_cycle(store, 0, [design(0, slot, "AB"[which % 2]) for slot, which in enumerate(arranged)])
        for rollout in (0, 1):
            write_rollout(store, rollout, 0, {ids(0)[slot]: returns[which] for slot, which in enumerate(arranged)})
        write_cycle(store, 1, [])
        write_rollout(store, 2, 1, {})
        plays, designs = batch(store, method(), 0), batch(store, method(), 2)
        by_slot = dict(zip(ids(0), arranged, strict=True))
        credit.append(
            {
                which: (
                    [s.advantage for s in plays.samples if s.group == name],
                    [s.advantage for s in designs.samples if s.group == name],
                )
                for name, which in by_slot.items()
            }
        )
        for name in ids(0):
            assert abs(sum(s.advantage for s in plays.samples if s.group == name)) < 1e-6
        for skill in (0, 1):
            own = [s.advantage for s in designs.samples if by_slot[s.group] % 2 == skill]
            assert abs(sum(own)) < 1e-9
    for which in range(4):
        for one, other in zip(credit[0][which], credit[1][which], strict=True):
            assert one == pytest.approx(other, abs=1e-9)
