"""A run of three cycles has the composition of the reference's trace (method.md V30)."""

import pytest
from tests.unit.trainer.builders import design, run_manifest, write_cycle, write_rollout, write_step

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_trainer.assembly import Sample, SampleRole, assemble
from spade_trainer.design.memory import memory_of
from spade_trainer.design.rotation import active_skills
from spade_trainer.rewards.blend import blend
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import Store, open_store

CYCLES, LENGTH, SLOTS, PLAYS = 3, 4, 24, 8
PAPER = resolve(Profile.PAPER, {})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Environment i of 24 is won i mod 9 times of eight, and by half of the hinted plays."""
    store = open_store(tmp_path_factory.mktemp("run").as_uri())
    for cycle in range(CYCLES):
        skills = active_skills(PAPER.environments.skills, cycle, 3)
        write_cycle(store, cycle, [design(cycle, slot, skills[slot % 3]) for slot in range(SLOTS)])
        names = [environment_id(cycle, slot) for slot in range(SLOTS)]
        for offset in range(LENGTH):
            unhinted = {name: [1.0] * (i % 9) + [0.0] * (PLAYS - i % 9) for i, name in enumerate(names)}
            hinted = {name: [1.0] * 8 + [0.0] * 8 for name in names} if offset == 0 else None
            write_rollout(store, LENGTH * cycle + offset, cycle, unhinted, hinted)
    return store


def samples_of(store: Store, rollout: int) -> tuple[list[Sample], list[Sample]]:
    """Designer and player samples of a rollout."""
    batch = assemble(store, run_manifest(PAPER), rollout, last_rollout=rollout == CYCLES * LENGTH - 1)
    write_step(store, rollout, batch.designer_cycles)
    designers = [sample for sample in batch.samples if sample.role is SampleRole.DESIGNER]
    return designers, [sample for sample in batch.samples if sample.role is SampleRole.PLAYER]


def test_v30_designer_samples_are_trained_one_cycle_later_and_the_last_ones_never(store: Store) -> None:
    trained = []
    for rollout in range(CYCLES * LENGTH):
        designers, players = samples_of(store, rollout)
        assert len(players) == SLOTS * PLAYS - len(designers)
        trained.append(len(designers))
    assert trained == [0, 0, 0, 0, 24, 0, 0, 0, 24, 0, 0, 0]


def test_v30_the_last_three_slots_lose_their_plays_where_designer_samples_are_trained(store: Store) -> None:
    _, players = samples_of(store, 4)
    assert {sample.group for sample in players} == {environment_id(1, slot) for slot in range(21)}


def test_v30_the_scale_is_exactly_32(store: Store) -> None:
    designers, _ = samples_of(store, 4)
    rewards = [blend(i % 9 / 8, 0.5 - i % 9 / 8, PAPER.rewards) for i in range(SLOTS)]
    for skill in range(3):
        own = rewards[skill::3]
        expected = [32 * (reward - sum(own) / len(own)) for reward in own]
        assert [sample.advantage for sample in designers[skill::3]] == pytest.approx(expected)


def test_v30_memory_grows_by_each_cycle(store: Store) -> None:
    assert [len(memory_of(store, PAPER, cycle)) for cycle in (1, 2, 3)] == [24, 48, 72]
