"""A family's problems grow harder when those of the top level are answered; the past alone decides, and only it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import run_manifest, write_rollout, write_step

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.families import ALL_FAMILIES, MAX_DIFFICULTY, Family
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import merged
from spade_contracts.errors import InvalidInput, ManifestMissing
from spade_trainer.assembly import assemble
from spade_trainer.design.adaptive import Progress, after_rollout, level_of, levels_of
from spade_trainer.design.compose import compose_batch
from spade_trainer.design.procedural import family_designs, family_program
from spade_trainer.play.plan import plan_group
from spade_trainer.store import manifests
from spade_trainer.store.designs import write_designs
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import Store, open_store

NAMES = (Family.SORTING, Family.SAT, Family.DIVISION)
RUN = {
    "environments": {
        "per_cycle": 3,
        "cycle_length": 1,
        "designer": {"source": "Families"},
        "families": {"names": NAMES},
    },
    "play": {"plays_per_environment": 64},
}
WON, LOST = (1.0,) * 64, (0.0,) * 64


def families(profile: Profile = Profile.CORRECTED, **patch: object) -> MethodConfig:
    return resolve(profile, merged(RUN, patch))


SETTINGS = families().environments.families


def test_the_windows_numbers_are_the_references() -> None:
    for profile in Profile:
        settings = resolve(profile, {}).environments.families
        assert (settings.window, settings.attempts, settings.success, settings.top) == (4, 128, 0.9, 20)
        assert settings.names == ALL_FAMILIES


def test_the_top_rises_after_128_plays_of_which_nine_tenths_are_right() -> None:
    first = after_rollout(Progress(), 0, (1.0,) * 127, SETTINGS)
    assert first == Progress(0, 127, 127)
    assert after_rollout(first, 0, (1.0,), SETTINGS) == Progress(top=1)
    mixed = after_rollout(Progress(), 0, (1.0,) * 116 + (0.0,) * 12, SETTINGS)
    assert mixed == Progress(top=1)


def test_counting_begins_anew_after_a_look_that_raises_nothing() -> None:
    assert after_rollout(Progress(), 0, (1.0,) * 115 + (0.0,) * 13, SETTINGS) == Progress()
    assert after_rollout(Progress(5, 100, 3), 5, WON, SETTINGS) == Progress(5)


def test_plays_below_the_top_count_for_nothing() -> None:
    progress = Progress(3, 100, 90)
    assert after_rollout(progress, 2, WON, SETTINGS) == progress


def test_the_top_never_leaves_its_bound() -> None:
    assert after_rollout(Progress(top=MAX_DIFFICULTY), MAX_DIFFICULTY, WON * 2, SETTINGS) == Progress(MAX_DIFFICULTY)


@given(st.lists(st.tuples(st.integers(0, 20), st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=200))))
def test_the_top_rises_by_at_most_one_and_what_is_counted_stays_below_a_look(
    rollouts: list[tuple[int, list[float]]],
) -> None:
    progress = Progress()
    for level, returns in rollouts:
        following = after_rollout(progress, level, returns, SETTINGS)
        assert progress.top <= following.top <= progress.top + 1
        assert 0 <= following.right <= following.attempts < SETTINGS.attempts
        progress = following


@pytest.mark.parametrize(("top", "levels"), [(0, {0}), (2, {0, 1, 2}), (3, {0, 1, 2, 3}), (9, {6, 7, 8, 9})])
def test_levels_are_drawn_from_the_four_below_the_top(top: int, levels: set[int]) -> None:
    drawn = [level_of(families(), cycle, 1, top) for cycle in range(200)]
    assert set(drawn) == levels
    assert min(drawn.count(level) for level in levels) > 200 / len(levels) / 2
    assert drawn == [level_of(families(), cycle, 1, top) for cycle in range(200)]


def write_families(store: Store, method: MethodConfig, cycle: int) -> None:
    """What the design worker does in one cycle."""
    for made in family_designs(store, method, cycle, range(3)):
        write_designs(store, cycle, made.slot, 0, [made])
    manifest, _ = compose_batch(store, method, cycle, cycle, ())
    manifests.write(store, manifests.batch_path(cycle), manifest)


def play_cycle(store: Store, cycle: int, *returns: tuple[float, ...]) -> None:
    """One rollout with these returns by slot; its step is recorded."""
    named = {environment_id(cycle, slot): values for slot, values in enumerate(returns)}
    write_rollout(store, cycle, cycle, named)
    write_step(store, cycle, ())


def test_levels_follow_from_storage_and_families_do_not_touch_one_another(tmp_path: Path) -> None:
    store, method = open_store(tmp_path.as_uri()), families()
    tops = []
    for cycle in range(12):
        write_families(store, method, cycle)
        play_cycle(store, cycle, WON, LOST, WON[:1])
        tops.append(levels_of(store, method, cycle + 1))
    assert max(levels[0] for levels in tops) > 0
    assert {levels[1:] for levels in tops} == {(0, 0)}
    assert [levels_of(store, method, cycle) for cycle in range(1, 13)] == tops


def test_a_cycle_has_one_program_of_each_family_and_says_of_which_level(tmp_path: Path) -> None:
    store, method = open_store(tmp_path.as_uri()), families()
    write_families(store, method, 0)
    batch = manifests.read_batch(store, 0)
    assert [entry.skill for entry in batch.environments] == list(NAMES)
    assert [entry.document_id for entry in batch.environments] == ["Sorting/0", "SAT/0", "Division/0"]
    assert (batch.requested, batch.attempts, batch.rejected) == (3, 3, {})
    made = list(family_designs(store, method, 0, [2]))
    assert [(one.slot, one.program, one.hint) for one in made] == [(2, family_program(Family.DIVISION, 0), None)]


def test_an_unfinished_rollout_is_no_past(tmp_path: Path) -> None:
    store, method = open_store(tmp_path.as_uri()), families()
    with pytest.raises(ManifestMissing):
        list(family_designs(store, method, 1, [0]))
    assert list(family_designs(store, method, 1, [])) == []


def test_nothing_but_plays_is_trained(tmp_path: Path) -> None:
    store, method = open_store(tmp_path.as_uri()), families(Profile.PAPER, play={"plays_per_environment": 4})
    for cycle in range(2):
        write_families(store, method, cycle)
        play_cycle(store, cycle, (1.0, 0.0, 0.0, 1.0), (0.0,) * 4, (1.0, 1.0, 1.0, 0.0))
        batch = assemble(store, run_manifest(method), cycle, last_rollout=cycle == 1)
        assert (batch.designer_samples, batch.player_samples, batch.denominator) == (0, 12, 12)


@pytest.mark.parametrize("profile", Profile)
def test_all_plays_of_a_family_in_a_rollout_answer_one_problem(tmp_path: Path, profile: Profile) -> None:
    store, method = open_store(tmp_path.as_uri()), families(profile)
    write_families(store, method, 0)
    seeds = []
    for entry in manifests.read_batch(store, 0).environments:
        plans = plan_group(method, 0, entry, "", environments=method.environments.per_cycle).episodes
        assert len(plans) == 64
        assert not any(plan.hinted for plan in plans)
        seeds.append({plan.seed for plan in plans})
    assert all(len(one) == 1 and None not in one for one in seeds)
    assert len(set.union(*seeds)) == 3


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ({"per_cycle": 4}, r"perCycle \(4\) is not the number of families \(3\)"),
        ({"families": {"names": (Family.SAT, Family.SAT, Family.SORTING)}}, "names a family twice"),
        ({"domain": "Tools"}, "are games"),
    ],
)
def test_families_that_do_not_fit_the_cycle_are_refused(patch: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        families(environments=patch)
    families(environments={**patch, "designer": {"source": "Policy"}})
