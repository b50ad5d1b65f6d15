"""Old episodes go by rule, and never those that resume, replay or a designer's delayed reward need."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import method, run_manifest
from tests.unit.trainer.test_assembly import small_run

from spade_trainer.assembly import assemble
from spade_trainer.store import layout, manifests
from spade_trainer.store.episodes import read_episodes, read_kept_episodes
from spade_trainer.store.objects import create
from spade_trainer.store.retention import prunable, prune


@given(st.sets(st.integers(1, 30)), st.integers(0, 30), st.integers(1, 5), st.integers(1, 9))
def test_episodes_of_a_replay_and_of_the_newest_rollouts_stay(
    checkpoints: set[int], rollouts: int, keep_checkpoints: int, keep_episodes: int
) -> None:
    going = prunable(
        [0], sorted(checkpoints), range(rollouts), keep_policies=2, keep_checkpoints=keep_checkpoints,
        keep_episodes=keep_episodes,
    )  # fmt: skip
    kept = set(range(rollouts)) - set(going.episodes)
    assert kept >= set(range(rollouts)[-keep_episodes:])
    left = checkpoints - set(going.checkpoints)
    assert kept >= set(range(min(left, default=0), rollouts))
    needless = {r for r in range(max(0, rollouts - keep_episodes)) if left and r < min(left)}
    assert set(going.episodes) == needless, "and all others go"


def test_without_a_rule_all_episodes_stay() -> None:
    assert prunable([0], [9], range(9), keep_policies=2, keep_checkpoints=1).episodes == ()


def test_steps_after_the_checkpoint_are_assembled_as_before_designer_rewards_included(tmp_path: Path) -> None:
    store = small_run(tmp_path, cycles=3)
    run = run_manifest(method())
    before = [assemble(store, run, rollout) for rollout in range(2, 6)]
    assert before[0].designer_cycles == (0,), "the step on rollout 2 pays for what was played in rollouts 0 and 1"
    create(store, manifests.checkpoint_path(2), b"{}")
    create(store, f"{layout.rollout_folder(0)}/timings-play.json", b"{}")

    going = prune(store, keep_policies=2, keep_checkpoints=1, keep_episodes=1)

    assert going.episodes == (0, 1)
    after = [assemble(store, run, rollout) for rollout in range(2, 6)]
    assert [batch.samples_sha256 for batch in after] == [batch.samples_sha256 for batch in before]
    left = {path.name for path in (tmp_path / layout.rollout_folder(0)).iterdir()}
    assert left == {layout.ROLLOUT, "timings-play.json"}, "returns and outcomes stay"
    assert prune(store, keep_policies=2, keep_checkpoints=1, keep_episodes=1).episodes == (0, 1), "twice is no error"


def test_rollout_without_its_episodes_is_still_finished(tmp_path: Path) -> None:
    store = small_run(tmp_path)
    create(store, manifests.checkpoint_path(1), b"{}")
    whole = manifests.read_rollout(store, 0)
    assert len(read_kept_episodes(store, whole)) == len(read_episodes(store, whole)) > 0
    prune(store, keep_policies=2, keep_checkpoints=1, keep_episodes=1)
    assert manifests.read_rollout(store, 0) == whole
    assert read_kept_episodes(store, whole) == ()
