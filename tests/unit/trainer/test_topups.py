"""Empty slots of a cycle are filled in mid-cycle; what comes of it is played from its rollout on (method.md §1.2)."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.builders import design, method, run_manifest, write_cycle, write_rollout

from spade_contracts.config import MethodConfig
from spade_contracts.config.method import Profile
from spade_trainer.assembly import SampleRole, assemble
from spade_trainer.design.known import earlier_programs
from spade_trainer.design.memory import memory_of
from spade_trainer.due import generated, paid_designs
from spade_trainer.play.plan import environments_of, plan_group
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, open_store
from spade_trainer.topups import find_topup, programs_of, topups_of, wanted_slots

LENGTH = 3
"""Rollouts of a cycle."""
WON = (1.0, 0.0, 0.0, 0.0)


def paper(**patch: Any) -> MethodConfig:
    """Cycles of three rollouts with four slots."""
    environments = {"cycle_length": LENGTH, **patch.pop("environments", {})}
    return method(Profile.PAPER, environments=environments, **patch)


def program(slot: int, rollout: int) -> str:
    return f"class G{slot}x{rollout}Env: pass\n"


def filled(store: Store, cycle: int, by_offset: dict[int, tuple[int, ...]]) -> Store:
    """A cycle whose slots were filled by these offsets, before its plays."""
    for offset, slots in by_offset.items():
        rollout = cycle * LENGTH + offset
        designs = [design(cycle, slot, "AB"[slot % 2], program(slot, rollout), version=rollout) for slot in slots]
        write_cycle(store, cycle, designs, rollout, topup=rollout if offset else None)
    return store


def played(store: Store, config: MethodConfig, rollout: int, retired: str = "") -> None:
    """All environments of a rollout are played, without hints."""
    cycle = config.cycle_of(rollout)
    manifest = write_rollout(store, rollout, cycle, dict.fromkeys(ids(store, config, rollout), WON))
    if retired:
        entries = [e.model_copy(update={"retired": e.id == retired}) for e in manifest.environments]
        path = Path(store.root) / manifests.rollout_path(rollout)
        path.write_bytes(manifests.canonical_json(manifest.model_copy(update={"environments": tuple(entries)})))


def ids(store: Store, config: MethodConfig, rollout: int) -> list[str]:
    """What a rollout plays."""
    cycle = config.cycle_of(rollout)
    earlier = [manifests.read_rollout(store, r) for r in range(cycle * LENGTH, rollout)]
    topups = topups_of(store, config, cycle, until=rollout)
    return [entry.id for entry in environments_of(manifests.read_batch(store, cycle), earlier, topups)]


def names(*slots: int, cycle: int = 0) -> list[str]:
    return [layout.environment_id(cycle, slot) for slot in slots]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A cycle that begins with slots 0 and 2; slot 3 comes before rollout 1 and slot 1 before rollout 2."""
    store = filled(open_store(tmp_path.as_uri()), 0, {0: (0, 2), 1: (3,), 2: (1,)})
    for rollout in range(LENGTH):
        played(store, paper(), rollout)
    return store


@pytest.mark.switch("missingPrograms")
def test_a_rollout_plays_its_cycle_and_the_top_ups_up_to_it_or_the_cycle_alone(store: Store) -> None:
    assert [ids(store, paper(), rollout) for rollout in range(3)] == [names(0, 2), names(0, 2, 3), names(0, 1, 2, 3)]
    left_empty = paper(switches={"missing_programs": "LeftEmpty"})
    assert [ids(store, left_empty, rollout) for rollout in range(3)] == [names(0, 2)] * 3


@pytest.mark.switch("missingPrograms")
def test_paper_tops_up_between_the_beginnings_of_cycles_where_somebody_designs() -> None:
    assert [paper().may_top_up(rollout) for rollout in range(4)] == [False, True, True, False]
    assert not any(method(environments={"cycle_length": LENGTH}).may_top_up(rollout) for rollout in range(4))
    pool = {"source": "Pool", "pool": {"uri": "file:///storage/pool"}}
    fixed = paper(environments={"designer": pool}, play={"hinted_plays": 0})
    assert not any(fixed.may_top_up(rollout) for rollout in range(4))


def test_slots_that_no_environment_has_had_are_designed_until_their_rollout_is_played(tmp_path: Path) -> None:
    store, config = filled(open_store(tmp_path.as_uri()), 0, {0: (0, 2)}), paper()
    assert wanted_slots(store, config, 0, None) == (0, 1, 2, 3)
    played(store, config, 0, retired=names(0)[0])
    assert wanted_slots(store, config, 0, 1) == (1, 3), "a retired program keeps its slot"
    filled(store, 0, {1: (3,)})
    assert wanted_slots(store, config, 0, 2) == (1,)
    assert ids(store, config, 1) == names(2, 3)
    played(store, config, 1)
    played(store, config, 2)
    assert wanted_slots(store, config, 0, 2) == ()


def test_what_was_designed_in_mid_cycle_has_no_hinted_play(store: Store) -> None:
    entry = programs_of(store, paper(), 0, until=1)[-1]
    assert all(plan.hint is None for plan in plan_group(paper(), 1, entry, "", environments=3).episodes)


def test_paper_loses_the_designs_of_top_ups_and_a_switch_trains_them_with_their_cycle(store: Store) -> None:
    filled(store, 1, {0: (0, 1, 2, 3)})
    config = paper()
    played(store, config, 3)
    kept = paper(switches={"leftover_designer_samples": "Trained"})
    designers = [
        [s.group for s in assemble(store, run_manifest(one), 3).samples if s.role is SampleRole.DESIGNER]
        for one in (config, kept)
    ]
    assert designers == [names(0, 2), names(0, 1, 2, 3)]
    late = paid_designs(store, kept, 0, until=3)[1]
    assert (late.environment, late.design.trajectory.spans[0][0]) == (names(1)[0], 2)


def test_a_rollout_counts_the_programs_that_it_began_with(store: Store) -> None:
    batch = manifests.read_batch(store, 0)
    assert [generated(store, paper(), batch, offset) for offset in range(LENGTH)] == [2, 1, 1]
    untrained = paper(rewards={"train_designer": False})
    assert [generated(store, untrained, batch, offset) for offset in range(LENGTH)] == [0, 0, 0]


def test_plays_of_a_rollout_with_a_top_up_are_repeated_less_often(store: Store) -> None:
    made = assemble(store, run_manifest(paper()), 1)
    assert (made.player_samples, made.repeats, made.padding) == (15, 3, 1)


def test_top_ups_enter_no_memory(store: Store) -> None:
    assert [entry.file for entry in memory_of(store, paper(), 1)] == [
        entry.file for entry in manifests.read_batch(store, 0).environments
    ]


def test_a_top_up_is_compared_with_its_cycle_before_it_and_a_later_cycle_with_all_of_it(store: Store) -> None:
    config = paper(environments={"verification": {"stages": ("Novelty",)}})
    found = [earlier_programs(store, config, *place) for place in ((0, None), (0, 1), (0, 2), (1, None))]
    assert [len(known) for known in found if known is not None] == [0, 2, 3, 4]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sets(st.integers(0, 3)), min_size=LENGTH, max_size=LENGTH))
def test_no_slot_is_filled_twice_whatever_was_accepted_when(accepted: list[set[int]]) -> None:
    config = paper()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder).as_uri())
        for offset, good in enumerate(accepted):
            slots = wanted_slots(store, config, 0, offset or None)
            filled(store, 0, {offset: tuple(sorted(good & set(slots)))})
        entries = programs_of(store, config, 0, until=LENGTH - 1)
        assert len({entry.id for entry in entries}) == len(entries)
        assert {entry.slot for entry in entries} == set().union(*accepted)
        assert find_topup(store, config, 0) is None
