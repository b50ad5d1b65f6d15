"""A rollout's plan, its retries and its manifest depend on storage and settings only, not on who plays when."""

import asyncio
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.builders import design, episode, method, run_manifest, write_cycle

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.play import Retirement
from spade_contracts.config.switches import EnvironmentFaultCredit
from spade_contracts.errors import InfrastructureFault
from spade_contracts.manifests import EnvironmentEntry, EnvironmentReturns, RolloutManifest
from spade_contracts.statuses import Outcome
from spade_contracts.verdicts import VerifierFailure
from spade_trainer.assembly import assemble
from spade_trainer.play import scheduler
from spade_trainer.play.compose import compose_rollout, returns_of
from spade_trainer.play.episode import EpisodePlan
from spade_trainer.play.plan import GroupPlan, environments_of, plan_group, planned_episodes
from spade_trainer.play.retirement import retires
from spade_trainer.play.scheduler import EnvironmentLost, play_groups
from spade_trainer.store.episodes import Episode, write_episodes
from spade_trainer.store.manifests import canonical_json, rollout_path
from spade_trainer.store.manifests import write as write_manifest
from spade_trainer.store.objects import open_store


def entry(slot: int, hint: str | None = "hint", cycle: int = 1) -> EnvironmentEntry:
    return EnvironmentEntry(
        id=f"c{cycle:04d}-s{slot:03d}",
        slot=slot,
        attempt=0,
        skill="A",
        file="",
        sha256="",
        document_id="",
        hint=hint,
    )


@pytest.mark.switch("episodeSeeds")
def test_hinted_plays_come_once_and_share_the_seeds_of_the_unhinted() -> None:
    config = method()
    first = plan_group(config, 2, entry(0), "", environments=4).episodes
    later = plan_group(config, 3, entry(0), "", environments=4).episodes
    assert [(p.hinted, p.play) for p in first] == [(h, p) for h in (False, True) for p in range(4)]
    assert [p.seed for p in first[:4]] == [p.seed for p in first[4:]]
    assert [p.hinted for p in later] == [False] * 4
    assert len({p.seed for p in (*first[:4], *later)}) == 8


def test_environments_and_cycles_have_seeds_of_their_own() -> None:
    config = method()
    seeds = [
        p.seed for r in (0, 2) for s in (0, 1) for p in plan_group(config, r, entry(s), "", environments=4).episodes[:4]
    ]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.switch("episodeSeeds")
def test_paper_resets_unhinted_plays_without_a_seed() -> None:
    plans = plan_group(method(Profile.PAPER), 2, entry(0), "", environments=4).episodes
    assert {p.seed for p in plans if not p.hinted} == {None}
    assert None not in {p.seed for p in plans if p.hinted}


@pytest.mark.switch("shortCycles")
@pytest.mark.parametrize(
    ("profile", "environments", "plays"),
    [("Corrected", 4, 4), ("Corrected", 3, 4), ("Paper", 4, 4), ("Paper", 3, 6), ("Paper", 2, 8), ("Paper", 1, 16)],
)
def test_environments_of_a_short_cycle_are_played_as_set_or_more_often(
    profile: str, environments: int, plays: int
) -> None:
    config = method(Profile(profile))
    assert (config.environments.per_cycle, config.play.plays_per_environment) == (4, 4)
    later = plan_group(config, 3, entry(0), "", environments=environments).episodes
    assert [plan.play for plan in later] == list(range(plays))


@pytest.mark.switch("regretEstimator")
@pytest.mark.parametrize(("profile", "wanted", "played"), [("Corrected", 8, 4), ("Corrected", 2, 2), ("Paper", 8, 8)])
def test_where_the_regret_pairs_plays_no_hinted_one_is_played_without_its_pair(
    profile: str, wanted: int, played: int
) -> None:
    config = method(Profile(profile), play={"hinted_plays": wanted})
    plans = plan_group(config, 2, entry(0), "", environments=4).episodes
    assert [plan.play for plan in plans if plan.hinted] == list(range(played))
    assert planned_episodes(config, 2, [entry(0)], environments=4) == 4 + played


def test_fewer_plays_need_no_other_hinted_plays() -> None:
    settings = resolve(Profile.CORRECTED, {"play": {"plays_per_environment": 4}})
    assert settings.play.hinted_plays == 8
    assert planned_episodes(settings, 0, [entry(0)], environments=24) == 4 + 4


def test_without_a_hint_there_is_no_hinted_play() -> None:
    assert planned_episodes(method(), 2, [entry(0, None), entry(1)], environments=4) == 4 + 8


def test_a_retired_environment_is_not_played_again(tmp_path: Path) -> None:
    batch = write_cycle(open_store(tmp_path.as_uri()), 1, [design(1, slot, "A") for slot in range(3)])
    returns = EnvironmentReturns(id="c0001-s001", unhinted=(), hinted=(), environment_faults=4, retired=True)
    earlier = RolloutManifest(
        rollout=2,
        cycle=1,
        policy_version=2,
        planned=4,
        outcomes={},
        environments=(returns,),
        verifier_failures={},
        episodes=(),
    )
    assert [e.slot for e in environments_of(batch, [earlier])] == [0, 2]
    assert [e.slot for e in environments_of(batch, [])] == [0, 1, 2]


@pytest.mark.parametrize(
    ("returns", "retired"), [((1.0, 0.0, None, 0.0), False), ((1.0, 0.0, None, None), True), ((1.0,) * 4, False)]
)
def test_a_program_that_fails_half_of_its_plays_is_retired(returns: tuple[float | None, ...], retired: bool) -> None:
    plays = [episode("c0001-s000", play, value) for play, value in enumerate(returns)]
    player_pays = method(switches={"environment_fault_credit": EnvironmentFaultCredit.PLAYER})
    assert retires(method(), plays, ()) is retired
    assert retires(method(play={"retire": "Never"}), plays, ()) is False
    assert retires(player_pays, plays, ()) is False


@pytest.mark.parametrize(
    ("suspect", "by_setting"),
    [
        ((), (False, False, False)),
        ((VerifierFailure.REWARD_CONCENTRATION,), (False, False, True)),
        ((VerifierFailure.ONE_TRANSCRIPT_WINS,), (False, True, True)),
        ((VerifierFailure.SUCCESS_WITHOUT_CHANGE, VerifierFailure.REWARD_CONCENTRATION), (False, True, True)),
    ],
)
def test_the_setting_says_which_suspects_are_not_played_again(
    suspect: tuple[VerifierFailure, ...], by_setting: tuple[bool, ...]
) -> None:
    plays = [episode("c0001-s000", play, 1.0) for play in range(4)]
    found = tuple(retires(method(play={"retire": setting.value}), plays, suspect) for setting in Retirement)
    assert found == by_setting
    assert retires(method(Profile.PAPER), plays, suspect) is False


def won_alike(environment: str) -> list[Episode]:
    """Four plays that the same words won from four seeds."""
    return [replace(episode(environment, play, 1.0), actions=("open sesame",)) for play in range(4)]


def test_a_suspect_is_marked_in_the_manifest_counted_and_not_planned_again(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    batch = write_cycle(store, 1, [design(1, slot, "A") for slot in range(2)])
    write_episodes(store, 2, 0, 0, won_alike("c0001-s000"))
    write_episodes(store, 2, 1, 0, [episode("c0001-s001", play, float(play % 2)) for play in range(4)])
    manifest, _ = compose_rollout(store, method(), 2, 2, batch.environments)
    assert [(e.suspect, e.retired) for e in manifest.environments] == [
        ((VerifierFailure.ONE_TRANSCRIPT_WINS,), True),
        ((), False),
    ]
    assert manifest.verifier_failures == {"one_transcript_wins": 1}
    assert [e.slot for e in environments_of(batch, [manifest])] == [1]


def test_a_cycle_whose_environments_are_all_retired_is_played_on_without_any(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    settings = method(environments={"per_cycle": 1})
    batch = write_cycle(store, 1, [design(1, 0, "A")])
    write_episodes(store, 2, 0, 0, won_alike("c0001-s000"))
    first, _ = compose_rollout(store, settings, 2, 2, batch.environments)
    second, episodes = compose_rollout(store, settings, 3, 3, environments_of(batch, [first]))
    assert (second.planned, second.environments, episodes) == (0, (), ())
    for manifest in (first, second):
        write_manifest(store, rollout_path(manifest.rollout), manifest)
    later = assemble(store, run_manifest(settings), 3)
    assert later.player_samples == 0
    due = assemble(store, run_manifest(settings), 3, last_rollout=True)
    assert [sample.id for sample in due.samples] == ["c0001-s000/design"], "its window is the one rollout that saw it"


def group(slot: int, plays: int = 3) -> GroupPlan:
    name = f"c0001-s{slot:03d}"
    return GroupPlan(
        name,
        slot,
        tuple(
            EpisodePlan(rollout=2, environment=name, slot=slot, play=play, source="", hint=None, seed=play)
            for play in range(plays)
        ),
    )


async def played(plan: EpisodePlan) -> Episode:
    return episode(plan.environment, plan.play, 1.0)


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "PAUSES_SECONDS", (0.0,))


@pytest.mark.usefixtures("_no_pauses")
async def test_an_episode_that_infrastructure_failed_is_played_again_and_not_scored() -> None:
    tries: dict[tuple[str, int], int] = {}

    async def play(plan: EpisodePlan) -> Episode:
        key = (plan.environment, plan.play)
        tries[key] = tries.get(key, 0) + 1
        if (plan.play == 1 and tries[key] < 3) or plan.play == 2:
            raise InfrastructureFault("the pod is gone")
        return await played(plan)

    done: dict[str, list[Episode]] = {}
    await play_groups(
        [group(0)],
        play,
        attempts=3,
        finished=lambda plan, episodes: done.update({plan.environment: episodes}),
        concurrency=4,
    )
    assert [(e.outcome, e.attempts) for e in done["c0001-s000"]] == [
        (Outcome.SCORED, 1),
        (Outcome.SCORED, 3),
        (Outcome.INFRASTRUCTURE_FAULT, 3),
    ]


@pytest.mark.usefixtures("_no_pauses")
async def test_an_environment_without_any_finished_play_is_left_for_the_next_try() -> None:
    async def play(plan: EpisodePlan) -> Episode:
        if plan.slot == 0:
            raise InfrastructureFault("no pods")
        return await played(plan)

    done: list[str] = []
    with pytest.raises(EnvironmentLost, match="c0001-s000"):
        await play_groups(
            [group(0), group(1)],
            play,
            attempts=2,
            finished=lambda plan, _: done.append(plan.environment),
            concurrency=4,
        )
    assert done == ["c0001-s001"]


async def test_no_more_episodes_are_under_way_than_allowed() -> None:
    under_way = most = 0

    async def play(plan: EpisodePlan) -> Episode:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return await played(plan)

    await play_groups([group(s) for s in range(5)], play, attempts=1, finished=lambda *_: None, concurrency=4)
    assert most == 4


async def test_a_bug_in_one_episode_ends_the_worker() -> None:
    async def play(plan: EpisodePlan) -> Episode:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await play_groups([group(0)], play, attempts=3, finished=lambda *_: None, concurrency=4)


def composed(folder: Path, slots: Sequence[int], shuffle: Callable[[list[Any]], None]) -> bytes:
    """The manifest of a rollout whose parts were written in this order, each with shuffled episodes."""
    store = open_store(folder.as_uri())
    for slot in slots:
        name = f"c0001-s{slot:03d}"
        episodes = [episode(name, play, float(play % 2), hinted=h) for h in (False, True) for play in range(4)]
        shuffle(episodes)
        write_episodes(store, 2, slot, attempt=0, episodes=episodes)
    entries = [entry(slot) for slot in slots]
    return canonical_json(compose_rollout(store, method(), 2, 2, entries)[0])


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(4)), st.randoms())
def test_the_order_of_plays_and_parts_changes_no_byte_of_the_manifest(slots: list[int], rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        in_order = composed(Path(one), range(4), lambda episodes: None)
        assert composed(Path(other), slots, rng.shuffle) == in_order
    manifest = RolloutManifest.model_validate_json(in_order)
    assert (manifest.planned, manifest.outcomes) == (32, {"scored": 32})
    assert [e.id for e in manifest.environments] == [f"c0001-s{slot:03d}" for slot in range(4)]
    assert {e.unhinted for e in manifest.environments} == {(0.0, 1.0, 0.0, 1.0)}


def test_a_part_of_a_later_attempt_does_not_replace_an_earlier_one(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    for attempt, value in ((1, 1.0), (0, 0.0)):
        write_episodes(store, 2, 0, attempt, [episode("c0001-s000", 0, value)])
    write_episodes(store, 2, 0, 0, [episode("c0001-s000", 0, 0.5)])
    manifest, _ = compose_rollout(store, method(), 2, 2, [entry(0)])
    assert manifest.episodes == ("episodes-s000-a00.parquet",)
    assert manifest.environments[0].unhinted == (0.0,)


def test_a_rollout_with_a_missing_part_has_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        compose_rollout(open_store(tmp_path.as_uri()), method(), 2, 2, [entry(0)])


def test_faults_are_counted_and_masked_in_the_manifest() -> None:
    returns = returns_of(method(), "c0001-s000", [episode("c0001-s000", p, v) for p, v in ((1, None), (0, 1.0))])
    assert (returns.unhinted, returns.environment_faults, returns.retired) == ((1.0,), 1, True)


def test_episodes_come_back_from_storage_as_they_were(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    written = [episode("c0001-s000", 0, 1.0), episode("c0001-s000", 0, None, hinted=True)]
    write_episodes(store, 2, 0, 0, written)
    _, read = compose_rollout(store, method(), 2, 2, [entry(0)])
    for one, other in zip(written, read, strict=True):
        for name in ("token_ids", "loss_mask", "log_probs"):
            a, b = getattr(one.trajectory, name), getattr(other.trajectory, name)
            assert a.dtype == b.dtype
            assert (a == b).all()
        assert (one.environment, one.play, one.hinted, one.seed, one.outcome) == (
            other.environment,
            other.play,
            other.hinted,
            other.seed,
            other.outcome,
        )
        assert (one.trajectory.spans, one.episode_return) == (other.trajectory.spans, other.episode_return)
